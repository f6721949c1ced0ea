/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_LAUNCH_H
#define BK_KERNEL_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kernel/plan/plan.h"
#include "report/event.h"

/*
 * Performing a plan: runs one command and everything it starts, until the command ends.
 *
 *   controller ──▶ init, the sandbox's first process, which holds its namespaces
 *        └───────▶ judge ──▶ the command
 *
 * The controller is the calling process: it stays outside, hears events and passes signals on. The
 * judge enters the namespaces, confines itself, starts the command one layer further in and
 * answers its judged calls. Whoever of them dies takes the command along.
 *
 * The policy is needed in the judge. Where it is not at hand yet, the judge makes it: it starts
 * while there is little memory to copy, and the controller stays small.
 */
struct init;

/* How a command is to be confined. */
struct launch_policy {
    const struct plan *plan;
    const struct graph *graph; /* what the plan was made from */
};

struct upstream;
struct consent_question;

struct launch {
    struct launch_policy policy; /* or empty, and then: */
    /* Called in the judge's process while it is still as unconfined as the caller: fills *out, or
     * tells the person what is wrong and answers -1 (the launch fails in STEP_POLICY). */
    int (*prepare)(void *run, struct launch_policy *out);
    /* Called in the caller's process while the judge is busy with that; -1 ends the launch. */
    int (*meanwhile)(void *run, struct bk_err *err);
    const struct host *host; /* what policy is, or will be, made for */
    struct init *init;       /* laid already (init.h), taken over whatever happens; or NULL */
    char *const *argv;
    char *const *env;
    const char *cwd;
    const char *tmpdir;  /* the command's, or NULL; there once `meanwhile` has been called */
    const char *start;   /* where the command begins; NULL: there */
    const int *keep_fds; /* besides 0, 1 and 2 */
    size_t nkeep;
    const char *connector;           /* path of a program of which `connect HOST PORT` is a way
                                      * through the sandbox's proxies (buckle itself), or NULL */
    const struct upstream *upstream; /* the proxy that connections leave through, or NULL */
    bool late_names;                 /* denied names are found, connections to them refused */
    int cgroup;                      /* a control group to start in, or -1 */
    uint64_t max_memory;             /* bytes of address space a process; 0: as it is */
    uint32_t max_procs;              /* 0: as it is */
    uint32_t timeout_ms;             /* 0: none */
    bool wait_all;                   /* background processes may finish */
    bool leave_judge;    /* the caller ends right away: return without waiting for what the kernel
                             still cleans up. Nothing of the command's is left; our own processes may
                             be dying, or end with the caller */
    bool no_job_control; /* a command that stops does not stop us: nobody's shell waits for that */
    bool give_stdio;     /* let go of 0 and 1, so that the command's readers see it close them */
    void (*on_event)(void *arg, const struct event *e); /* in the calling thread */
    /* Called in the calling thread whenever there is something to be read from `hears`, until it
     * ends; NULL: nothing is listened to besides. It may call launch_update(). */
    void (*on_heard)(void *arg);
    int hears;
    /* Descriptors by which the person speaks to the caller: no process that acts for the command
     * keeps one. */
    const int *user_fds;
    size_t nuser_fds;
    /* For a policy that can change: makes a graph of what launch_update() was given, in each of the
     * processes that enforce it. NULL when that is impossible; then the old one stays. */
    struct graph *(*compile)(void *run, const void *bytes, size_t n);
    /* Somebody wants to connect where no rule says yes or no; NULL: the answer is no. Called in the
     * calling thread, too, for questions and again when one is withdrawn. Answered by
     * consent_answer(channel, q->id, …), from here or later from any thread, until launch_run()
     * returns. */
    void (*on_question)(void *arg, const struct consent_question *q, int channel);
    uint32_t ask_ms; /* that an answer is waited for; 0: CONSENT_MS */
    void *arg;       /* for on_event, on_heard and on_question */
    void *run;       /* for prepare, meanwhile and compile */
};

/* What a launch was doing when it failed; also says what to try without. */
enum launch_step {
    STEP_NONE,
#define STEP(id, words, hint) STEP_##id,
#include "kernel/shared/steps.def"
#undef STEP
    STEP_COUNT,
};

struct launch_end {
    int status; /* as waitpid() gives it */
    bool timed_out;
    enum launch_step step; /* on failure */
    int sys;               /* errno of that stage */
};

/* 0 when the command ran and ended; -1 when it could not be started or the judge was lost. Call
 * from a thread that lives as long as the launch: the judge ends with the thread that made it. */
int launch_run(const struct launch *l, struct launch_end *end, struct bk_err *err);

/* For the launch that runs in this process, from on_heard and its like. A signal for the command:
 * 0, or -ESRCH while there is none; and its end, as if its time were over: politely first, or at
 * once (end->timed_out). */
int launch_signal(int sig);
void launch_cancel(bool at_once);

/* Gives the launch that runs in this process another policy. number as in struct event. 0 or a
 * negated errno: -ESRCH when none runs that could take one. */
int launch_update(uint32_t number, const void *bytes, size_t n);

#endif
