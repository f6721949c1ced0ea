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
    struct graph *graph;
};

int run_profile_load(struct run_profile *p, const struct cli_args *args, const char *cwd,
                     const char *tmpdir, struct bk_err *err);
void run_profile_complain(const struct run_profile *p, const struct bk_err *err);
void run_profile_free(struct run_profile *p);

#endif
