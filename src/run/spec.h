/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_SPEC_H
#define BK_RUN_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/consent.h"
#include "policy/run-source.h"
#include "report/event.h"
#include "sbpl/sbpl.h"

struct tmpdir;

/*
 * What every front end makes of what a person wrote: SBPL, and how to run a command under it. Plain
 * data, which belongs to who made it and outlives the run.
 */
struct run_spec {
    /* The policy: these after one another. */
    const struct run_source *sources;
    size_t nsources;
    const struct sbpl_param *params; /* besides CWD, TMPDIR, HOME and ORDINARY, unless bare */
    size_t nparams;

    /* The command. */
    char *const *argv;
    const char *cwd;   /* absolute; what the policy takes for the working directory */
    const char *start; /* where the command begins; NULL: there */

    /* Its environment: the caller's, less what looks like a secret and is not kept. */
    const char *const *keep_env; /* names */
    size_t nkeep_env;
    const char *const *set_env; /* NAME=value; win over everything */
    size_t nset_env;
    const char *tmpdir; /* a folder that stays, made when missing; NULL: one of the run's own */
    const struct tmpdir *scratch; /* which then is this, already named; NULL: any */
    bool whole_env;               /* nothing is removed from it */
    bool bare; /* nothing of ours is added either: no TMPDIR, no variable, no parameter */
    const int *keep_fds;
    size_t nkeep_fds;

    /* How it is enforced. */
    bool watch_net;  /* denied hosts are told by name, even where none is allowed */
    bool late_names; /* denied names are found, and connections to them refused */
    bool updatable, grantable, accept_weaker, keep_userns, strict_reads;
    bool core_dumps;      /* what crashes may leave its memory behind */
    bool no_masks;        /* what is denied fails, and is never merely hidden (plan.h) */
    uint64_t caps;        /* kept as root */
    const char *upstream; /* URL of the proxy that connections leave through, or NULL */

    /* Limits. 0: none */
    uint64_t max_memory;
    uint32_t max_procs, timeout_ms;
    bool wait_all; /* background processes may finish */

    /* For a program that ends right after the command (launch.h). */
    bool leave_judge, give_stdio;
    bool no_job_control; /* a command that stops does not stop us (launch.h) */

    /* Called in the thread that runs it, when there is something to be read from `hears`; may call
     * run_update(). NULL: nothing is listened to besides. */
    void (*on_heard)(void *arg);
    int hears;
    /* By which the person speaks to us (launch.h). */
    const int *user_fds;
    size_t nuser_fds;
    /* Called in the thread that runs it. */
    /* for a log of what was done, a line at a time; may be NULL */
    void (*debug)(void *arg, const char *line);
    void (*on_event)(void *arg, const struct event *e);
    /* Hosts that no rule names are asked about when this is there; see launch.h. */
    void (*on_question)(void *arg, const struct consent_question *q, int channel);
    uint32_t ask_ms; /* that an answer is waited for; 0: CONSENT_MS */
    /* Tells the person what is wrong with the policy. May be called in the judge's process, which
     * shares no memory with the caller's. */
    void (*complain)(void *arg, const struct sbpl_unit *unit, const struct bk_err *err);
    void *arg;
};

#endif
