/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_JUDGE_H
#define BK_KERNEL_JUDGE_JUDGE_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "graph/eval.h"
#include "kernel/host/file-names.h"
#include "kernel/host/kabi.h"
#include "kernel/judge/created-repos.h"
#include "kernel/judge/git-judge.h"
#include "kernel/judge/kept-socket.h"
#include "kernel/judge/own-object.h"
#include "kernel/judge/own-socket.h"
#include "kernel/plan/judged-calls.h"
#include "kernel/plan/plan.h"
#include "kernel/sentry/sentry-process.h"
#include "kernel/shared/event-send.h"
#include "report/event.h"

/*
 * The judge answers the target's judged calls. It never lets the kernel go on with a call whose
 * arguments the target could still change: it copies the arguments, pins the objects they name,
 * asks the policy about the pinned objects' canonical paths, and performs the call itself.
 *
 * One thread does all of it, so that to the sandboxed processes every judged call is atomic: what a
 * check saw is what the action meets. Calls that may block (FIFOs, connecting) are tried, and tried
 * again (waiting-calls.h).
 *
 * Nothing here allocates per event. The judge's working directory is the host's procfs, whose
 * "self/fd/N" names any object that is pinned in descriptor N.
 */

enum { PATH_BYTES = 4096, XATTR_BYTES = 65536, WATCHED = 128, PROGRAMS = 128 };

/* A file that may be executed. */
struct program {
    dev_t dev;
    ino_t ino;
};

/* A process that is about to execute something, and what it has been until then (handle-exec.c). */
struct watched {
    pid_t pid, tid; /* the thread that executes; it becomes the process's first */
    int pidfd;
    bool any; /* a script, or unreadable: its interpreter will run */
    uint64_t since, stack;
    dev_t dev;
    ino_t ino;
};

/* What thread-cache.c remembers of a thread. */
struct cached_thread {
    pid_t tid;     /* 0: of nobody */
    int folder;    /* its /proc/TID */
    uint64_t seen; /* the last request during which the folder was found alive */
    uint64_t sure; /* the last one that was valid after that */
    bool has_umask;
    mode_t umask;
    uint64_t umask_as_of;
};

/* A call of umask() that the kernel goes on with. */
struct changing {
    pid_t tid;
    int folder;
    mode_t mask;
};

enum { KNOWN_THREADS = 64, CHANGING_MAX = 16 };

/* A thread that called, and its descriptor (pidfd-cache.c). */
struct held_pidfd {
    pid_t tid; /* 0: of nobody */
    int fd;
};

enum { HELD_PIDFDS = 16 };

/* A socket of ours that has the name of one of the target's (handle-datagram.c). */
struct twin {
    int fd;
    ino_t of;
};

enum { TWINS = 32 };

/* What the kernel looks at when somebody uses files. */
enum { CREDS_GROUPS = 1024 };
struct creds {
    uid_t real_uid, fsuid;
    gid_t real_gid, fsgid;
    uint64_t permitted, caps;
    uint32_t ngroups;
    gid_t groups[CREDS_GROUPS];
};

struct judge {
    int listener;
    int events;           /* socket to the controller */
    int proc;             /* the host's /proc, also the working directory */
    int inner_proc;       /* the sandbox's own; -1 when it cannot be opened */
    dev_t own_proc_dev;   /* of the /proc that the target sees */
    blksize_t proc_block; /* of every procfs */
    bool pid_ns;          /* the target lives in a pid namespace of its own */
    bool scoped;          /* Landlock keeps signals inside */
    bool spaces;          /* the target may make user namespaces, and change its root in them */
    bool handed;          /* the target's standard input was a terminal */
    bool away;            /* it took the terminal from a job that others are in, */
    unsigned taken_back;  /* and had it taken back so often */
    bool joins;           /* what enters a namespace of the target is out of its reach even so */
    uid_t uid;
    bool who_matters; /* the policy asks who calls */
    uid_t caller_uid; /* then: whoever calls now; else everybody */
    gid_t caller_gid;
    char program[PATH_BYTES]; /* then: what the caller runs */
    size_t program_len;
    bool creds_vary;  /* somebody inside has become somebody else */
    bool creds_known; /* person is as whom we act */
    bool looks_in;    /* we have CAP_SYS_PTRACE */
    struct creds person;
    const struct guarded_paths *behind; /* what lies behind the plan's guards */
    struct file_names *naming;          /* what else files are called; NULL: nothing */
    struct mounts_view *mounts; /* of the sandbox, with those that we made; NULL: the same */
    bool mounts_change;         /* some did: one may have been taken away */
    const struct graph *graph;
    struct graph_cache *cache;
    struct graph *updated;                  /* the graph, when it is not the first */
    uint8_t handler[KABI_LAST_SYSCALL + 1]; /* enum judged_handler by number */
    mode_t umask;                           /* the one in force in this process */
    bool names_judged; /* nothing inside can make an object appear under a name without us */

    struct cached_thread known[KNOWN_THREADS]; /* by the thread's number */
    struct held_pidfd tasks[HELD_PIDFDS];
    struct changing changing[CHANGING_MAX];
    size_t nchanging;
    uint64_t umask_changes;
    bool umask_unsteady; /* what was read once cannot be relied on later */

    /* Folders named .git that the command itself made: default.sb lets it configure those. */
    struct created_repos repositories;
    struct git_judge git;
    int64_t started;                        /* when judging began, in seconds of CLOCK_REALTIME */
    struct own_sockets sockets;             /* what it listens at: it may connect to these */
    bool own_ipc;                           /* System V objects are the sandbox's own */
    struct own_objects objects[SYSV_KINDS]; /* else: those that are (handle-sysv.c) */
    bool own_net;                           /* abstract names are the sandbox's own */
    bool alone;                             /* and nothing leads out of it */
    bool dials;                             /* TCP leads to the gate (handle-dial.c) */
    const struct gate_process *gate;        /* then */
    bool sockets_judged;                    /* system-socket */
    bool makes_sockets;       /* the target's are made here: none can be taken from it */
    struct kept_sockets kept; /* then */
    bool datagrams;           /* it may have Unix datagram sockets */
    bool again;               /* the call was made before, and waits (waiting-calls.h) */
    struct twin twins[TWINS]; /* what those send through (handle-datagram.c) */
    unsigned ntwins;
    const struct pinned *moving, *moving_to; /* while a move is judged; else NULL */

    struct watched watched[WATCHED];
    size_t nwatched;
    int first_cwd;    /* the command's working directory, before it runs */
    bool exec_judged; /* whoever calls runs a program that the policy knows */
    struct program programs[PROGRAMS];
    struct program
        own_program; /* applied: what the process was running, whatever the policy says */
    pid_t applied;   /* the process that sandboxed itself; 0: a command was run */
    int applied_fd;  /* then: a pidfd of it */

    struct event event;                /* the one being filled */
    char path[2][PATH_BYTES + 1];      /* strings copied from the target */
    char canonical[2][PATH_BYTES * 2]; /* names that the policy judges */
    char value[XATTR_BYTES];
};

/* The call being answered. */
struct request {
    uint64_t id;
    pid_t tid;
    int nr;
    uint64_t args[6];
};

/* How a handler ended. value is what the call returns, or a negated errno. */
struct answer {
    bool sent;  /* the handler has answered, or will later (waiting-calls.h) */
    bool go_on; /* the kernel is to perform the call: only where it reads nothing of the target's
                   that could have changed since */
    int64_t value;
};

static inline struct answer answer_value(int64_t value)
{
    return (struct answer){.value = value};
}

static inline struct answer answer_errno(int err)
{
    return (struct answer){.value = -(int64_t)err};
}

/* Registers were copied when the call was made: the kernel acts on what was judged. */
static inline struct answer answer_go_on(void)
{
    return (struct answer){.go_on = true};
}

/* The same for a verdict: 0, or a negated errno. */
static inline struct answer answer_verdict(int err)
{
    return err < 0 ? answer_value(err) : answer_go_on();
}

/* Sets this process's umask to the target's, for calls that create. 0 or a negated errno. */
int judge_take_umask(struct judge *w, const struct request *r);

/* For threads besides the judge's own, before anything else: gives this one a working directory of
 * its own (the judge's moves about), and has its waiting interrupted (EINTR) now and then. 0, with
 * a timer to delete, or a negated errno. */
int judge_look_up_often(const struct judge *w, timer_t *timer);

/* Answers a call; gives fd to the target as its result (closing ours) or fails the call. Safe to
 * call from any thread. */
void judge_send(int listener, uint64_t id, int64_t value);
void judge_send_fd(int listener, uint64_t id, int fd, bool cloexec);

/* Performs or refuses a call, and answers it unless it waits. */
void judge_try(struct judge *w, const struct request *r);

/* Receives one call that waits, and answers it. */
void judge_answer(struct judge *w);

/* The policy from now on; what was renewed before is freed. 0 or -ENOMEM, and the old one stays. g
 * is taken over. */
int judge_update(struct judge *w, struct graph *g);

/* w is zeroed: it is large, and touching all of it would take longer than the rest. */
int judge_init(struct judge *w, const struct plan *plan, const struct graph *g, int listener,
               int events, int proc, bool pid_ns);

#endif
