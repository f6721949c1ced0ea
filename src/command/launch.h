/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_COMMAND_LAUNCH_H
#define BK_COMMAND_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "command/plan-options.h"
#include "report/event.h"

/*
 * How one command is run, as every front end describes it, and how it ended. Plain data: each
 * system performs it by its own means (kernel/launch/launch.h, macos/macos-run.h) and ignores what
 * it has no use for.
 */
struct init;
struct plan;
struct host;
struct graph;

/* Folders for which a launch prepares layers before it knows the policy (kernel/launch/layers.h).
 */
enum { LAYERS_PREPARED = 2 };

/* How a command is to be confined. */
struct launch_policy {
    const struct plan *plan;
    const struct graph *graph;        /* what the plan was made from */
    bool kept;                        /* both come from an earlier run */
    const struct name_record *record; /* of a search (kernel/shared/name-search.h), or NULL */
};

struct parent_proxies;
struct handling;
struct secrets;
struct consent_question;
struct launch_end;

/* A file that the command sees with another text. */
struct launch_cover {
    const char *path, *text;
    size_t n;
};

struct launch {
    struct launch_policy policy; /* or empty, and then: */
    /* Called in the judge's process while it is as unconfined as the caller. Fills *out, or reports
     * the error to the user and returns -1 (the launch fails in STEP_POLICY). */
    int (*prepare)(void *run, struct launch_policy *out);
    /* Called in the caller's process while the judge does that; -1 ends the launch. */
    int (*meanwhile)(void *run, struct bk_err *err);
    const struct host *host; /* the host that the policy is, or will be, planned for */
    struct init *init;       /* started already (init.h), always taken over; or NULL */
    char *const *argv;
    char *const *env;
    const char *cwd;
    const char *tmpdir; /* the command's, or NULL; must exist once `meanwhile` has been called */
    const char *const *prepared;   /* folders that probably get a layer (layers.h), or NULL */
    const char *layers;            /* the folder of this project's kept layers, or NULL */
    const char *world;             /* the folder of a world's layers, or NULL (world/world.h) */
    const char *const *world_real; /* then: canonical paths that are no part of it */
    size_t nworld_real;
    int layer_server;    /* a process that has layers for it (layer-server.h); 0: none */
    const char *start;   /* where the command starts; NULL: in cwd */
    const int *keep_fds; /* besides 0, 1 and 2 */
    size_t nkeep;
    const char *connector; /* path of a program whose `connect HOST PORT` leads through the
                              sandbox's proxies (buckle itself), or NULL */
    /* For a sandbox that a command asked for, by the run around it: the folder that the user works
     * in and the path of the record of own folders ("": none). NULL: cwd, and the environment's. */
    const char *users_folder, *own_record;
    struct secrets *secrets;         /* credentials for the gate, or NULL */
    const struct handling *handling; /* of what is allowed, by the gate; or NULL */
    const struct launch_cover *covers;
    size_t ncovers;
    const struct parent_proxies *parents; /* the proxies that connections leave through, or NULL */
    bool linked;                          /* the command belongs to a session: */
    int link;                             /* the socket that leads there (net/session-link.h) */
    bool tells_hosts;    /* on_event gets the first connection to each host (EVENT_REACHED) */
    bool late_names;     /* denied names resolve, and connections to them are refused */
    int cgroup;          /* a cgroup to start in, or -1 */
    uint64_t max_memory; /* bytes of address space for each process; 0: unchanged */
    uint32_t max_procs;  /* 0: unchanged */
    uint32_t timeout_ms; /* 0: none */
    bool wait_all;       /* background processes may finish */
    /* Background processes go on, without a pid namespace, and so does the launch, in a process of
     * its own. */
    bool leaves;
    /* With either of the two: called when the command has ended and others may go on; before it
     * on_last_words, which may still write to the command's terminal. */
    void (*on_exit)(const struct launch_end *end);
    void (*on_last_words)(void *arg, const struct launch_end *end);
    pid_t caller;     /* then: the process that waits for the command, in the same process group */
    bool leave_judge; /* the caller exits right away: return without waiting for the kernel's
                         cleanup. Nothing of the command is left; our own processes may be dying, or
                         exit with the caller */
    bool no_job_control; /* a stopping command does not stop us: no shell waits for that */
    bool give_stdio; /* close 0 and 1, so that the command's readers see end of file when it closes
                        them */
    void (*on_event)(void *arg, const struct event *e); /* in the calling thread */
    /* Called in the calling thread whenever `hears` is readable, until end of file; NULL: nothing
     * else to listen to. It may call launch_update(). */
    void (*on_input)(void *arg);
    int input_fd;
    /* A socket to which a process beside the sandbox reports events, -1 once there is none; NULL:
     * there is no such process. It may be opened in `meanwhile`. */
    const int *other_events;
    /* File descriptors by which the user talks to the caller: no process that acts for the command
     * keeps one. */
    const int *user_fds;
    size_t nuser_fds;
    /* For a policy that can change: makes a graph from the bytes of launch_update(), in each
     * process that enforces it. Returns NULL on failure; then the old policy stays. */
    struct graph *(*compile)(void *run, const void *bytes, size_t n);
    /* Called in the calling thread for a connection that no rule decides, and again when the
     * question is withdrawn. NULL: the answer is no. Answer with consent_answer(channel, q->id, …),
     * from here or later from any thread, until launch_run() returns. */
    void (*on_question)(void *arg, const struct consent_question *q, int channel);
    /* The same for a call that is denied only because of a class of protected names. */
    void (*on_protected)(void *arg, const struct consent_question *q, int channel);
    /* For sandboxes inside this one (nest.h). The first gets the asker's pidfd and the channel to
     * it, which stay the caller's, and init (NULL if there is none). Returns a descriptor to poll,
     * or -1; the second is called when it is readable. NULL: no sandbox inside this one. */
    int (*on_nest)(void *run, int asker, int channel, const struct init *init);
    void (*on_nested)(void *run);
    /* Called when the command has started, and instead of stopping with it when it stops. NULL:
     * nothing else to do. */
    void (*on_start)(void *arg);
    /* The same for the caller that prepared the policy. */
    void (*started)(void *run, bool kept, bool searched);
    void (*on_stop)(void *arg);
    /* The command's process waits right before its exec until launch_release() says what to run,
     * and argv counts only for the policy. Called with `arg` when it waits. */
    void (*on_held)(void *arg);
    uint32_t ask_ms; /* how long to wait for an answer; 0: CONSENT_MS */
    void *arg;       /* for on_event, on_input, on_question, on_protected, on_start and on_stop */
    void *run;       /* for prepare, meanwhile, started, compile, on_nest and on_nested */
};

/* What a held command is (launch_release()). */
enum { LAUNCH_ORDER_FDS = 4 };
struct launch_order {
    char *const *argv;
    char *const *env;  /* NAME=value: replaces a variable; NAME: removes it. Or NULL */
    const char *start; /* where it starts; NULL: where the launch said */
    int fds[LAUNCH_ORDER_FDS], as[LAUNCH_ORDER_FDS]; /* descriptors, and their numbers there */
    size_t nfds;
};

/* The step in which a launch failed. Its remedy or hint is in steps.def. */
enum launch_step {
    STEP_NONE,
#define STEP(id, words, remedy, hint) STEP_##id,
#include "command/steps.def"
#undef STEP
    STEP_COUNT,
};

struct launch_end {
    int status; /* as waitpid() gives it */
    bool timed_out;
    enum launch_step step; /* on failure */
    int sys;               /* errno of that step */
};

#endif
