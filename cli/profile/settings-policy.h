/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PROFILE_SETTINGS_POLICY_H
#define BK_CLI_PROFILE_SETTINGS_POLICY_H

#include <limits.h>

#include "graph/eval.h"
#include "policy/assemble.h"
#include "sbpl/sbpl.h"
#include "vocab/protected-classes.h"

/* The policy of a plain `buckle run` in the working directory, for commands that explain it: the
 * settings that are found, or the default profile. A run adds its TMPDIR and a few rules of its own
 * that nothing overrides. */
struct settings_policy {
    struct assembly policy;
    struct sbpl_unit unit;
    struct graph *graph;
    struct graph_cache *cache;
    char cwd[PATH_MAX], home[PATH_MAX];
    struct sbpl_param params[3];
};

/* Free with settings_policy_free() whatever happened. */
int settings_policy_load(struct settings_policy *p, struct bk_err *err);
void settings_policy_free(struct settings_policy *p);
#define OWN_settings_policy settings_policy_free

/* The class of protected names that the question is about; PROTECTED_NO_CLASS: none. */
enum protected_class settings_policy_class(const struct settings_policy *p,
                                           const struct graph_query *q);

#endif
