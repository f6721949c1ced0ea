/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_NEST_H
#define BK_RUN_NEST_H

#include "kernel/launch/nest.h"
#include "run/on-linux/run-kernel.h"

/*
 * Runs inside a sandbox of ours (kernel/launch/nest.h has the picture). The inner run sends its
 * policy as texts and its command; the outer one compiles the texts, conjoins the graph with its
 * own and runs the command as it runs any other.
 */

/* ---- the inner side ---- */

/* The policy, compiled, and the command as bytes for nest_memory_make(). */
int nest_write(const struct run *r, const struct launch *l, struct buf *out, struct bk_err *err);
/* The rest of the request; the first leaves out what the command inherits. */
void nest_options(const struct run *r, const struct launch *l, enum nest_wish wish,
                  struct nest_request *q);
int nest_fill(const struct run *r, const struct launch *l, struct nest_request *q,
              struct bk_err *err);

/* ---- the outer side ---- */

enum {
    NEST_SOURCES = 64,
    NEST_PARAMS = 256,
    NEST_SEQUELS = 16,
    NEST_GIVEN = 256,
    NEST_WORDS = 1 << 16, /* arguments, variables */
};

/* What nest_write() wrote. Points into the bytes, except for the lists of words. */
struct nest_spec {
    struct run_source sources[NEST_SOURCES];
    struct sbpl_param params[NEST_PARAMS];
    struct sbpl_sequel sequels[NEST_SEQUELS];
    struct sbpl_given given[NEST_GIVEN];
    int keep_fds[NEST_FDS];
    size_t nsources, nparams, nsequels, ngiven, nkeep, nargs, nvars;
    char **argv, **env; /* NULL-terminated, in the arena */
    const char *cwd, *start;
};

/* Checks every length and count. Returns -1 if the bytes are no request. */
int nest_read(char *bytes, size_t n, struct arena *arena, struct nest_spec *out);

/* on_nest and on_nested of a launch. */
int nest_serve(void *run, int asker, int channel, const struct init *init);
void nest_served(void *run);
/* Passes an update of the outermost policy on to those inside. One that does not get it ends. */
void nest_update(struct run *r, uint32_t number, int sealed);
/* Ends those that are left. */
void nest_end_all(struct run *r);

#endif
