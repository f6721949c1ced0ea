/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Turns a check into facts, and a verdict into its consequences: the errno, the signal, the event.
 * The judge (ask.c) and the sentry (sentry-ask.c) find the caller and the file differently; the
 * rest is the same and is here.
 */

#include "kernel/shared/event-send.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/errno-name.h"
#include "kernel/shared/fd-pass.h"
#include "kernel/shared/signal-name.h"

/* ---- facts ---- */

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

size_t event_path_facts(const char *path, size_t len, uid_t uid, gid_t gid, const struct stat *st,
                        struct graph_fact *f)
{
    size_t n = 0;
    f[n++] = (struct graph_fact){.filter = FILTER_PATH, .str = path, .len = (uint32_t)len};
    f[n++] = (struct graph_fact){.filter = FILTER_UID, .num = uid};
    f[n++] = (struct graph_fact){.filter = FILTER_GID, .num = gid};
    if (st) {
        f[n++] = (struct graph_fact){.filter = FILTER_VNODE_TYPE, .num = vnode_type(st->st_mode)};
        f[n++] = (struct graph_fact){.filter = FILTER_FILE_MODE, .num = st->st_mode & 07777};
    }
    return n;
}

/* ---- modifiers of rules ---- */

/* Translates Apple's errno and signal numbers to Linux's by name. */
static int linux_errno(int64_t apple)
{
    const char *name = vocab_modifier_constant_name(MOD_ERRNO, apple);
    for (int e = 1; name && e < 134; e++) {
        const char *known = errno_name(e);
        if (known && strcmp(known, name) == 0)
            return e;
    }
    return EPERM;
}

static int linux_signal(int64_t apple)
{
    const char *name = vocab_filter_constant_name(FILTER_SIGNAL_NUMBER, apple);
    for (int s = 1; name && s < NSIG; s++) {
        const char *known = signal_name(s);
        if (known && strcmp(known, name) == 0)
            return s;
    }
    return SIGKILL;
}

int event_modifiers(const struct graph *g, uint32_t node, int *signal)
{
    const struct graph_node *d = graph_node_at(g, node);
    int err = EPERM;
    *signal = 0;
    for (uint32_t i = 0; i < d->nmods; i++) {
        const struct graph_mod *mod = graph_mod_at(g, d->mods + i);
        if (mod->id == MOD_ERRNO)
            err = linux_errno(mod->num);
        if (mod->id == MOD_SEND_SIGNAL)
            *signal = linux_signal(mod->num);
    }
    return err;
}

/* ---- events ---- */

static void name_program(const struct event_sender *t, pid_t tid)
{
    struct event *e = t->event;
    char name[32], exe[EVENT_PATH];
    snprintf(name, sizeof(name), "%d/exe", tid);
    ssize_t n = readlinkat(t->proc, name, exe, sizeof(exe));
    if (n > 0) {
        size_t skip = (size_t)n >= EVENT_EXE ? (size_t)n - EVENT_EXE + 1 : 0;
        memcpy(e->exe, exe + skip, (size_t)n - skip);
    }
}

static uint32_t policy; /* one for the whole process */

void event_policy(uint32_t number)
{
    policy = number;
}

void event_send(const struct event_sender *t, const struct event_facts *what)
{
    struct event *e = t->event;
    size_t len = what->len < EVENT_PATH ? what->len : EVENT_PATH - 1;
    memset(e, 0, offsetof(struct event, path));
    e->time_ns = date_ns();
    e->tid = what->tid;
    e->pid = what->pid > 0 ? what->pid : what->tid;
    e->op = (uint16_t)what->op;
    e->nr = (uint16_t)what->nr;
    e->policy = policy;
    e->rule = what->verdict->rule;
    e->allow = what->verdict->allow;
    e->flags = what->verdict->flags;
    e->err = what->err;
    e->count = 1;
    name_program(t, what->tid);
    if (what->detail)
        snprintf(e->detail, sizeof(e->detail), "%s", what->detail);
    memcpy(e->path, what->path, len);
    e->path[len] = '\0';
    e->path_len = (uint32_t)len;
    /* The controller reads as long as it lives. Without it nobody is left to report to. */
    fd_pass_send(t->events, e, event_wire_size(e), -1);
}
