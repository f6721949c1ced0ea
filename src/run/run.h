/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_RUN_H
#define BK_RUN_RUN_H

#include "command/environ.h"
#include "command/launch.h"
#include "command/tmpdir.h"
#include "net/handling.h"
#include "net/parent-proxy.h"
#include "net/secrets.h"
#include "run/run-policy.h"

struct run_kernel;
struct run_record;

enum { RUN_SSH_MAX = 32 };

/*
 * One run of a command: spec → policy → plan → launch. Front ends read what they show (the plan, a
 * summary, the policy's mistakes) from here.
 */
struct run {
    const struct run_spec *spec;
    struct run_kernel *kernel;   /* what Linux needs besides (on-linux/run-kernel.h) */
    struct link_targets targets; /* of built-in names here */
    struct run_policy policy;
    struct buf own_rules;      /* that end the policy (own-rules.h) */
    struct run_record *record; /* NULL: there is none */
    struct tmpdir private_tmpdir;
    struct arena arena;
    struct environ_result env;
    struct secrets secrets;
    struct handling handling;
    bool has_handling;
    struct launch_cover *covers; /* files that have placeholders */
    size_t ncovers;
    char *ssh[RUN_SSH_MAX]; /* rules about keys of ssh, for the agent inside (ssh-agent.h) */
    size_t nssh;
    pid_t ssh_pid; /* its process; 0: none */
    int ssh_until, ssh_events;
    struct words unmasked; /* what settings mask, and has nothing to hide */
    struct parent_proxies parents;
    bool has_parents;      /* a flag, the settings or the caller's variables name a proxy */
    char connector[256];   /* this program if it is buckle itself; else empty */
    struct graph **graphs; /* of all policies: the first, and its updates */
    size_t nupdated;
};

/* For launch.prepared: the layers of the default profile. */
extern const char *const run_usual_layers[];

/* Inspects the host and gathers the policy. `probe`: tests for certain what the host can do, for a
 * plan that is printed; a launch finds out as it goes. On failure policy.unit.diags may say more
 * than *err. Free with run_close() whatever happened. */
int run_open(struct run *r, const struct run_spec *spec, bool probe, struct bk_err *err);

/* Only what a gate needs, for a proxy without a command: the compiled policy, parent proxies,
 * handling; with run_credentials() besides. Free with run_close_gate() whatever happened. */
int run_open_gate(struct run *r, const struct run_spec *spec, struct bk_err *err);
void run_close_gate(struct run *r);

/* Compiles the policy and writes how it would be enforced here: the plan on Linux, the profile for
 * sandbox-exec on macOS. */
int run_print_plan(struct run *r, bool json, struct buf *out, struct bk_err *err);

/* Inside a sandbox of ours: appends the plan that the run gets there, by asking the outer
 * controller. Returns 1, 0 if the run is inside none, or -1. */
int run_describe_nested(struct run *r, bool json, struct buf *out, struct bk_err *err);

/* Runs the command to its end. The calling thread has to live that long. On failure end->step says
 * how far it came; spec->complain has reported STEP_POLICY. */
int run_go(struct run *r, struct launch_end *end, struct bk_err *err);

/* For the command that runs in this process, from on_input and similar callbacks. The first sends
 * it a signal: returns 0, or -ESRCH while there is none. The second ends it as after a timeout:
 * politely first, or at once (end->timed_out). */
int run_signal(int sig);
void run_cancel(bool at_once);

/* Updates the policy of the running command: these sources replace the spec's. They import shipped
 * profiles only. macOS cannot: there a policy is final. On failure the old policy stays in force.
 * Appends what has to wait for the next command to waits, a line each. Call it from on_input or
 * on_event. */
int run_update(struct run *r, const struct run_source *sources, size_t n, struct buf *waits,
               struct bk_err *err);

/* The spec's sources as run_update() takes them: files as the texts that were read at the start.
 * Returns how many, or 0 if there are more than cap. They live as long as the run. */
size_t run_sources(const struct run *r, struct run_source *out, size_t cap);

/* The policies' graphs, for reports; compiled on the first call (run.c says why). NULL when memory
 * is short. */
struct policies run_policies(struct run *r);
const struct graph *run_graph(struct run *r); /* of the first policy */

/* For macOS: whether a policy distinguishes hosts, so that it needs proxies; and the rules that
 * leave only these proxies open, for the end of its profile. */
bool run_filters_hosts(const struct graph *g);
struct macos_ports;
int run_close_hosts(const struct graph *g, const struct macos_ports *ports, const char *tag,
                    struct buf *out, struct bk_err *err);

/*
 * A spare: a run whose command is held right before its exec (launch.on_held) until it is known.
 *
 * run_put_inputs() appends everything that its sandbox depends on: of the run itself when it holds
 * the command, and later of another one with spec->like, made from what is true then. If the bytes
 * are equal, a launch would build the same sandbox. `planned` is the run that holds the command, in
 * both cases. Returns false if that cannot be said, or if the run cannot wait.
 *
 * run_watch_inputs() calls look() and returns what it returned: whether that is so. From then on
 * run_inputs_are_quiet() says whether look() would find the same again, in a fraction of the time.
 * If it says no, call look().
 *
 * run_is_whole() says whether its sandbox has kept the mounts that were made for it. Ask once.
 *
 * run_adopt_folders() may be called shortly before run_release(), which needs not do it then: it
 * records that the user works in the command's folder.
 *
 * run_release() lets the command go. Returns 0, or a negative errno: then it does not run.
 */
bool run_put_inputs(struct run *r, struct run *planned, struct buf *out);
bool run_watch_inputs(struct run *r, bool (*look)(void *arg), void *arg);
bool run_inputs_are_quiet(struct run *r);
bool run_is_whole(const struct run *r);
void run_adopt_folders(struct run *r);
int run_release(struct run *r, const struct launch_order *order);

/* The command's TMPDIR. */
const char *run_tmpdir(const struct run *r);

/* Removes what the run left: its TMPDIR, its control group, its init. */
void run_clean(struct run *r);
void run_close(struct run *r);

#endif
