/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SHARED_SETUP_H
#define BK_KERNEL_SHARED_SETUP_H

#include <linux/filter.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "kernel/launch/init.h"
#include "kernel/launch/launch.h"
#include "kernel/launch/walls.h"
#include "kernel/sentry/sentry-process.h"

/* What the controller and the judge share. The judge sends messages, one write each. */
enum status_kind {
    STATUS_FAILED,
    STATUS_SENTRY,
    STATUS_HELD, /* the command's process waits for launch_release() */
    STATUS_STARTED,
    STATUS_STOPPED,
    STATUS_EXITED,
    STATUS_FINISHED, /* work that had to wait until the sandbox was empty is done */
};

enum {
    STARTED_KEPT = 1,    /* with a policy of an earlier run */
    STARTED_SEARCHED = 2 /* what was searched has changed since the record was made */
};

/* What is left after the command has exited. */
enum {
    EXITED_ALONE = 1 /* no process of the sandbox */,
    EXITED_UNFINISHED = 2 /* FINISHED follows */
};

struct status_msg {
    int32_t kind;  /* enum status_kind */
    int32_t step;  /* FAILED: the step; STARTED, EXITED: what is said above */
    int32_t value; /* FAILED: errno; SENTRY, STARTED: pid; STOPPED, EXITED: wait status */
};

enum { FILTER_MAX = 4096 };

struct setup {
    const struct launch *launch;
    const struct plan *plan; /* set once the judge has it, as well as the graph */
    const struct graph *graph;
    bool kept;                        /* both come from an earlier run */
    const struct name_record *record; /* of an earlier run's search, or NULL */
    char *const *env;                 /* the command's */
    const struct init *init;          /* NULL: the judge makes what namespaces it can */
    struct init taken;                /* set once the controller has reported it */
    pid_t controller;
    uid_t uid;
    gid_t gid;
    struct id_maps maps;        /* without init, and with a user namespace */
    int host_mounts;            /* without init: /proc/PID/mountinfo outside; else -1 */
    int status;                 /* pipe to the controller */
    int events;                 /* socket to the controller */
    int asks;                   /* the gate's socket to the controller, or -1 */
    int questions;              /* the judge's, or -1 */
    int sentries;               /* the judge's socket to the sentry, or -1 */
    int search;                 /* another one, for new names; -1: nothing is searched */
    int hold[2];                /* where a held command waits, and the controller's end; or -1 */
    sigset_t mask;              /* the caller's, for the command */
    struct rlimit descriptors;  /* the same */
    struct inherited inherited; /* file descriptors that the command must not inherit */
    struct sock_filter filter[FILTER_MAX];
    size_t nfilter;
    uint64_t pass;    /* what the command shows to be let through; 0: nothing is checked */
    char first[4096]; /* if so: its path, already judged */
};

/* Whether our own processes, when only they are left, exit with the controller and not before.
 * Earlier they would only take processor time that the controller needs to exit. */
static inline bool launch_leaves_all(const struct launch *l)
{
    return l->leave_judge && (!l->wait_all || l->on_exit) && l->cgroup < 0;
}

/* Whether the launch goes on with background processes, and on_exit reports the end of the command.
 */
static inline bool launch_stays(const struct launch *l)
{
    return l->leaves || (l->wait_all && l->on_exit);
}

/* Main function of the judge's process. */
void judge_main(struct setup *s) __attribute__((noreturn));

/* start-command.c: starts the command's process. It shares our memory until it execs, and leaves
 * the filter's listener in our file descriptor table. Returns 0 with *pid and *listener (-1 if
 * nothing is judged), or a negative errno with *step. */
struct command {
    const struct setup *s;
    int walls, scope; /* Landlock rulesets, or -1 */
    int pids;         /* the pid namespace that the command enters, or -1 */
    int net;          /* the network namespace that it entered, for the judge to join; or -1 */
    struct guarded_paths
        *guarded; /* sentries that are still being mounted, which it waits for; or NULL */
};
int command_start(struct command *c, pid_t *pid, int *listener, enum launch_step *step);

/* reaper.c replaces a pid namespace where there is none. What it reports to the judge: */
enum reaper_kind { REAPER_COMMAND, REAPER_FAILED, REAPER_STOPPED, REAPER_EXITED };

struct reaper_message {
    int32_t kind;     /* enum reaper_kind */
    int32_t value;    /* COMMAND: its pid; FAILED: errno; else a wait status */
    int32_t listener; /* COMMAND: whether a listener comes with the message */
    int32_t step;     /* FAILED */
};

enum { REAPER_ORPHANED = SIGUSR2 }; /* tells it that the judge died */

/* Kills our children, and the orphans that become our children, until there are none. */
void reaper_kill_all(int proc);

/* Main function of the reaper's process. All signals are blocked. */
void reaper_main(struct command *c, int proc, int to) __attribute__((noreturn));

#endif
