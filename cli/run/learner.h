/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_LEARNER_H
#define BK_CLI_RUN_LEARNER_H

#include "cli/run/invocation.h"
#include "learn/learned.h"

/* Watches a run and writes rules from what it used, or from what it was denied. */
struct tracing;
struct learner {
    struct run_observer observer;
    struct trace used, denied;
    enum learn_how how;
    const char *to;         /* NULL: standard output */
    const char *trace_to;   /* or NULL */
    const char *const *add; /* traces of earlier runs, ends with NULL; or NULL */
    const char *base;       /* its name */
    bool verbose;
    bool from_denials; /* a normal run: rules for what it was denied */
    const struct tracing
        *traced; /* rules for what this profile denies (learner-trace.c); or NULL */
    bool failed; /* memory ran out while it watched */
};

/* Prepares the observer. Free with learner_free() whatever happened. */
/* learner-denied.c: the smallest addition that would have let the run pass. Without any denial it
 * writes nothing. */
int learner_end_denied(struct learner *l, struct invocation *r, struct buf *summary,
                       struct bk_err *err);
/* learner-trace.c: the smallest addition to the profile that would have let the run pass. */
int learner_end_traced(struct learner *l, struct invocation *r, struct buf *summary,
                       struct bk_err *err);
/* A profile on the command line that says (trace "FILE"): runs the command as `buckle learn` does,
 * and appends rules for what the profile denies. Returns false if that is not asked for. */
bool tracing_run(struct cli_args *args, int *status);
/* Replaces the file as a whole. */
int learner_write(const char *path, const struct buf *text, struct bk_err *err);
/* The folders that are parameters of a run. */
struct anchors learner_anchors(const struct invocation *r);

int learner_init(struct learner *l, struct bk_err *err);
void learner_free(struct learner *l);

#endif
