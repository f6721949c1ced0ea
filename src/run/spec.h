/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_SPEC_H
#define BK_RUN_SPEC_H

#include "command/launch.h"
#include "graph/build.h"
#include "net/consent.h"
#include "policy/run-source.h"
#include "record/record.h"
#include "sbpl/sbpl.h"

struct run;
struct settings_handling;
struct tmpdir;

/*
 * A command and its policy, as every front end describes a run. Plain data; it belongs to the front
 * end and outlives the run. Options go from here to the plan and to the judge as they are: the
 * front end fills `plan` and `launch`, and the run completes copies of them.
 */
struct run_spec {
    /* The policy: these texts in this order (policy/assemble.h). */
    const struct run_source *sources;
    size_t nsources;
    const struct sbpl_param *params; /* besides CWD, TMPDIR, HOME and ORDINARY, unless bare */
    size_t nparams;
    /* Around it (run-stack.c): entitlements of the program (entitlements/entitlements.h) or NULL,
     * profiles that must also allow what it does, and extensions that it holds. */
    const char *entitlements;
    const char *const *platforms;
    size_t nplatforms;
    const struct graph_extension *extensions;
    size_t nextensions;

    /* The environment: the caller's, less what looks like a secret and is not kept. */
    const char *const *keep_env; /* names */
    size_t nkeep_env;
    const char *const *set_env; /* NAME=value; win over everything */
    size_t nset_env;
    bool whole_env; /* nothing is removed from it */
    bool bare;      /* nothing of ours is added: no TMPDIR, no variable, no parameter */
    /* A policy that says nothing about processes lets the command see those outside, and leave some
     * running (leave.h). */
    bool may_leave;
    /* Only for run_put_inputs(), to compare it with this run: starts nothing. Or NULL. */
    struct run *like;

    const struct places *caches; /* with private layers that are kept; or NULL */
    /* Give programs a private folder that fail without one (private-places.def), unless one of
     * these opens the real one. */
    bool private_places;
    const struct places *writable; /* what settings and presets open, or NULL */
    const char *const *opened;     /* what flags open, as they were written */
    size_t nopened;
    const char *tmpdir; /* a folder that stays, made if it is missing; NULL: a temporary one */
    const struct tmpdir *private_tmpdir; /* the temporary one, named already; NULL: any */
    /* URL of the proxy that connections leave through, or NULL: the caller's variables name it.
     * no_proxy: hosts that are reached without it, or NULL. */
    const char *upstream, *no_proxy;
    /* Credentials for requests, as settings/credential-rule.h has them. */
    const char *const *credentials;
    size_t ncredentials;
    const struct words *set_credentials; /* the same, of settings; or NULL */
    const char *const *ssh; /* logins that keys may sign, as settings/ssh-rule.h has them */
    size_t nssh;
    const struct words *set_ssh; /* the same, of settings; or NULL */
    const struct masks *masks;   /* srt's, of settings (settings/masks.h); or NULL */

    const struct settings_handling *handling; /* of what is allowed, or NULL */

    struct record_options record; /* of this run; without a path none */
    const char *command_text;     /* how people wrote the command, for the record; or NULL */
    const char *asks;             /* who answers questions: "terminal", "session"; or NULL */

    /* How to enforce the policy. The run sets terse, ask, cwd, mounts and arch. */
    struct plan_options plan;

    /* The command (argv, cwd, …), its limits and callbacks. The run sets policy, prepare,
     * meanwhile, compile, run, host, init, env, tmpdir, connector, upstream and cgroup. */
    struct launch launch;

    /* For a log, a line at a time; with launch.arg. May be NULL. */
    void (*debug)(void *arg, const char *line);
    /* The same for what users have to know. */
    void (*warn)(void *arg, const char *line);
    /* Reports what is wrong with the policy; with launch.arg. May be called in the judge's process,
     * which shares no memory with the caller's. */
    void (*complain)(void *arg, const struct sbpl_unit *unit, const struct bk_err *err);
};

#endif
