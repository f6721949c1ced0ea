/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_RUN_PRESETS_H
#define BK_CLI_RUN_RUN_PRESETS_H

#include "cli/args.h"
#include "settings/preset.h"

/* Options of commands that take presets besides settings. */
/* clang-format off */
#define PRESET_OPTIONS \
    {"preset", 0, "NAME", "add this preset; builtin:NAME for a shipped one", NULL}, \
    {"config", 0, "FILE", "with --preset: read presets from FILE", "file"}
/* clang-format on */

bool run_has_presets(const struct cli_args *args);

/* Adds the presets that are named, those of the command and the file's defaults to a policy.
 * command may be NULL. */
int run_presets_add(const struct cli_args *args, struct arena *a, const char *cwd,
                    const char *command, struct access *policy, struct bk_err *err);

#endif
