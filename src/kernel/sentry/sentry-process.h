/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SENTRY_SENTRY_PROCESS_H
#define BK_KERNEL_SENTRY_SENTRY_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "kernel/launch/launch.h"
#include "kernel/plan/plan.h"

/*
 * The plan's guards, performed. A process of its own ("buckle-sentry") puts sentries on the points
 * in the sandbox's mount table, serves them, and watches the names: a mount guards a folder, not
 * what it is called, so that what comes to lie under a guarded name later gets a sentry as well.
 *
 *   judge ── starts ──▶ sentry ── real folders ──▶ judge
 *   controller ── ends ──▶ sentry
 *
 * The judge acts on what lies behind the sentries. The sentry opens that before it stands in the
 * way and passes it on, when the run begins and whenever something was replaced.
 */

/* ---- starting it (sentry-main.c) ---- */

struct sentries_task {
    const struct plan *plan;
    const struct graph *graph;
    const struct launch *launch; /* whose policy may be renewed */
    pid_t controller;            /* whose child it becomes, and with whom it ends */
    int namespaces; /* a process whose user and mount namespaces are the sandbox's (pidfd); -1: the
                       caller's are */
    pid_t inside;   /* then: that process, as seen from here; else 0 */
    int events;     /* socket to the controller */
    int judge;      /* socket to the judge, which sends a byte when its mounts are laid, and then
                        struct sentries_there */
};

/* Under which of the plan's guards there may be something to guard; most names do not exist. */
struct sentries_there {
    bool at[PLAN_SENTRIES];
};

/* Looks, before a guard stands anywhere. */
void sentries_look(const struct plan *p, struct sentries_there *out);

/* Starts it. Its pid, or a negated errno. To be called by a child of the controller. */
pid_t sentries_start(const struct sentries_task *task);

/* ---- the judge's side (guarded-paths.c) ---- */

struct guarded_paths {
    const struct plan *plan; /* NULL: nothing is guarded */
    int from;                /* the sentry's socket */
    uint64_t dev;            /* of its file system */
    int32_t coming;          /* how many messages follow upon the first */
    int real[PLAN_SENTRIES]; /* what lies behind each guard (O_PATH), or -1 */
    uint32_t len[PLAN_SENTRIES];
};

/* Whether a canonical path is a guard's, or lies beneath one. */
bool sentries_cover(const struct plan *p, const char *path);
/* Waits until all guards stand. 0, or a negated errno with *stage. With nothing but read(), which a
 * filter that stands already leaves alone. */
int guarded_paths_wait(struct guarded_paths *b, const struct plan *plan, int from,
                       enum launch_step *step);
/* Then takes what lies behind them. 0 or a negated errno. */
int guarded_paths_take(struct guarded_paths *b);
/* Hears of one thing that was replaced, or waits for it; false when the sentry is gone. */
bool guarded_paths_hear(struct guarded_paths *b);
/* What really lies under a canonical path that leads behind a guard: a descriptor (O_PATH) to
 * close; -ENOENT when it does not lead there or there is nothing; or a negated errno. */
int guarded_paths_open(const struct guarded_paths *b, const char *path, size_t n);
/* Whether a canonical path leads behind a guard that something lies behind. */
bool guarded_paths_covers(const struct guarded_paths *b, const char *path, size_t n);
/* What the kernel knows of a file without asking whoever serves it: where it lies. 0 or a negated
 * errno. */
int guarded_paths_glance(int fd, struct statx *st);
/* Whether that is a sentry's file system. */
bool guarded_paths_shows(const struct guarded_paths *b, const struct statx *st);
/* What is pinned in *fd, with this canonical path, may be a sentry's view: then *fd becomes what
 * lies behind it. 0 or a negated errno. */
int guarded_paths_swap(const struct guarded_paths *b, const char *path, size_t n, int *fd);

/* ---- what passes between them ---- */

enum sentry_msg_kind {
    SENTRY_MSG_REAL,  /* a descriptor comes with it: what lies behind this guard */
    SENTRY_MSG_GONE,  /* nothing does any more */
    SENTRY_MSG_READY, /* all guards stand; comes first, and then what lies behind each */
    SENTRY_MSG_FAILED,
};

struct sentry_msg {
    int32_t kind;  /* enum sentry_msg_kind */
    int32_t index; /* REAL, GONE: in the plan's guards; READY: how many REAL follow */
    int32_t step;  /* FAILED: enum launch_step */
    int32_t err;   /* FAILED: errno */
    uint64_t dev;  /* READY: of the sentries' file system */
};

#endif
