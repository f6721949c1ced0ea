/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_JUDGE_H
#define BK_KERNEL_JUDGE_JUDGE_H

#include <linux/seccomp.h>
#include <sys/stat.h>
#include <time.h>

#include "graph/eval.h"
#include "kernel/host/file-names.h"
#include "kernel/host/kabi.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/caller-folder.h"
#include "kernel/judge/commands.h"
#include "kernel/judge/creds.h"
#include "kernel/judge/foreground.h"
#include "kernel/judge/git-judge.h"
#include "kernel/judge/own-folders.h"
#include "kernel/judge/handle-datagram.h"
#include "kernel/judge/handle-exec.h"
#include "kernel/judge/handle-socket.h"
#include "kernel/judge/link-set.h"
#include "kernel/judge/own-file.h"
#include "kernel/judge/own-object.h"
#include "kernel/judge/pidfd-cache.h"
#include "kernel/judge/procfs.h"
#include "kernel/judge/questions.h"
#include "kernel/judge/relation.h"
#include "kernel/judge/request.h"
#include "kernel/judge/thread-cache.h"
#include "kernel/plan/judged-calls.h"
#include "kernel/plan/plan.h"
#include "kernel/sentry/sentry-process.h"
#include "kernel/shared/event-send.h"
#include "report/event.h"

/*
 * The judge answers the target's judged calls. It never lets the kernel perform a call whose
 * arguments the target can still change. Instead it copies the arguments, pins the objects they
 * name, asks the policy about the canonical paths of those objects, and performs the call itself.
 *
 * One thread does all of this, so every judged call is atomic to the sandboxed processes: nothing
 * changes between check and action. The judge tries calls that may block (FIFOs, connecting)
 * without waiting, and tries them again later (waiting-calls.h).
 *
 * Nothing here allocates per event. The judge's working directory is the host's procfs, where
 * "self/fd/N" names the object pinned in descriptor N.
 */

enum { XATTR_BYTES = 65536 };

/* Each module declares its own state; this struct only joins them. */
struct judge {
    int listener;
    int events;         /* socket to the controller */
    int proc;           /* the host's /proc, also the working directory */
    uid_t uid;          /* of the judge */
    bool pid_ns;        /* the sandbox has its own pid namespace, */
    unsigned pid_depth; /* so many levels below ours: 1, or more inside other sandboxes */
    bool scoped;        /* Landlock keeps signals inside */
    bool makes_user_ns; /* the target may make user namespaces, and change its root there */
    bool joins_user_ns; /* a process of ours that joins one of those is out of the target's reach */
    bool foreign_init;  /* pid 1 of its pid namespace is a process of the target's, not ours */
    /* looks at a call first; true: it has answered. NULL: nothing does */
    bool (*first_look)(struct judge *j, const struct request *r);
    bool audit;        /* what the policy denies is reported, and allowed */
    bool nests;        /* the controller starts sandboxes inside this one (handle-nest.c) */
    bool names_judged; /* nothing inside can create a name without the judge */
    bool removing;     /* this call can only remove a name */
    bool again;        /* this call is being retried (waiting-calls.h) */
    mode_t umask;      /* in force in this process */
    struct procfs_view procfs;
    struct terminal_use terminal;
    struct caller caller;
    struct creds_in_use creds;

    struct guarded_paths *guarded; /* what is behind the plan's sentries */
    const struct layers *layers;   /* where writing stays private; NULL: nowhere */
    /* The TMPDIR of a command that writes to it and to layers without asking; else NULL. There,
     * names are protected when they are kept (world/keep.h). */
    const char *unjudged;
    struct file_names *names;   /* other names of files; NULL: none */
    struct mounts_view *mounts; /* of the sandbox, with our own; NULL: same as outside */
    bool mounts_changed;        /* so some may have been unmounted */
    bool absent;                /* this call is refused about a process outside */

    const struct graph *graph;
    struct graph_cache *cache;
    struct graph *updated;                  /* the graph, if it is not the first */
    uint8_t handler[KABI_LAST_SYSCALL + 1]; /* enum judged_handler by call number */

    struct thread_cache threads;
    struct caller_folders folders;
    struct pidfd_cache pidfds;
    struct git_judge git;
    struct own_folders own_folders;
    struct own_files own_files;
    struct link_sets links;
    struct questions questions;
    struct sysv_use sysv;
    struct socket_use net;
    struct twins twins;
    struct watched_execs execs;
    struct command_use commands;
    struct applied applied;

    struct event event;                /* buffer for the next one */
    char path[2][PATH_BYTES + 1];      /* strings copied from the target */
    char canonical[2][PATH_BYTES * 2]; /* paths that the policy judges */
    char value[XATTR_BYTES];
};

/* j must be zeroed: it is large, and clearing it here would take longer than the rest. Returns 0 or
 * -1. */
struct judge_start {
    int listener, events, proc;
    int inner; /* the target's own procfs; -1: none; 0: at /proc */
    bool pid_ns;
    int record;      /* of own folders, or -1; taken over */
    const char *cwd; /* where the user started the run, or "" */
};
int judge_init(struct judge *j, const struct plan *plan, const struct graph *g,
               const struct judge_start *from);

/* Replaces the policy; takes over g. Returns 0, or -ENOMEM with the old policy still in force. */
int judge_update(struct judge *j, struct graph *g);

/* Receives one call from the listener and answers it. */
void judge_next(struct judge *j);

/* Performs or refuses a call. Answers it, unless it has to wait. */
void judge_call(struct judge *j, const struct request *r);

/* Sets this process's umask to the target's, before creating something. Returns 0 or a negative
 * errno. */
int judge_take_umask(struct judge *j, const struct request *r);

/* Every thread besides the judge's must call this first. It gives the thread its own working
 * directory, because the judge changes its own, and a timer that interrupts blocking calls (EINTR).
 * Returns 0 with the timer to delete, or a negative errno. */
int judge_interrupt_waits(const struct judge *j, timer_t *timer);

#endif
