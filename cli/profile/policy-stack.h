/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PROFILE_POLICY_STACK_H
#define BK_CLI_PROFILE_POLICY_STACK_H

#include "analyze/stack.h"
#include "cli/profile/profile-options.h"

/* What a process is under, for commands that ask questions: platform profiles, its own profile,
 * extensions. */
/* clang-format off */
#define STACK_OPTIONS \
    {"platform", 0, "PROFILE", "a platform profile that must also allow it; may repeat", "profile"}, \
    {"profile", 0, "PROFILE", "the process's profile, instead of the argument", "profile"}, \
    {"extension", 0, "CLASS[:VALUE]", "the process holds an extension, for VALUE and below", NULL}
/* clang-format on */

struct stacked {
    struct graph_stack stack;
    struct loaded *loaded; /* as many as there are layers; the process's own is the last */
    struct graph_layer *layers;
    struct graph_extension *extensions;
    char *kinds;
};

/* Position of the first argument that is not the profile. */
size_t stack_first(const struct cli_args *args);
/* Whether there is more to it than one profile. */
bool stack_asked(const struct cli_args *args);

/* Loads all; errors go to standard error. CLI_OK or CLI_ERROR. Free whatever happened. */
int stack_or_complain(const struct cli_args *args, struct stacked *out);
void stacked_free(struct stacked *s);
#define OWN_stacked stacked_free

#endif
