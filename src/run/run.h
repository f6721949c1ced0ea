/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_RUN_H
#define BK_RUN_RUN_H

#include "kernel/launch/cgroup.h"
#include "kernel/launch/environ.h"
#include "kernel/launch/init.h"
#include "kernel/launch/launch.h"
#include "kernel/launch/tmpdir.h"
#include "net/upstream.h"
#include "run/run-policy.h"

/*
 * One run of a command: spec → policy → plan → launch. Whatever a front end wants to show (the
 * plan, a summary, the policy's mistakes) is in here to be read.
 */
struct run {
    const struct run_spec *spec;
    struct host host;
    struct link_targets targets; /* what built-in names mean here */
    struct mounts_view mounts;   /* when it began */
    struct run_policy policy;
    struct buf own_rules; /* the rules that end it (own.h) */
    struct plan_options options;
    struct plan plan;
    struct tmpdir scratch;
    struct cgroup cgroup;
    struct init init;
    struct arena arena;
    struct environ_result env;
    struct upstream upstream;
    char connector[256];   /* this program, when it is buckle itself; else empty */
    struct graph **graphs; /* of all policies: the first, which is its own, and what replaced it */
    size_t nupdated;
};

/* Looks at the host and gathers the policy. `probe`: finds out for certain what the host can do,
 * for a plan that is to be read; a launch finds it out as it goes. On failure, policy.unit.diags
 * may say more than *err. Free with run_close() whatever happened. */
int run_open(struct run *r, const struct run_spec *spec, bool probe, struct bk_err *err);

/* Compiles and plans, and does nothing else. */
int run_plan(struct run *r, struct bk_err *err);

/* Runs the command to its end. Call from a thread that lives as long as that. On failure
 * end->stage says how far it came; STEP_POLICY was told by spec->complain. */
int run_go(struct run *r, struct launch_end *end, struct bk_err *err);

/* Gives the running command another policy: these sources in place of the spec's, which are read
 * now; they import shipped profiles only. On failure the old one stays. What has to wait for the
 * next command is appended to waits, a line each. To be called by on_heard and on_event. */
int run_update(struct run *r, const struct run_source *sources, size_t n, struct buf *waits,
               struct bk_err *err);

/* The spec's sources as run_update() takes them: files as the texts that were read when it began.
 * At most cap; how many, or 0 when there are more. They live as long as the run. */
size_t run_sources(const struct run *r, struct run_source *out, size_t cap);

/* The policies' graphs, for reports; compiled on the first call (run.c says why). NULL when memory
 * is short. */
struct policies run_policies(struct run *r);
const struct graph *run_graph(struct run *r); /* of the first policy */

/* Whether a policy tells hosts apart, so that proxies are needed there; and the rules that leave
 * nothing but them, for the end of its profile. */
bool run_tells_hosts(const struct graph *g);
struct macos_ports;
int run_close_hosts(const struct graph *g, const struct macos_ports *ports, const char *tag,
                    struct buf *out, struct bk_err *err);

/* The command's TMPDIR. */
const char *run_tmpdir(const struct run *r);

/* Removes what the run left: its TMPDIR, its control group, its first process. */
void run_clean(struct run *r);
void run_close(struct run *r);

#endif
