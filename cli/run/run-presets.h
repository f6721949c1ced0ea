/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_RUN_PRESETS_H
#define BK_CLI_RUN_RUN_PRESETS_H

#include "cli/args.h"
#include "policy/assemble.h"
#include "report/event.h"

/* Options of commands that take presets besides settings. */
/* clang-format off */
#define PRESET_TOOLS \
    "amp cargo ccache claude cline codex copilot cursor dotnet gemini go goose " \
    "gpg java kiro npm opencode php playwright python qwen ruby windsurf"
#define AUTO_OPTIONS \
    {"auto", 0, NULL, "add the presets that the command and a trusted project's files call for", NULL}, \
    {"no-auto", 0, NULL, "don't, even if settings say so", NULL}
#define PRESET_OPTIONS \
    {"preset", 0, "NAME", "add this preset: a tool (npm, python, …), yours, or builtin:NAME", \
     PRESET_TOOLS}, \
    {"config", 0, "FILE", "with --preset: read presets from FILE", "file"}, \
    {"share-caches", 0, NULL, "with presets: write caches as they are, not private layers", NULL}
/* clang-format on */

bool run_has_presets(const struct cli_args *args); /* or --auto */

/* Fills the request's presets; their names are in the arena. */
int run_presets_request(const struct cli_args *args, struct arena *a, struct policy_request *q,
                        struct bk_err *err);
/* One line that says which presets were added without being named. */
void run_presets_announce(const struct assembly *policy);
/* Tells the report which presets could be suggested. They live in the arena. */
void run_presets_suggest(const struct policy_request *q, const struct assembly *policy,
                         struct arena *a, struct report *report);
/* For the debug log: what presets were read, and what they could not open. */
void run_presets_log(const struct assembly *policy);

#endif
