/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_STACK_FLAGS_H
#define BK_CLI_RUN_STACK_FLAGS_H

#include "cli/profile/policy-stack.h"
#include "run/spec.h"

/* --entitlements, --extension and --platform of a run. */
struct stack_flags {
    struct extensions extensions;
    char **paths; /* of extensions, as real paths */
    const char **platforms;
};

/* Free with stack_flags_free() whatever happened. */
int stack_flags_read(struct stack_flags *f, const struct cli_args *args, struct run_spec *spec,
                     struct bk_err *err);
void stack_flags_free(struct stack_flags *f);

#endif
