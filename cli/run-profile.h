/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_PROFILE_H
#define BK_CLI_RUN_PROFILE_H

#include "args.h"
#include "sbpl/sbpl.h"

/*
 * The policy of one run: a profile, its parameters and what the flags add, as SBPL. A flag that
 * opens a folder does not open what the profile protects inside it, unless it names exactly that.
 */
struct run_profile {
    struct sbpl_unit unit;
    struct sbpl_param *params;
    char *words;      /* the parameters' keys and values */
    struct buf rules; /* SBPL made from flags */
    bool shipped;     /* no file has a say in it, so that it can be compiled at any time */
    struct graph *graph;
};

/* Gathers everything that the profile depends on, but for files that it imports. */
int run_profile_gather(struct run_profile *p, const struct cli_args *args, const char *cwd,
                       const char *tmpdir, struct bk_err *err);
/* Compiles it, unless that is done already. */
int run_profile_compile(struct run_profile *p, struct bk_err *err);
void run_profile_complain(const struct run_profile *p, const struct bk_err *err);
void run_profile_free(struct run_profile *p);

#endif
