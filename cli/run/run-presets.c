/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* --preset: presets add to what settings say (policy/assemble.h). */

#include "cli/run/run-presets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "cli/run/debug.h"
#include "policy/tool-hints.h"
#include "settings/paths.h"

bool run_has_presets(const struct cli_args *args)
{
    return args_has(args, "preset") || args_has(args, "auto");
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
    q->automatic = args_has(args, "no-auto") ? AUTO_NEVER
                   : args_has(args, "auto")  ? AUTO_ALWAYS
                                             : AUTO_IF_SET;
    return 0;
}

static bool is_first(const struct registries *list, size_t source, size_t host)
{
    const char *name = list->at[source].hosts.at[host];
    for (size_t i = 0; i <= source; i++)
        for (size_t k = 0; k < (i < source ? list->at[i].hosts.n : host); k++)
            if (list->at[i].counts && strcmp(list->at[i].hosts.at[k], name) == 0)
                return false;
    return true;
}

/* The hosts of registries are the user's own choice, and worth a look. */
static void add_registries(const struct registries *list, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        for (size_t k = 0; list->at[i].counts && k < list->at[i].hosts.n; k++)
            if (is_first(list, i, k))
                buf_fmt(out, "%s%s", n++ ? ", " : "; registry: ", list->at[i].hosts.at[k]);
}

void run_presets_announce(const struct assembly *policy)
{
    const struct words *names = &policy->automatic;
    OWN(buf) struct buf out = {0};
    if (!names->n)
        return;
    buf_fmt(&out, "buckle: added preset%s", names->n == 1 ? "" : "s");
    for (size_t i = 0; i < names->n; i++)
        buf_fmt(&out, "%s %s", i ? "," : "", names->at[i]);
    add_registries(&policy->registries, &out);
    fprintf(stderr, "%s\n", out.s ? out.s : "");
}

void run_presets_log(const struct assembly *policy)
{
    if (policy->presets_file)
        debug_print("Presets: %s", policy->presets_file);
    for (size_t i = 0; i < policy->registries.n; i++) {
        const struct registry_source *r = &policy->registries.at[i];
        for (size_t k = 0; k < r->hosts.n; k++)
            debug_print("Registry for %s in %s: %s%s", r->tool, r->name, r->hosts.at[k],
                        r->counts    ? ""
                        : r->project ? " (ignored: not trusted)"
                                     : " (ignored: commands can write the file)");
    }
    for (size_t i = 0; i < policy->unset.n; i++)
        debug_print("%s uses an unset variable, so it allows nothing", policy->unset.at[i]);
}

void run_presets_suggest(const struct policy_request *q, const struct assembly *policy,
                         struct arena *a, struct report *report)
{
    struct tool_hint *found;
    struct bk_err ignored; /* without memory nothing is suggested */
    size_t n;
    /* inside a sandbox, tools' settings may be closed, and the outer run would report it */
    if (getenv("SANDBOX_RUNTIME") || tool_hints_find(a, q, policy, &found, &n, &ignored) < 0)
        return;
    struct preset_hint *hints = arena_array(a, n + 1, sizeof(*hints));
    for (size_t i = 0; hints && i < n; i++)
        hints[i] = (struct preset_hint){.name = found[i].name,
                                        .paths = found[i].paths.at,
                                        .npaths = found[i].paths.n,
                                        .hosts = found[i].hosts.at,
                                        .nhosts = found[i].hosts.n,
                                        .called = found[i].called};
    if (hints)
        report_set_hints(report, hints, n);
}
