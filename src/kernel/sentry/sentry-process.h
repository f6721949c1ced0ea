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
 * Performs the plan's sentries. A separate process ("buckle-sentry") mounts sentries over the
 * guarded paths in the sandbox's mount table, serves them, and watches the names: a mount guards a
 * folder, not its name, so a later folder under a guarded name gets a sentry as well.
 *
 *   judge ── starts ──▶ sentry ── real folders ──▶ judge
 *   controller ── kills ──▶ sentry
 *
 * The judge acts on the real files under the sentries. The sentry opens them before it covers them
 * and passes them on, when the run begins and whenever something was replaced.
 */

/* ---- starting it (sentry-main.c) ---- */

struct sentries_task {
    const struct plan *plan;
    const struct graph *graph;
    const struct launch *launch; /* whose policy may be updated */
    pid_t controller;            /* its parent, with which it exits */
    int namespaces;  /* a process in the sandbox's user and mount namespaces (pidfd); -1: the caller
                        is in them */
    pid_t inside;    /* if so: that process, as seen from here; else 0 */
    int host_mounts; /* /proc/PID/mountinfo outside; -1: the caller is outside */
    int events;      /* socket to the controller */
    const struct name_record *record; /* of an earlier run's search, or NULL */
    int search; /* socket on which the judge asks about new names; -1: nothing is searched */
    int judge; /* socket to the judge, which sends a byte when its mounts are ready, and then struct
                  sentries_there */
};

/* The plan's sentries whose paths may exist; most do not. */
struct sentries_there {
    bool at[PLAN_SENTRIES];
};

/* Looks them up. Call it before any sentry is mounted. */
void sentries_look(const struct plan *p, struct sentries_there *out);

/* Starts it. Returns its pid or a negative errno. Call it in a child of the controller. */
pid_t sentries_start(const struct sentries_task *task);

/* ---- the judge's side (guarded-paths.c) ---- */

struct guarded_paths {
    const struct plan *plan; /* NULL: nothing is guarded */
    int from;                /* the sentry's socket */
    uint64_t dev;            /* of its file system */
    int32_t coming;          /* how many messages follow the first */
    int real[PLAN_SENTRIES]; /* the real file under each sentry (O_PATH), or -1 */
    uint32_t len[PLAN_SENTRIES];
    /* If names are searched for: */
    int bare;      /* the root of a mount table that has no sentries (O_PATH), or 0 */
    int search;    /* socket to ask the sentry about new names */
    uint32_t room; /* how many more names can get a sentry */
    bool changed;  /* the folders are not as an earlier run recorded them */
};

/* Whether a canonical path is a sentry's or is beneath one. */
bool sentries_cover(const struct plan *p, const char *path);
/* Waits until all sentries are mounted. Returns 0, or a negative errno with *step. Uses only
 * read(), which an installed filter allows. */
int guarded_paths_wait(struct guarded_paths *b, const struct plan *plan, int from,
                       enum launch_step *step);
/* Then receives the real files under them. Returns 0 or a negative errno. */
int guarded_paths_take(struct guarded_paths *b);
/* Receives, or waits for, one replaced file. Returns false if the sentry is gone. */
bool guarded_paths_receive(struct guarded_paths *b);
/* Opens the real file at a canonical path beneath a sentry. Returns a file descriptor (O_PATH) to
 * close; -ENOENT if no sentry is above it or nothing is there; or a negative errno. */
int guarded_paths_open(const struct guarded_paths *b, const char *path, size_t n);
/* Whether a canonical path is beneath a sentry that covers something. */
bool guarded_paths_covers(const struct guarded_paths *b, const char *path, size_t n);
/* What the kernel knows of a file without asking its server: its mount and inode. Returns 0 or a
 * negative errno. */
int guarded_paths_glance(int fd, struct statx *st);
/* Whether that is the sentries' file system. */
bool guarded_paths_shows(const struct guarded_paths *b, const struct statx *st);
/* If *fd, which has this canonical path, is a sentry's view, replaces it by the real file. Returns
 * 0 or a negative errno. */
int guarded_paths_swap(const struct guarded_paths *b, const char *path, size_t n, int *fd);

/* ---- names that are searched for ---- */

/* Whether a path is in a folder that is searched. */
bool guarded_paths_searched(const struct guarded_paths *b, const char *path, size_t n);
/* Opens what is at a canonical path under all sentries. Returns a file descriptor (O_PATH) or a
 * negative errno. */
int guarded_paths_open_bare(const struct guarded_paths *b, const char *path, size_t n);
/* Has the sentry look at a new name and, if it is a folder, at all below it. Call it before the
 * command can use it. An empty path only asks for b->room. Returns 0 or a negative errno. */
int guarded_paths_look(struct guarded_paths *b, const char *path, size_t n);

/* The most files and folders with a sentry of their own at a time. */
enum { SEARCH_NAMES_MAX = 2048 };

/* The answer to the path of a new name, whose sentry is mounted by then, if it needs one. An empty
 * question ("") only asks how many more there can be. */
struct search_answer {
    int32_t err; /* 0 or a negative errno */
    uint32_t room;
};

/* ---- messages between them ---- */

enum sentry_msg_kind {
    SENTRY_MSG_REAL,  /* comes with a file descriptor: the real file under this sentry */
    SENTRY_MSG_GONE,  /* there is none any more */
    SENTRY_MSG_READY, /* all sentries are mounted; comes first, then the real file under each */
    SENTRY_MSG_FAILED,
};

struct sentry_msg {
    int32_t kind;  /* enum sentry_msg_kind */
    int32_t index; /* REAL, GONE: index of the plan's sentry; READY: how many REAL follow */
    int32_t step;  /* FAILED: enum launch_step; READY: whether searched folders have changed */
    int32_t err;   /* FAILED: errno */
    uint64_t dev;  /* READY: of the sentries' file system */
};

#endif
