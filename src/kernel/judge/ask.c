/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Asking the policy, and telling the controller what it said. The facts of a question are the
 * canonical path, what kind of file it is, who asks, and the extensions that were granted. Every
 * denial becomes an event before the call is answered.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/judge/ask.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/relation.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/target.h"

/* Lets the command configure a repository that it made itself; named in default.sb. */
static const char repository_extension[] = "buckle.created-repository";
/* Lets it talk to itself; named in common.sb. */
static const char socket_extension[] = "buckle.created-socket";

/* A repository that is about to move is judged at its new place as if it were there already. */
bool ask_is_created(const struct judge *w, const char *path, size_t len)
{
    if (created_repos_covers(&w->repositories, path, len, "", 0))
        return true;
    const struct pinned *to = w->moving_to;
    if (!to || len < to->path_len || memcmp(path, to->path, to->path_len) != 0 ||
        (len > to->path_len && path[to->path_len] != '/'))
        return false;
    return created_repos_covers(&w->repositories, w->moving->path, w->moving->path_len,
                                path + to->path_len, len - to->path_len);
}

/* ---- who asks ---- */

bool asks_who(const struct graph *g)
{
    for (uint32_t i = 0; i < graph_test_count(g); i++) {
        uint16_t filter = graph_test_at(g, i)->filter;
        if (filter == FILTER_PROCESS_PATH || filter == FILTER_UID || filter == FILTER_GID)
            return true;
    }
    return false;
}

/* Effective ids, as the sandbox knows them: the second of four. */
static int read_id(const struct judge *w, const struct request *r, const char *key, unsigned *id)
{
    char text[64];
    int err = proc_status_field(w->proc, r->tid, key, text, sizeof(text));
    return err == 0 && sscanf(text, "%*u %u", id) == 1 ? 0 : -EPERM;
}

int ask_who(struct judge *w, const struct request *r)
{
    static const char mark[] = " (deleted)";
    size_t m = sizeof(mark) - 1;
    char name[32];
    unsigned uid, gid;
    snprintf(name, sizeof(name), "%d/exe", r->tid);
    ssize_t n = readlinkat(w->proc, name, w->program, PATH_BYTES);
    if (n <= 0 || n == PATH_BYTES || read_id(w, r, "\nUid:", &uid) < 0 ||
        read_id(w, r, "\nGid:", &gid) < 0 || !request_is_valid(w, r))
        return -EPERM;
    w->program_len = (size_t)n;
    if (w->program_len > m && memcmp(w->program + n - m, mark, m) == 0)
        w->program_len -= m;
    w->caller_uid = uid;
    w->caller_gid = gid;
    return 0;
}

static size_t program_fact(const struct judge *w, struct graph_fact *f)
{
    if (w->program_len == 0)
        return 0;
    *f = (struct graph_fact){
        .filter = FILTER_PROCESS_PATH, .str = w->program, .len = (uint32_t)w->program_len};
    return 1;
}

enum { ASK_FACTS = EVENT_FACTS + 4 + GIT_FACTS + FILE_NAME_FACTS };

/* Facts about a path whose class is known. */
static size_t class_facts(const struct judge *w, enum git_class class, const char *path, size_t len,
                          const struct stat *st, struct graph_fact *f)
{
    size_t n = event_path_facts(path, len, w->caller_uid, w->caller_gid, st, f);
    n += program_fact(w, f + n);
    n += git_facts(class, f + n);
    if (w->repositories.n && ask_is_created(w, path, len))
        f[n++] = (struct graph_fact){.filter = FILTER_EXTENSION,
                                     .str = repository_extension,
                                     .len = sizeof(repository_extension) - 1};
    if (w->naming)
        n += file_names_facts(w->naming, path, len, f + n);
    return n;
}

static size_t path_facts(const struct judge *w, enum vocab_op op, const char *path, size_t len,
                         const struct stat *st, struct graph_fact *f)
{
    enum git_class class = w->git.wanted ? git_class_of(w, op, path, len, st) : GIT_PLAIN;
    return class_facts(w, class, path, len, st, f);
}

/* What the policy says, by every name that is meant. */
static struct graph_verdict judge(const struct judge *w, const struct graph_query *q)
{
    if (w->naming)
        return file_names_eval(w->naming, w->graph, w->cache, q);
    return graph_eval(w->graph, w->cache, q);
}

/* ---- what a rule wants done ---- */

static int settle(struct judge *w, const struct request *r, enum vocab_op op,
                  const struct graph_verdict *v, const char *shown, size_t len)
{
    struct event_sender t = {w->proc, w->events, &w->event};
    struct event_facts what = {.tid = r->tid, .nr = r->nr, .op = op, .verdict = v};
    int signal = 0;
    what.path = shown;
    what.len = len;
    what.detail = w->git.detail;
    if (!v->allow)
        what.err = v->rule == GRAPH_NO_RULE ? EPERM : event_modifiers(w->graph, v->node, &signal);
    if (signal || (v->flags & VOCAB_FLAG_REPORT))
        what.pid = target_process(w, r);
    if (signal && what.pid > 0 && request_is_valid(w, r))
        kill(what.pid, signal);
    /* what is allowed again, for a call that waits, was told the first time */
    if ((v->flags & VOCAB_FLAG_REPORT) && !(v->allow && w->again))
        event_send(&t, &what);
    return -what.err;
}

int ask_git(struct judge *w, const struct request *r, enum git_class class, const char *path,
            size_t len, const struct stat *st)
{
    struct graph_fact facts[ASK_FACTS];
    enum vocab_op op = OP_FILE_WRITE_CREATE;
    struct graph_query q = {
        .op = op, .facts = facts, .nfacts = class_facts(w, class, path, len, st, facts)};
    struct graph_verdict v = judge(w, &q);
    return v.allow && v.flags == 0 ? 0 : settle(w, r, op, &v, path, len);
}

void ask_git_later(struct judge *w, enum git_class class, const char *path, size_t len)
{
    static const struct stat st = {.st_mode = S_IFREG};
    struct graph_fact facts[ASK_FACTS];
    struct graph_query q = {.op = OP_FILE_WRITE_DATA,
                            .facts = facts,
                            .nfacts = class_facts(w, class, path, len, &st, facts)};
    struct graph_verdict v = judge(w, &q);
    struct event_sender t = {w->proc, w->events, &w->event};
    struct event_facts what = {.op = OP_FILE_WRITE_DATA, .verdict = &v, .err = EPERM, .path = path};
    what.len = len;
    what.detail = w->git.detail;
    if (!v.allow && (v.flags & VOCAB_FLAG_REPORT))
        event_send(&t, &what);
}

/* What the call would have asked: the first of its set, and for an open what its flags want. */
static enum vocab_op op_of_call(const struct request *r)
{
    for (size_t i = 0; i < judged_call_count; i++)
        if (judged_calls[i].nr[PLAN_NATIVE] == r->nr)
            return judged_calls[i].handler == HANDLE_OPEN ? OP_FILE_WRITE_DATA
                                                          : judged_sets[judged_calls[i].set][0];
    return OP_DEFAULT;
}

static int refuse(struct judge *w, const struct request *r, const char *why)
{
    struct graph_verdict v = {.rule = GRAPH_NO_RULE, .flags = VOCAB_FLAG_REPORT};
    struct event_sender t = {w->proc, w->events, &w->event};
    struct event_facts what = {.tid = r->tid, .nr = r->nr, .op = op_of_call(r), .verdict = &v};
    what.pid = target_process(w, r);
    what.err = EPERM;
    what.path = why;
    what.len = strlen(why);
    /* one that has just died cannot be read either, and nobody need be told */
    if (request_is_valid(w, r))
        event_send(&t, &what);
    return -EPERM;
}

int ask_in_vain(struct judge *w, const struct request *r)
{
    return refuse(w, r, "the program's memory cannot be read, so nothing it does is allowed");
}

int ask_nowhere(struct judge *w, const struct request *r)
{
    return refuse(w, r, "this lies on a mount that was taken away, and has no name to judge");
}

/* ---- questions ---- */

static int ask_any_name(struct judge *w, const struct request *r, enum vocab_op op,
                        const char *path, size_t len, const struct stat *st)
{
    struct graph_fact facts[ASK_FACTS];
    struct graph_query q = {
        .op = op, .facts = facts, .nfacts = path_facts(w, op, path, len, st, facts)};
    struct graph_verdict v = judge(w, &q);
    return v.allow && v.flags == 0 ? 0 : settle(w, r, op, &v, path, len);
}

int ask_name(struct judge *w, const struct request *r, enum vocab_op op, const char *path,
             size_t len, const struct stat *st)
{
    /* pipes, sockets and memory files have no path: the target holds them already */
    if (len == 0 || path[0] != '/')
        return 0;
    int err = ask_any_name(w, r, op, path, len, st);
    return err == 0 ? ask_posix_ipc(w, r, op, path, len) : err;
}

int ask_object(struct judge *w, const struct request *r, enum vocab_op op, const struct pinned *p)
{
    return ask_any_name(w, r, op, p->path, p->path_len, &p->st);
}

int ask_path(struct judge *w, const struct request *r, enum vocab_op op, const struct pinned *p)
{
    return ask_name(w, r, op, p->path, p->path_len, p->found ? &p->st : NULL);
}

int ask_create(struct judge *w, const struct request *r, const struct pinned *p, mode_t type)
{
    struct stat st = {.st_mode = type};
    return ask_name(w, r, OP_FILE_WRITE_CREATE, p->path, p->path_len, &st);
}

int ask_setugid(struct judge *w, const struct request *r, const char *path, size_t len, mode_t mode)
{
    struct stat st = {.st_mode = mode | (mode & S_IFMT ? 0 : S_IFREG)};
    if (!(mode & (S_ISUID | S_ISGID)))
        return 0;
    return ask_name(w, r, OP_FILE_WRITE_SETUGID, path, len, &st);
}

bool would_allow(struct judge *w, enum vocab_op op, const char *path, size_t len,
                 const struct stat *st)
{
    struct graph_fact facts[ASK_FACTS];
    struct graph_query q = {
        .op = op, .facts = facts, .nfacts = path_facts(w, op, path, len, st, facts)};
    return judge(w, &q).allow;
}

bool is_out_of_bounds(struct judge *w, enum vocab_op op, const char *path, size_t len,
                      const struct stat *st)
{
    static const char nowhere[] = "/\1"; /* a name that no rule has in mind */
    struct graph_fact facts[ASK_FACTS];
    struct graph_query q = {
        .op = op, .facts = facts, .nfacts = path_facts(w, op, path, len, st, facts)};
    struct graph_verdict v = judge(w, &q);
    q.nfacts = path_facts(w, op, nowhere, sizeof(nowhere) - 1, st, facts);
    struct graph_verdict ground = judge(w, &q);
    return !v.allow && !ground.allow && v.rule == ground.rule;
}

int ask_xattr(struct judge *w, const struct request *r, enum vocab_op op, const struct pinned *p,
              const char *name)
{
    struct graph_fact facts[ASK_FACTS];
    if (p->path_len == 0 || p->path[0] != '/')
        return 0;
    size_t n = path_facts(w, op, p->path, p->path_len, p->fd >= 0 ? &p->st : NULL, facts);
    if (name)
        facts[n++] =
            (struct graph_fact){.filter = FILTER_XATTR, .str = name, .len = (uint32_t)strlen(name)};
    struct graph_query q = {.op = op, .facts = facts, .nfacts = n};
    struct graph_verdict v = judge(w, &q);
    return v.allow && v.flags == 0 ? 0 : settle(w, r, op, &v, p->path, p->path_len);
}

int ask_unix(struct judge *w, const struct request *r, enum vocab_op op, const char *path,
             size_t len, bool own)
{
    struct graph_fact facts[ASK_FACTS];
    size_t n = path_facts(w, op, path, len, NULL, facts);
    if (own)
        facts[n++] = (struct graph_fact){.filter = FILTER_EXTENSION,
                                         .str = socket_extension,
                                         .len = sizeof(socket_extension) - 1};
    facts[n++] =
        (struct graph_fact){.filter = op == OP_NETWORK_OUTBOUND ? FILTER_REMOTE : FILTER_LOCAL,
                            .net = {.proto = NET_UNIX, .port_hi = 65535}};
    struct graph_query q = {.op = op, .facts = facts, .nfacts = n};
    struct graph_verdict v = judge(w, &q);
    return v.allow && v.flags == 0 ? 0 : settle(w, r, op, &v, path, len);
}

int ask_about(struct judge *w, const struct request *r, enum vocab_op op,
              const struct graph_fact *more, size_t nmore, const char *shown)
{
    struct graph_fact facts[ASK_MORE + 3];
    size_t n = 0;
    facts[n++] = (struct graph_fact){.filter = FILTER_UID, .num = w->caller_uid};
    facts[n++] = (struct graph_fact){.filter = FILTER_GID, .num = w->caller_gid};
    n += program_fact(w, facts + n);
    for (size_t i = 0; i < nmore && i < ASK_MORE; i++)
        facts[n++] = more[i];
    struct graph_query q = {.op = op, .facts = facts, .nfacts = n};
    struct graph_verdict v = judge(w, &q);
    return v.allow && v.flags == 0 ? 0 : settle(w, r, op, &v, shown, strlen(shown));
}

void report_refused_as(struct judge *w, const struct request *r, enum vocab_op op, const char *what,
                       int err)
{
    static const struct graph_verdict refused = {.rule = GRAPH_NO_RULE};
    struct event_sender t = {w->proc, w->events, &w->event};
    event_send(&t, &(struct event_facts){.tid = r->tid,
                                         .pid = target_process(w, r),
                                         .nr = r->nr,
                                         .op = op,
                                         .verdict = &refused,
                                         .err = err,
                                         .path = what,
                                         .len = strlen(what)});
}

void report_refused(struct judge *w, const struct request *r, enum vocab_op op, const char *what)
{
    report_refused_as(w, r, op, what, EPERM);
}
