/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Labels of processes: who was started as what. commands.h has the idea.
 *
 * A label is for a process, found by its pid and the time at which it started. The judge answers
 * one call after the other, so labels don't change while it looks for one.
 */

#include "kernel/judge/commands.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/proc-text.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/target.h"
#include "vocab/protected-classes.h"

/* ---- the policy's patterns ---- */

static const char *agreed_in(const struct graph *g, const struct graph_test *pattern)
{
    size_t head = strlen(command_extension);
    for (uint32_t i = 0; i < graph_test_count(g); i++) {
        const struct graph_test *t = graph_test_at(g, i);
        if (t->filter == FILTER_EXTENSION && t->len == head + pattern->len &&
            memcmp(t->str, command_extension, head) == 0 &&
            memcmp(t->str + head, pattern->str, pattern->len) == 0)
            return t->str;
    }
    return NULL;
}

static uint32_t find_pattern(const struct graph_commands *all, const struct graph_test *t)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < all->n; i++)
        if (all->tests[i]->len == t->len && memcmp(all->tests[i]->str, t->str, t->len) == 0)
            found |= UINT32_C(1) << i;
    return found;
}

static uint32_t translate(const struct command_use *old, const struct graph_commands *all,
                          uint32_t label)
{
    uint32_t out = 0;
    for (uint32_t i = 0; i < old->n; i++)
        if (label >> i & 1)
            out |= find_pattern(all, old->patterns[i]);
    return out;
}

int commands_begin(struct judge *j, const struct graph *g, bool net)
{
    struct command_use *c = &j->commands;
    struct graph_commands all;
    graph_commands_find(g, &all);
    if (all.n > GRAPH_COMMANDS)
        return -E2BIG;
    if (c->n)
        questions_forget_commands(&j->questions);
    c->base = translate(c, &all, c->base);
    c->given = translate(c, &all, c->given);
    for (size_t i = 0; c->n && i < LABELLED; i++)
        c->known[i].label = translate(c, &all, c->known[i].label);
    c->n = all.n;
    c->on |= all.n != 0;
    c->net = net;
    c->narrowing = all.narrowing;
    c->lasting = 0;
    for (uint32_t i = 0; i < all.n; i++) {
        c->lasting |= all.tests[i]->num == GRAPH_COMMAND_LINE ? UINT32_C(1) << i : 0;
        c->patterns[i] = all.tests[i];
        c->agreed[i] = agreed_in(g, all.tests[i]);
    }
    return 0;
}

/* ---- processes ---- */

/* Parent and start of a process. Returns false if it is gone. */
static bool read_process(const struct judge *j, pid_t pid, pid_t *parent, uint64_t *start)
{
    char text[1024];
    if (proc_read(j->proc, text, sizeof(text), "%d/stat", pid) < 0)
        return false;
    const char *at = proc_after_name(text);
    *parent = at && at[0] == ' ' && at[1] ? atoi(at + 3) : 0;
    for (int field = 3; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    *start = at ? strtoull(at, NULL, 10) : 0;
    return *start != 0;
}

static struct labelled *bucket_of(struct judge *j, pid_t pid)
{
    return &j->commands.known[(unsigned)pid * LABEL_WAYS % LABELLED];
}

static const struct labelled *find_known(struct judge *j, pid_t pid, uint64_t start)
{
    const struct labelled *b = bucket_of(j, pid);
    for (int i = 0; i < LABEL_WAYS; i++)
        if (b[i].pid == pid && b[i].start == start)
            return &b[i];
    return NULL;
}

static bool is_over(const struct judge *j, const struct labelled *k)
{
    pid_t parent;
    uint64_t start;
    return !read_process(j, k->pid, &parent, &start) || start != k->start;
}

/* Forgets a process that is gone, or one without a label, which can only get more. */
static struct labelled *make_room(struct judge *j, pid_t pid)
{
    struct labelled *b = bucket_of(j, pid), *plain = NULL;
    for (int i = 0; i < LABEL_WAYS; i++)
        if (!b[i].pid || b[i].pid == pid)
            return &b[i];
        else if (!b[i].label && !b[i].condemned)
            plain = &b[i];
    for (int i = 0; i < LABEL_WAYS; i++)
        if (is_over(j, &b[i]))
            return &b[i];
    return plain;
}

static int remember(struct judge *j, pid_t pid, uint64_t start, uint32_t label, bool condemned)
{
    struct labelled *k = make_room(j, pid);
    if (!k)
        return -EAGAIN;
    *k = (struct labelled){.pid = pid, .start = start, .label = label, .condemned = condemned};
    return 0;
}

void commands_root(struct judge *j, pid_t pid)
{
    pid_t parent;
    uint64_t start;
    if (read_process(j, pid, &parent, &start))
        remember(j, pid, start, 0, false);
}

/* The label of a process: its own, or that of the nearest ancestor that has one. */
static int label_of(struct judge *j, pid_t pid, uint32_t *label, bool *condemned)
{
    enum { GENERATIONS = 64 };
    struct command_use *c = &j->commands;
    pid_t parent, again, at = pid;
    uint64_t start, own;
    if (!read_process(j, pid, &parent, &own))
        return -ESRCH;
    const struct labelled *k = find_known(j, pid, own);
    for (int i = 0; !k && !c->adopts && i < GENERATIONS && parent > 1; i++) {
        pid_t child = at;
        at = parent;
        if (!read_process(j, at, &parent, &start))
            break;
        k = find_known(j, at, start);
        /* it was the child's parent all the time, unless the child has another one by now */
        if (!read_process(j, child, &again, &start) || again != at) {
            k = NULL;
            break;
        }
    }
    *label = k ? k->label : c->given;
    *condemned = k ? k->condemned : c->raced;
    if (!k || k->pid != pid)
        remember(j, pid, own, *label, *condemned); /* or looks again next time */
    return 0;
}

int commands_caller(struct judge *j, const struct request *r)
{
    struct command_use *c = &j->commands;
    c->starting = 0;
    c->now = c->base;
    if (!c->given && !c->raced)
        return 0;
    uint32_t label;
    bool condemned;
    pid_t pid = target_process(j, r);
    if (pid <= 0 || label_of(j, pid, &label, &condemned) < 0 || !request_is_valid(j, r))
        return -EPERM;
    c->now |= label;
    if (condemned)
        kill(pid, SIGKILL); /* it waits for our answer, so it is still this process */
    return condemned ? -EPERM : 0;
}

void commands_condemn(struct judge *j, pid_t pid)
{
    pid_t parent;
    uint64_t start;
    j->commands.raced = true;
    if (read_process(j, pid, &parent, &start))
        remember(j, pid, start, j->commands.given, true);
}

int commands_label(struct judge *j, const struct request *r, uint32_t starting)
{
    struct command_use *c = &j->commands;
    uint32_t label = c->now | (starting & c->narrowing);
    pid_t parent, pid = target_process(j, r);
    uint64_t start;
    if (pid <= 0 || !read_process(j, pid, &parent, &start) || !request_is_valid(j, r))
        return -EPERM;
    int err = remember(j, pid, start, label, false);
    if (err == 0)
        c->given |= label & ~c->base;
    return err == 0 || !label ? 0 : err;
}

void commands_label_process(struct judge *j, pid_t pid, uint32_t starting)
{
    struct command_use *c = &j->commands;
    uint32_t label = 0, more = starting & c->narrowing;
    pid_t parent;
    uint64_t start;
    if (!more || !read_process(j, pid, &parent, &start))
        return;
    const struct labelled *k = find_known(j, pid, start);
    label = k ? k->label : c->given;
    remember(j, pid, start, label | more, k && k->condemned);
    c->given |= more & ~c->base;
}

struct answer commands_adopter(struct judge *j, const struct request *r)
{
    if (r->args[1])
        j->commands.adopts = true;
    return answer_continue();
}

/* ---- facts ---- */

static bool is_start(uint16_t op)
{
    return op == OP_PROCESS_EXEC || op == OP_PROCESS_EXEC_INTERPRETER;
}

size_t commands_facts(const struct judge *j, uint16_t op, struct graph_fact *f)
{
    const struct command_use *c = &j->commands;
    uint32_t before = is_start(op) ? c->now & c->lasting : 0;
    uint32_t set = (is_start(op) ? c->starting : c->now) | before;
    uint32_t agreed = is_start(op) ? questions_agreed(&j->questions, c->shown, c->nshown) : 0;
    size_t n = 0;
    for (uint32_t i = 0; set && i < c->n; i++) {
        if (!(set >> i & 1))
            continue;
        f[n++] = (struct graph_fact){.filter = FILTER_PROCESS_COMMAND,
                                     .str = c->patterns[i]->str,
                                     .len = c->patterns[i]->len,
                                     .num = before >> i & 1 & ~(c->starting >> i)};
        if ((agreed >> i & 1) && c->agreed[i])
            f[n++] = graph_extension_fact(c->agreed[i]);
    }
    return n;
}
