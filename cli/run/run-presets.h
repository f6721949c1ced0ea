/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_RUN_PRESETS_H
#define BK_CLI_RUN_RUN_PRESETS_H

#include "cli/args.h"
#include "policy/assemble.h"

/* Options of commands that take presets besides settings. */
/* clang-format off */
#define PRESET_OPTIONS \
    {"preset", 0, "NAME", "add this preset; builtin:NAME for a shipped one", NULL}, \
    {"config", 0, "FILE", "with --preset: read presets from FILE", "file"}, \
    {"share-caches", 0, NULL, "with --preset: write caches as they are, not private layers", NULL}
/* clang-format on */

bool run_has_presets(const struct cli_args *args);

/* Fills the request's presets; their names are in the arena. */
int run_presets_request(const struct cli_args *args, struct arena *a, struct policy_request *q,
                        struct bk_err *err);
/* For the debug log: what presets were read, and what they could not open. */
void run_presets_log(const struct assembly *policy);

#endif
