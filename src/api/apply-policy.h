/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_API_APPLY_POLICY_H
#define BK_API_APPLY_POLICY_H

#include <limits.h>

#include "api/command-options.h"
#include "run/run-policy.h"

/* The policy that buckle_apply() puts the calling process under, compiled. */
struct apply_policy {
    char cwd[PATH_MAX], tmpdir[PATH_MAX];
    struct arena arena;
    struct api_policy assembled;
    struct run_policy policy;
    struct buf own; /* the rules that end the policy */
    struct run_spec spec;
    struct link_targets targets;
    bool gathered; /* policy is valid */
};

/* p is zeroed. Free with apply_policy_free() whatever happened. */
int apply_policy_compile(struct apply_policy *p, const struct buckle_command *c,
                         struct bk_err *err);
void apply_policy_free(struct apply_policy *p);
/* The text that errors quote lines of, or NULL. */
const struct sbpl_unit *apply_policy_text(const struct apply_policy *p);

#endif
