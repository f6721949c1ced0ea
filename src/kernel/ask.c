/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Asking the policy, and telling the controller what it said. The facts of a question are the
 * canonical path, what kind of file it is, who asks, and the extensions that were granted. Every
 * denial becomes an event before the call is answered.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernel/worker.h"

/* Lets the command configure a repository that it made itself; named in default.sb. */
static const char repository_extension[] = "buckle.created-repository";

/* Apple's vnode types, which (vnode-type …) names. */
static int64_t vnode_type(mode_t mode)
{
    static const struct {
        mode_t format;
        int64_t type;
    } types[] = {{S_IFREG, 1}, {S_IFDIR, 2},  {S_IFBLK, 3}, {S_IFCHR, 4},
                 {S_IFLNK, 5}, {S_IFSOCK, 6}, {S_IFIFO, 7}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if ((mode & S_IFMT) == types[i].format)
            return types[i].type;
    return 0;
}

/* A repository that is about to move is judged at its new place as if it were there already. */
static bool in_made_repository(const struct worker *w, const char *path, size_t len)
{
    if (made_covers(&w->repositories, path, len, "", 0))
        return true;
    const struct pinned *to = w->moving_to;
    if (!to || len < to->path_len || memcmp(path, to->path, to->path_len) != 0 ||
        (len > to->path_len && path[to->path_len] != '/'))
        return false;
    return made_covers(&w->repositories, w->moving->path, w->moving->path_len, path + to->path_len,
                       len - to->path_len);
}

enum { ASK_FACTS = 8 };

static size_t path_facts(const struct worker *w, const char *path, size_t len,
                         const struct stat *st, struct graph_fact *f)
{
    size_t n = 0;
    f[n++] = (struct graph_fact){.filter = FILTER_PATH, .str = path, .len = (uint32_t)len};
    f[n++] = (struct graph_fact){.filter = FILTER_UID, .num = w->uid};
    f[n++] = (struct graph_fact){.filter = FILTER_GID, .num = w->gid};
    if (st) {
        f[n++] = (struct graph_fact){.filter = FILTER_VNODE_TYPE, .num = vnode_type(st->st_mode)};
        f[n++] = (struct graph_fact){.filter = FILTER_FILE_MODE, .num = st->st_mode & 07777};
    }
    if (w->repositories.n && in_made_repository(w, path, len))
        f[n++] = (struct graph_fact){.filter = FILTER_EXTENSION,
                                     .str = repository_extension,
                                     .len = sizeof(repository_extension) - 1};
    return n;
}

/* ---- events ---- */

static void event_start(struct worker *w, const struct request *r, enum vocab_op op)
{
    struct event *e = &w->event;
    struct timespec now;
    char name[32];
    clock_gettime(CLOCK_REALTIME, &now);
    memset(e, 0, offsetof(struct event, path));
    e->time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    e->tid = r->tid;
    pid_t pid = target_process(w, r);
    e->pid = pid > 0 ? pid : r->tid;
    e->op = (uint16_t)op;
    e->nr = (uint16_t)r->nr;
    e->rule = GRAPH_NO_RULE;
    e->count = 1;
    snprintf(name, sizeof(name), "%d/exe", r->tid);
    char exe[PATH_BYTES];
    ssize_t n = readlinkat(w->proc, name, exe, sizeof(exe));
    if (n > 0) {
        size_t skip = (size_t)n >= EVENT_EXE ? (size_t)n - EVENT_EXE + 1 : 0;
        memcpy(e->exe, exe + skip, (size_t)n - skip);
    }
}

static void event_send(struct worker *w, const char *path, size_t len)
{
    struct event *e = &w->event;
    if (len >= EVENT_PATH)
        len = EVENT_PATH - 1;
    memcpy(e->path, path, len);
    e->path[len] = '\0';
    e->path_len = (uint32_t)len;
    /* The controller reads as long as it lives; when it is gone there is nobody to tell. */
    while (send(w->events, e, event_wire_size(e), MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

/* ---- what a rule wants done ---- */

/* Apple's errno and signal numbers become Linux's by their names. */
static int linux_errno(int64_t apple)
{
    const char *name = vocab_modifier_constant_name(MOD_ERRNO, apple);
    for (int e = 1; name && e < 134; e++) {
        const char *known = strerrorname_np(e);
        if (known && strcmp(known, name) == 0)
            return e;
    }
    return EPERM;
}

static int linux_signal(int64_t apple)
{
    const char *name = vocab_filter_constant_name(FILTER_SIGNAL_NUMBER, apple);
    for (int s = 1; name && s < NSIG; s++) {
        const char *known = sigabbrev_np(s);
        if (known && strncmp(name, "SIG", 3) == 0 && strcmp(known, name + 3) == 0)
            return s;
    }
    return SIGKILL;
}

/* Carries out modifiers; the errno to answer with. */
static int apply_modifiers(struct worker *w, const struct request *r, uint32_t node)
{
    const struct graph_node *d = graph_node_at(w->graph, node);
    int err = EPERM;
    for (uint32_t i = 0; i < d->nmods; i++) {
        const struct graph_mod *mod = graph_mod_at(w->graph, d->mods + i);
        pid_t pid = mod->id == MOD_SEND_SIGNAL ? target_process(w, r) : 0;
        if (mod->id == MOD_ERRNO)
            err = linux_errno(mod->num);
        if (pid > 0 && request_is_valid(w, r))
            kill(pid, linux_signal(mod->num));
    }
    return err;
}

static int settle(struct worker *w, const struct request *r, enum vocab_op op,
                  const struct graph_verdict *v, const char *shown, size_t len)
{
    int err = v->allow ? 0 : apply_modifiers(w, r, v->node);
    if (v->flags & VOCAB_FLAG_REPORT) {
        event_start(w, r, op);
        w->event.allow = v->allow;
        w->event.flags = v->flags;
        w->event.rule = v->rule;
        w->event.err = err;
        event_send(w, shown, len);
    }
    return -err;
}

/* ---- questions ---- */

int ask_name(struct worker *w, const struct request *r, enum vocab_op op, const char *path,
             size_t len, const struct stat *st)
{
    struct graph_fact facts[ASK_FACTS];
    /* pipes, sockets and memory files have no path: the target holds them already */
    if (len == 0 || path[0] != '/')
        return 0;
    struct graph_query q = {
        .op = op, .facts = facts, .nfacts = path_facts(w, path, len, st, facts)};
    struct graph_verdict v = graph_eval(w->graph, w->cache, &q);
    return v.allow && v.flags == 0 ? 0 : settle(w, r, op, &v, path, len);
}

int ask_path(struct worker *w, const struct request *r, enum vocab_op op, const struct pinned *p)
{
    return ask_name(w, r, op, p->path, p->path_len, p->fd >= 0 ? &p->st : NULL);
}

int ask_create(struct worker *w, const struct request *r, const struct pinned *p, mode_t type)
{
    struct stat st = {.st_mode = type};
    return ask_name(w, r, OP_FILE_WRITE_CREATE, p->path, p->path_len, &st);
}

bool would_allow(struct worker *w, enum vocab_op op, const char *path, size_t len,
                 const struct stat *st)
{
    struct graph_fact facts[ASK_FACTS];
    struct graph_query q = {
        .op = op, .facts = facts, .nfacts = path_facts(w, path, len, st, facts)};
    return graph_eval(w->graph, w->cache, &q).allow;
}

int ask_unix(struct worker *w, const struct request *r, enum vocab_op op, const char *path,
             size_t len)
{
    struct graph_fact facts[ASK_FACTS];
    size_t n = path_facts(w, path, len, NULL, facts);
    facts[n++] =
        (struct graph_fact){.filter = op == OP_NETWORK_OUTBOUND ? FILTER_REMOTE : FILTER_LOCAL,
                            .net = {.proto = NET_UNIX, .port_hi = 65535}};
    struct graph_query q = {.op = op, .facts = facts, .nfacts = n};
    struct graph_verdict v = graph_eval(w->graph, w->cache, &q);
    return v.allow && v.flags == 0 ? 0 : settle(w, r, op, &v, path, len);
}
