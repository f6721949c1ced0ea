/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PROFILE_POLICY_STACK_H
#define BK_CLI_PROFILE_POLICY_STACK_H

#include "analyze/stack.h"
#include "cli/profile/profile-options.h"

/* The policy of a process, for commands that answer questions: platform profiles, those of
 * sandboxes around it, its own profile and extensions. */
/* clang-format off */
#define EXTENSION_OPTION \
    {"extension", 0, "CLASS[=PATH]", "the process holds an extension, for PATH and below; may repeat", NULL}
#define STACK_OPTIONS \
    {"platform", 0, "PROFILE", "a platform profile that must also allow it; may repeat", "profile"}, \
    {"stack", 0, "PROFILE", "the profile of a sandbox around it, outermost first; may repeat", "profile"}, \
    {"profile", 0, "PROFILE", "the process's profile, instead of the argument", "profile"}, \
    EXTENSION_OPTION
/* clang-format on */

/* --extension CLASS, CLASS=PATH or CLASS:NAME, as often as it is given. Free with extensions_free()
 * whatever happened. */
struct extensions {
    struct graph_extension *at;
    size_t n;
    char *kinds;
};
int extensions_read(const struct cli_args *args, struct extensions *out, struct bk_err *err);
void extensions_free(struct extensions *e);
#define OWN_extensions extensions_free

struct stacked {
    struct graph_stack stack;
    struct loaded *loaded; /* one per layer; the process's own is the last */
    struct graph_layer *layers;
    struct extensions extensions;
};

/* Position of the first argument that is not the profile. */
size_t stack_first(const struct cli_args *args);
/* Whether options ask for more than one profile. */
bool stack_asked(const struct cli_args *args);

/* Loads all layers and prints errors. Returns CLI_OK or CLI_ERROR; call stacked_free() even then.
 */
int stack_or_complain(const struct cli_args *args, struct stacked *out);
void stacked_free(struct stacked *s);
#define OWN_stacked stacked_free

#endif
