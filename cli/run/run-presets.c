/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* --preset: presets add to what settings say (policy/assemble.h). */

#include "cli/run/run-presets.h"

#include "cli/run/debug.h"
#include "settings/paths.h"

bool run_has_presets(const struct cli_args *args)
{
    return args_has(args, "preset");
}

int run_presets_request(const struct cli_args *args, struct arena *a, struct policy_request *q,
                        struct bk_err *err)
{
    const char *name;
    for (size_t i = 0; (name = args_nth(args, "preset", i)); i++)
        if (words_push(a, &q->presets, name) < 0)
            return err_nomem(err);
    q->presets_file = args_value(args, "config");
    q->share_caches = args_has(args, "share-caches");
    return 0;
}

void run_presets_log(const struct assembly *policy)
{
    if (policy->presets_file)
        debug_print("Presets: %s", policy->presets_file);
    for (size_t i = 0; i < policy->unset.n; i++)
        debug_print("%s uses an unset variable, so it allows nothing", policy->unset.at[i]);
}
