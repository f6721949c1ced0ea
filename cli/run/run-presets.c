/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* --preset: what presets say is added to what settings say, and the same rules decide. */

#include "cli/run/run-presets.h"

#include <stdlib.h>
#include <string.h>

#include "cli/run/debug.h"

bool run_has_presets(const struct cli_args *args)
{
    return args_has(args, "preset");
}

int run_presets_add(const struct cli_args *args, struct arena *a, const char *cwd,
                    const char *command, struct access *policy, struct bk_err *err)
{
    const struct path_base base = {.cwd = cwd, .home = getenv("HOME")};
    struct preset_config config;
    struct preset sum = {0};
    struct words names = {0}, unset = {0};
    const char *name;
    for (size_t i = 0; (name = args_nth(args, "preset", i)); i++)
        if (words_push(a, &names, name) < 0)
            return err_nomem(err);
    if (preset_load(a, args_value(args, "config"), &config, err) < 0 ||
        preset_sum(a, &config, &names, command, false, &sum, err) < 0 ||
        preset_apply(a, &sum, &base, policy, &unset, err) < 0 ||
        preset_protect(a, &config, &base, policy, err) < 0)
        return -1;
    if (config.file)
        debug_say("Presets: %s", config.file);
    for (size_t i = 0; i < unset.n; i++)
        debug_say("%s uses a variable that is not set, so it allows nothing", unset.at[i]);
    return 0;
}
