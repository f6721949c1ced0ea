/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_RUN_FLAGS_H
#define BK_CLI_RUN_RUN_FLAGS_H

#include "cli/args.h"
#include "run/run-policy.h"

/*
 * The flags about policy: a profile, its parameters, and rules as SBPL. A flag that opens a folder
 * does not open protected names inside, unless it names exactly them.
 */
struct run_flags {
    struct run_source profile, made; /* the profile, and the rules that flags make */
    struct sbpl_param *params;
    char *words;      /* the parameters' keys and values */
    struct buf rules; /* SBPL made from flags */
    struct buf links; /* symlinks that they follow */

    /* Variables that programs need to find allowed sockets. */
    struct buf variables; /* texts of the lists below, each ending in NUL */
    const char **keep, **set;
    size_t nkeep, nset;
    const char **credentials, **ssh;
};

/* Fills the spec's parameters; the spec has its cwd. Free with run_flags_free()
 * whatever happened. */
int run_flags_read(struct run_flags *f, const struct cli_args *args, struct run_spec *spec,
                   struct bk_err *err);
void run_flags_free(struct run_flags *f);
#define OWN_run_flags run_flags_free

/* Prints what is wrong with a policy to standard error. */
void run_complain(const struct sbpl_unit *unit, const struct bk_err *err);

#endif
