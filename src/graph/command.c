/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Matching commands. A pattern is literal parts between stars. The first part has to be the
 * beginning, the last the end, and each of the others is looked for behind the one before it: that
 * never has to go back, so a long command costs its length.
 */

#include "graph/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"

int graph_command_check(const char *pattern, size_t n, struct bk_err *err)
{
    const char *what = NULL;
    if (n == 0)
        what = "a pattern of commands is empty";
    else if (n > COMMAND_PATTERN)
        what = "a pattern of commands has more than 256 bytes";
    else if (pattern[0] == ' ' || pattern[n - 1] == ' ' || memmem(pattern, n, "  ", 2))
        what = "a pattern of commands has one space between words, and none around them";
    for (size_t i = 0; !what && i < n; i++)
        if ((unsigned char)pattern[i] < ' ' || pattern[i] == 0x7f)
            what = "a pattern of commands has no control characters";
    return what ? err_set(err, BK_E_INPUT, "%s", what) : 0;
}

/* A text in which a part is looked for. */
struct span {
    const char *at;
    size_t n;
};

static bool fits(struct span p, struct span s)
{
    const char *star = memchr(p.at, '*', p.n);
    size_t head = star ? (size_t)(star - p.at) : p.n;
    if (s.n < head || memcmp(p.at, s.at, head) != 0)
        return false;
    if (!star)
        return s.n == p.n;
    p = (struct span){star + 1, p.n - head - 1};
    s = (struct span){s.at + head, s.n - head};
    while ((star = memchr(p.at, '*', p.n))) {
        size_t part = (size_t)(star - p.at);
        const char *found = part ? memmem(s.at, s.n, p.at, part) : s.at;
        if (!found)
            return false;
        s.n -= (size_t)(found - s.at) + part;
        s.at = found + part;
        p = (struct span){star + 1, p.n - part - 1};
    }
    return s.n >= p.n && memcmp(s.at + s.n - p.n, p.at, p.n) == 0;
}

/* The last part of a program's path, which is `end` bytes long, with all that follows it. */
static struct span without_folder(struct span s, size_t end)
{
    while (end > 0 && s.at[end - 1] != '/')
        end--;
    return (struct span){s.at + end, s.n - end};
}

static struct span program_of(struct span s)
{
    const char *space = memchr(s.at, ' ', s.n);
    return (struct span){s.at, space ? (size_t)(space - s.at) : s.n};
}

/* Whether arguments may follow, or none: the pattern ends in " *" or ":*". Cuts that off. */
static bool cut_open_end(struct span *p)
{
    if (p->n < 3 || p->at[p->n - 1] != '*' || (p->at[p->n - 2] != ' ' && p->at[p->n - 2] != ':'))
        return false;
    p->n -= 2;
    return true;
}

bool graph_command_fits(const char *pattern, size_t n, const char *command, size_t len)
{
    char whole[COMMAND_PATTERN + 2];
    struct span p = {pattern, n}, s = {command, len};
    struct span program = program_of(p);
    if (n > COMMAND_PATTERN)
        return false;
    if (n == len && memcmp(pattern, command, n) == 0)
        return true; /* a process that is known by the pattern itself */
    if (!memchr(program.at, '/', program.n))
        s = without_folder(s, program_of(s).n);
    if (!cut_open_end(&p))
        return fits(p, s);
    if (fits(p, s))
        return true;
    memcpy(whole, p.at, p.n);
    memcpy(whole + p.n, " *", 2);
    return fits((struct span){whole, p.n + 2}, s);
}

bool graph_command_fits_program(const char *pattern, size_t n, const char *program, size_t len)
{
    struct span p = {pattern, n}, s = {program, len};
    cut_open_end(&p);
    p = program_of(p);
    if (!memchr(p.at, '/', p.n))
        s = without_folder(s, s.n);
    /* a star in the first word may go on into the arguments */
    return memchr(p.at, '*', p.n) || fits(p, s);
}

/* ---- the patterns of a policy ---- */

static uint32_t bit_of(const struct graph *g, const struct graph_commands *all, uint32_t test)
{
    for (uint32_t i = 0; i < all->n && i < GRAPH_COMMANDS; i++)
        if (all->tests[i] == graph_test_at(g, test))
            return UINT32_C(1) << i;
    return 0;
}

/* Marks what operations other than starting a program can reach, and what lasts. Edges lead to
 * smaller numbers. */
static uint32_t find_narrowing(const struct graph *g, const struct graph_commands *all)
{
    uint32_t n = graph_node_count(g), found = 0;
    for (uint32_t i = 0; i < all->n && i < GRAPH_COMMANDS; i++)
        found |= all->tests[i]->num == GRAPH_COMMAND_LINE ? UINT32_C(1) << i : 0;
    OWN(mem) uint8_t *reached = calloc(n + 1, 1);
    if (!reached)
        return UINT32_MAX;
    for (unsigned op = 0; op < OP_COUNT; op++)
        if (op != OP_PROCESS_EXEC && op != OP_PROCESS_EXEC_INTERPRETER)
            reached[graph_entry(g, op)] = 1;
    for (uint32_t i = n; i-- > 0;) {
        const struct graph_node *node = graph_node_at(g, i);
        if (!reached[i] || node->kind != GRAPH_NODE_FILTER)
            continue;
        reached[node->match] = reached[node->unmatch] = 1;
        if (graph_test_at(g, node->test)->filter == FILTER_PROCESS_COMMAND)
            found |= bit_of(g, all, node->test);
    }
    return found;
}

void graph_commands_find(const struct graph *g, struct graph_commands *out)
{
    *out = (struct graph_commands){0};
    for (uint32_t i = 0; i < graph_test_count(g); i++) {
        const struct graph_test *t = graph_test_at(g, i);
        if (t->filter != FILTER_PROCESS_COMMAND)
            continue;
        if (out->n < GRAPH_COMMANDS)
            out->tests[out->n] = t;
        out->n++;
    }
    if (out->n)
        out->narrowing = find_narrowing(g, out);
}
