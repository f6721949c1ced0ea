/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Asking the policy, and reporting its denials to the controller. A question's facts are the
 * canonical path, the type of the file, the caller, and the extensions that were granted. Every
 * denial is reported before the call is answered.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/proc-text.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/git-judge.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/own-folders.h"
#include "kernel/judge/path-set.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/target.h"
#include "kernel/launch/layers.h"

/* Lets the command configure a repository that it created; default.sb uses it. */
static const char repository_extension[] = "buckle.created-repository";
/* Protected names are the command's to write there; protected.sb uses it. */
static const char own_extension[] = "buckle.own-folder";
/* A name is removed, by a call that can only remove; protected.sb uses it. */
static const char removal_extension[] = "buckle.removal";
/* A symlink in place of a folder that was not the command's own; protected.sb uses it. */
static const char replaced_extension[] = "buckle.replaced-folder";
/* Lets the command connect to its own sockets; common.sb uses it. */
static const char socket_extension[] = "buckle.created-socket";

#define EXTENSION(name)                                                                            \
    ((struct graph_fact){.filter = FILTER_EXTENSION, .str = (name), .len = sizeof(name) - 1})

/* Whether a path is the new name of what moves, or below it; false if nothing moves. */
static bool is_at_or_below(const struct pinned *to, const char *path, size_t len)
{
    return to && len >= to->path_len && memcmp(path, to->path, to->path_len) == 0 &&
           (len == to->path_len || path[to->path_len] == '/');
}

/* While a repository moves, its new path counts as created if the old one does. */
bool ask_is_created(const struct judge *j, const char *path, size_t len)
{
    if (path_set_covers(&j->git.created, path, len, "", 0))
        return true;
    const struct pinned *to = j->git.moving_to;
    if (!is_at_or_below(to, path, len))
        return false;
    return path_set_covers(&j->git.created, j->git.moving->path, j->git.moving->path_len,
                           path + to->path_len, len - to->path_len);
}

/* Whether a folder that moves to `to` stays the command's own there. */
static bool stays_own(struct own_folders *o, const struct pinned *to)
{
    bool replaces =
        to->found && S_ISDIR(to->st.st_mode) && !own_folders_contain(o, to->path, to->path_len);
    return !replaces && own_folders_may_begin(o, to->path, to->path_len);
}

/* Whether a path is in a folder of the command's own, or goes with a package. While one moves,
 * paths below its new name count if they do below the old one. */
static bool is_own(struct judge *j, const char *path, size_t len)
{
    struct own_folders *o = &j->own_folders;
    const struct pinned *old = j->git.moving, *to = j->git.moving_to;
    if (j->removing && own_folders_is_dependency(o, path, len))
        return true;
    if (own_folders_cover(o, path, len, "", 0))
        return true;
    if (!is_at_or_below(to, path, len) || len == to->path_len || !S_ISDIR(old->st.st_mode) ||
        !stays_own(o, to))
        return false;
    return own_folders_cover(o, old->path, old->path_len, path + to->path_len, len - to->path_len);
}

/* ---- the caller ---- */

bool policy_asks_caller(const struct graph *g)
{
    for (uint32_t i = 0; i < graph_test_count(g); i++) {
        uint16_t filter = graph_test_at(g, i)->filter;
        if (filter == FILTER_PROCESS_PATH || filter == FILTER_UID || filter == FILTER_GID)
            return true;
    }
    return false;
}

bool policy_asks_own(const struct graph *g)
{
    for (uint32_t i = 0; i < graph_test_count(g); i++) {
        const struct graph_test *t = graph_test_at(g, i);
        if (t->filter == FILTER_EXTENSION && t->len == sizeof(own_extension) - 1 &&
            memcmp(t->str, own_extension, t->len) == 0)
            return true;
    }
    return false;
}

/* The effective id, in the sandbox's numbers: the second of four. */
static int read_id(const struct judge *j, const struct request *r, const char *key, unsigned *id)
{
    char text[64];
    int err = proc_status_field(j->proc, r->tid, key, text, sizeof(text));
    return err == 0 && sscanf(text, "%*u %u", id) == 1 ? 0 : -EPERM;
}

int read_caller(struct judge *j, const struct request *r)
{
    static const char mark[] = " (deleted)";
    size_t m = sizeof(mark) - 1;
    char name[32];
    unsigned uid, gid;
    snprintf(name, sizeof(name), "%d/exe", r->tid);
    ssize_t n = readlinkat(j->proc, name, j->caller.program, PATH_BYTES);
    if (n <= 0 || n == PATH_BYTES || read_id(j, r, "\nUid:", &uid) < 0 ||
        read_id(j, r, "\nGid:", &gid) < 0 || !request_is_valid(j, r))
        return -EPERM;
    j->caller.program_len = (size_t)n;
    if (j->caller.program_len > m && memcmp(j->caller.program + n - m, mark, m) == 0)
        j->caller.program_len -= m;
    j->caller.uid = uid;
    j->caller.gid = gid;
    return 0;
}

static size_t program_fact(const struct judge *j, struct graph_fact *f)
{
    if (j->caller.program_len == 0)
        return 0;
    *f = (struct graph_fact){.filter = FILTER_PROCESS_PATH,
                             .str = j->caller.program,
                             .len = (uint32_t)j->caller.program_len};
    return 1;
}

/* with room for every class, to try */
enum {
    ASK_FACTS =
        EVENT_FACTS + 10 + GIT_FACTS + FILE_NAME_FACTS + 2 * PROTECTED_CLASSES + 2 * COMMAND_FACTS
};

/* The facts about a path of a known class. */
static size_t class_facts(const struct judge *j, enum git_class class, const char *path, size_t len,
                          const struct stat *st, struct graph_fact *f)
{
    size_t n = event_path_facts(path, len, j->caller.uid, j->caller.gid, st, f);
    n += program_fact(j, f + n);
    n += git_facts(class, f + n);
    if (j->git.created.n && ask_is_created(j, path, len))
        f[n++] = EXTENSION(repository_extension);
    const char *layer = j->layers ? layers_cover(j->layers, path, len, st) : NULL;
    if (layer) {
        f[n++] = graph_extension_fact(layer);
        /* it is private: nobody else finds what is written there; a world's may be kept */
        if (layer != plan_layer_extensions[LAYER_TRY])
            f[n++] = EXTENSION(own_extension);
    }
    if (j->own_folders.replacing)
        f[n++] = EXTENSION(replaced_extension);
    if (j->questions.has_facts)
        n += questions_facts(&j->questions, path, len, f + n);
    if (j->removing)
        f[n++] = EXTENSION(removal_extension);
    if (j->names)
        n += file_names_facts(j->names, path, len, f + n);
    return n;
}

static size_t path_facts(const struct judge *j, enum vocab_op op, const char *path, size_t len,
                         const struct stat *st, struct graph_fact *f)
{
    enum git_class class = j->git.wanted ? git_class_of(j, op, path, len, st) : GIT_PLAIN;
    size_t n = class_facts(j, class, path, len, st, f);
    return j->commands.on ? n + commands_facts(j, op, f + n) : n;
}

/* Evaluates the policy for every name of the file. */
static struct graph_verdict evaluate(const struct judge *j, const struct graph_query *q)
{
    if (j->names)
        return file_names_eval(j->names, j->graph, j->cache, q);
    return graph_eval(j->graph, j->cache, q);
}

/* Whether only keeping the name is denied (judge.h). */
static bool is_for_keep(const struct judge *j, enum vocab_op op, const struct graph_verdict *v,
                        const char *path, size_t len)
{
    size_t n = j->unjudged ? strlen(j->unjudged) : 0;
    if (n == 0 || v->allow || op == OP_FILE_READ_DATA || op == OP_FILE_READ_XATTR ||
        !graph_denies_protected(j->graph, graph_node_at(j->graph, v->node)))
        return false;
    return path_is_below(path, len, j->unjudged, n) ||
           (j->layers && layers_cover(j->layers, path, len, NULL));
}

/* The same for a path. Whether it is in an own folder can take long to find out, and can only allow
 * more: it is asked only about what is denied otherwise. The facts have room for one more. */
static struct graph_verdict evaluate_path(struct judge *j, struct graph_query *q,
                                          struct graph_fact *facts, const char *path, size_t len)
{
    struct graph_verdict v = evaluate(j, q);
    if (is_for_keep(j, q->op, &v, path, len))
        return (struct graph_verdict){.allow = true, .rule = v.rule, .node = v.node};
    if (v.allow || !j->own_folders.wanted || q->op == OP_FILE_READ_DATA ||
        q->op == OP_FILE_READ_METADATA || !is_own(j, path, len))
        return v;
    facts[q->nfacts++] = EXTENSION(own_extension);
    return evaluate(j, q);
}

/* ---- verdicts ---- */

static int apply_verdict(struct judge *j, const struct request *r, enum vocab_op op,
                         const struct graph_verdict *v, const char *shown, size_t len)
{
    struct event_sender t = {j->proc, j->events, &j->event};
    struct event_facts what = {.tid = r->tid, .nr = r->nr, .op = op, .verdict = v};
    int signal = 0;
    what.path = shown;
    what.len = len;
    what.detail = !j->git.detail[0] && j->questions.why ? j->questions.why : j->git.detail;
    j->questions.why = NULL;
    if (!v->allow)
        what.err = v->rule == GRAPH_NO_RULE ? EPERM : event_modifiers(j->graph, v->node, &signal);
    if (signal || (v->flags & VOCAB_FLAG_REPORT))
        what.pid = target_process(j, r);
    if (signal && !j->audit && what.pid > 0 && request_is_valid(j, r))
        kill(what.pid, signal);
    /* when a waiting call is retried, a permission was reported the first time */
    if ((v->flags & VOCAB_FLAG_REPORT) && !(v->allow && j->again))
        event_send(&t, &what);
    return j->audit ? 0 : -what.err;
}

/* The first class that would have to be allowed, if allowing classes is enough; facts has room for
 * all of them. */
static enum protected_class class_that_helps(const struct judge *j, struct graph_query *q,
                                             struct graph_fact *facts, uint32_t rule)
{
    const char *message = graph_rule_message(j->graph, rule);
    enum protected_class class = protected_class_of_message(message), first = class;
    for (unsigned tried = 0; class != PROTECTED_NO_CLASS && !(tried >> class & 1);) {
        tried |= 1u << class;
        q->nfacts += graph_class_facts(1u << class, facts + q->nfacts);
        struct graph_verdict v = evaluate(j, q);
        if (v.allow)
            return first;
        class = protected_class_of_message(graph_rule_message(j->graph, v.rule));
    }
    return PROTECTED_NO_CLASS;
}

/* Whether the user's consent to commands is all that is missing, and asked for. */
static bool is_asked_command(struct judge *j, const struct request *r, struct graph_query *q,
                             struct graph_fact *facts)
{
    const struct command_use *c = &j->commands;
    uint32_t agreed = questions_agreed(&j->questions, c->shown, c->nshown);
    unsigned first = GRAPH_COMMANDS;
    for (unsigned i = 0; i < c->n; i++) {
        if (!(c->starting >> i & 1) || !c->agreed[i] || (agreed >> i & 1))
            continue;
        facts[q->nfacts++] = graph_extension_fact(c->agreed[i]);
        first = first < i ? first : i;
    }
    return first < GRAPH_COMMANDS && evaluate(j, q).allow &&
           questions_ask(j, r, PROTECTED_CLASSES + first, c->shown, c->nshown);
}

/* Whether the call has to wait for the user's answer. */
static bool is_asked(struct judge *j, const struct request *r, struct graph_query *q,
                     struct graph_fact *facts, const struct graph_verdict *v, const char *path,
                     size_t len)
{
    if (v->allow || v->rule == GRAPH_NO_RULE || !questions_can(&j->questions))
        return false;
    if (j->commands.starting)
        return is_asked_command(j, r, q, facts);
    enum protected_class class = class_that_helps(j, q, facts, v->rule);
    return class != PROTECTED_NO_CLASS && questions_ask(j, r, class, path, len);
}

int ask_git(struct judge *j, const struct request *r, enum git_class class, const char *path,
            size_t len, const struct stat *st)
{
    struct graph_fact facts[ASK_FACTS];
    enum vocab_op op = OP_FILE_WRITE_CREATE;
    struct graph_query q = {
        .op = op, .facts = facts, .nfacts = class_facts(j, class, path, len, st, facts)};
    q.nfacts += commands_facts(j, op, facts + q.nfacts);
    struct graph_verdict v = evaluate_path(j, &q, facts, path, len);
    if (is_asked(j, r, &q, facts, &v, path, len))
        return -ASKED;
    return v.allow && v.flags == 0 ? 0 : apply_verdict(j, r, op, &v, path, len);
}

void ask_git_later(struct judge *j, enum git_class class, const char *path, size_t len)
{
    static const struct stat st = {.st_mode = S_IFREG};
    struct graph_fact facts[ASK_FACTS];
    struct graph_query q = {.op = OP_FILE_WRITE_DATA,
                            .facts = facts,
                            .nfacts = class_facts(j, class, path, len, &st, facts)};
    struct graph_verdict v = evaluate_path(j, &q, facts, path, len);
    struct event_sender t = {j->proc, j->events, &j->event};
    struct event_facts what = {.op = OP_FILE_WRITE_DATA, .verdict = &v, .err = EPERM, .path = path};
    what.len = len;
    what.detail = j->git.detail;
    if (!v.allow && (v.flags & VOCAB_FLAG_REPORT))
        event_send(&t, &what);
}

/* The operation that the call would have asked about: the first of its set; for an open, writing.
 */
static enum vocab_op op_of_call(const struct request *r)
{
    for (size_t i = 0; i < judged_call_count; i++)
        if (judged_calls[i].nr[PLAN_NATIVE] == r->nr)
            return judged_calls[i].handler == HANDLE_OPEN ? OP_FILE_WRITE_DATA
                                                          : judged_sets[judged_calls[i].set][0];
    return OP_DEFAULT;
}

static int refuse_call(struct judge *j, const struct request *r, const char *why)
{
    struct graph_verdict v = {.rule = GRAPH_NO_RULE, .flags = VOCAB_FLAG_REPORT};
    struct event_sender t = {j->proc, j->events, &j->event};
    struct event_facts what = {.tid = r->tid, .nr = r->nr, .op = op_of_call(r), .verdict = &v};
    what.pid = target_process(j, r);
    what.err = EPERM;
    what.path = why;
    what.len = strlen(why);
    /* a caller that has just died cannot be read either; that needs no report */
    if (request_is_valid(j, r))
        event_send(&t, &what);
    return -EPERM;
}

int refuse_unreadable(struct judge *j, const struct request *r)
{
    return refuse_call(j, r, "the program's memory cannot be read, so nothing it does is allowed");
}

int refuse_unmounted(struct judge *j, const struct request *r)
{
    return refuse_call(j, r,
                       "this is on a file system that was unmounted, and has no path to judge");
}

/* ---- questions ---- */

/* Whether the rule names files, and does not deny all of them. */
static bool is_about_files(const struct judge *j, uint32_t rule)
{
    return rule < graph_rule_count(j->graph) && graph_rule_at(j->graph, rule)->filtered;
}

static int ask_any_name(struct judge *j, const struct request *r, enum vocab_op op,
                        const char *path, size_t len, const struct stat *st)
{
    struct graph_fact facts[ASK_FACTS];
    struct graph_query q = {
        .op = op, .facts = facts, .nfacts = path_facts(j, op, path, len, st, facts)};
    struct graph_verdict v = evaluate_path(j, &q, facts, path, len);
    if (v.allow && v.flags == 0)
        return 0;
    if (!v.allow && !is_about_files(j, v.rule) && semaphore_is_allowed(j, op, path, len))
        return 0;
    if (is_asked(j, r, &q, facts, &v, path, len))
        return -ASKED;
    return apply_verdict(j, r, op, &v, path, len);
}

int ask_name(struct judge *j, const struct request *r, enum vocab_op op, const char *path,
             size_t len, const struct stat *st)
{
    /* pipes, sockets and files in memory have no path; the target already holds them */
    if (len == 0 || path[0] != '/')
        return 0;
    int err = ask_any_name(j, r, op, path, len, st);
    return err == 0 ? ask_posix_ipc(j, r, op, path, len) : err;
}

int ask_object(struct judge *j, const struct request *r, enum vocab_op op, const struct pinned *p)
{
    return ask_any_name(j, r, op, p->path, p->path_len, &p->st);
}

int ask_path(struct judge *j, const struct request *r, enum vocab_op op, const struct pinned *p)
{
    return ask_name(j, r, op, p->path, p->path_len, p->found ? &p->st : NULL);
}

int ask_create(struct judge *j, const struct request *r, const struct pinned *p, mode_t type)
{
    struct stat st = {.st_mode = type};
    return ask_name(j, r, OP_FILE_WRITE_CREATE, p->path, p->path_len, &st);
}

int ask_setugid(struct judge *j, const struct request *r, const char *path, size_t len, mode_t mode)
{
    struct stat st = {.st_mode = mode | (mode & S_IFMT ? 0 : S_IFREG)};
    if (!(mode & (S_ISUID | S_ISGID)))
        return 0;
    return ask_name(j, r, OP_FILE_WRITE_SETUGID, path, len, &st);
}

bool would_allow(struct judge *j, enum vocab_op op, const char *path, size_t len,
                 const struct stat *st)
{
    struct graph_fact facts[ASK_FACTS];
    struct graph_query q = {
        .op = op, .facts = facts, .nfacts = path_facts(j, op, path, len, st, facts)};
    return j->audit || evaluate_path(j, &q, facts, path, len).allow;
}

bool is_out_of_bounds(struct judge *j, enum vocab_op op, const char *path, size_t len,
                      const struct stat *st)
{
    static const char nowhere[] = "/\1"; /* a path that no rule matches by itself */
    struct graph_fact facts[ASK_FACTS];
    struct graph_query q = {
        .op = op, .facts = facts, .nfacts = path_facts(j, op, path, len, st, facts)};
    struct graph_verdict v = evaluate(j, &q);
    q.nfacts = path_facts(j, op, nowhere, sizeof(nowhere) - 1, st, facts);
    struct graph_verdict base = evaluate(j, &q);
    return !v.allow && !base.allow && v.rule == base.rule;
}

int ask_xattr(struct judge *j, const struct request *r, enum vocab_op op, const struct pinned *p,
              const char *name)
{
    struct graph_fact facts[ASK_FACTS];
    if (p->path_len == 0 || p->path[0] != '/')
        return 0;
    size_t n = path_facts(j, op, p->path, p->path_len, p->fd >= 0 ? &p->st : NULL, facts);
    if (name)
        facts[n++] =
            (struct graph_fact){.filter = FILTER_XATTR, .str = name, .len = (uint32_t)strlen(name)};
    struct graph_query q = {.op = op, .facts = facts, .nfacts = n};
    struct graph_verdict v = evaluate_path(j, &q, facts, p->path, p->path_len);
    return v.allow && v.flags == 0 ? 0 : apply_verdict(j, r, op, &v, p->path, p->path_len);
}

int ask_unix(struct judge *j, const struct request *r, enum vocab_op op, const char *path,
             size_t len, bool own)
{
    struct graph_fact facts[ASK_FACTS];
    size_t n = path_facts(j, op, path, len, NULL, facts);
    if (own)
        facts[n++] = EXTENSION(socket_extension);
    facts[n++] =
        (struct graph_fact){.filter = op == OP_NETWORK_OUTBOUND ? FILTER_REMOTE : FILTER_LOCAL,
                            .net = {.proto = NET_UNIX, .port_hi = 65535}};
    struct graph_query q = {.op = op, .facts = facts, .nfacts = n};
    struct graph_verdict v = evaluate(j, &q);
    return v.allow && v.flags == 0 ? 0 : apply_verdict(j, r, op, &v, path, len);
}

static struct graph_verdict evaluate_about(struct judge *j, enum vocab_op op,
                                           const struct graph_fact *more, size_t nmore)
{
    struct graph_fact facts[ASK_MORE + 3 + COMMAND_FACTS];
    size_t n = 0;
    facts[n++] = (struct graph_fact){.filter = FILTER_UID, .num = j->caller.uid};
    facts[n++] = (struct graph_fact){.filter = FILTER_GID, .num = j->caller.gid};
    n += program_fact(j, facts + n);
    for (size_t i = 0; i < nmore && i < ASK_MORE; i++)
        facts[n++] = more[i];
    if (j->commands.on)
        n += commands_facts(j, op, facts + n);
    return evaluate(j, &(struct graph_query){.op = op, .facts = facts, .nfacts = n});
}

bool would_allow_about(struct judge *j, enum vocab_op op, const struct graph_fact *more,
                       size_t nmore)
{
    struct graph_verdict v = evaluate_about(j, op, more, nmore);
    return v.allow && v.flags == 0;
}

int ask_about(struct judge *j, const struct request *r, enum vocab_op op,
              const struct graph_fact *more, size_t nmore, const char *shown)
{
    struct graph_verdict v = evaluate_about(j, op, more, nmore);
    return v.allow && v.flags == 0 ? 0 : apply_verdict(j, r, op, &v, shown, strlen(shown));
}

int ask_narrowed(struct judge *j, const struct request *r, enum vocab_op op,
                 const struct graph_fact *more, size_t nmore, const char *shown)
{
    uint32_t label = j->commands.now;
    struct graph_verdict v = evaluate_about(j, op, more, nmore);
    j->commands.now = 0;
    struct graph_verdict plain = evaluate_about(j, op, more, nmore);
    j->commands.now = label;
    if (v.allow || (!plain.allow && plain.rule == v.rule))
        return 0;
    return apply_verdict(j, r, op, &v, shown, strlen(shown));
}

void report_refused_as(struct judge *j, const struct request *r, enum vocab_op op, const char *what,
                       int err)
{
    static const struct graph_verdict refused = {.rule = GRAPH_NO_RULE};
    struct event_sender t = {j->proc, j->events, &j->event};
    event_send(&t, &(struct event_facts){.tid = r->tid,
                                         .pid = target_process(j, r),
                                         .nr = r->nr,
                                         .op = op,
                                         .verdict = &refused,
                                         .err = err,
                                         .path = what,
                                         .len = strlen(what)});
}

void report_refused(struct judge *j, const struct request *r, enum vocab_op op, const char *what)
{
    report_refused_as(j, r, op, what, EPERM);
}
