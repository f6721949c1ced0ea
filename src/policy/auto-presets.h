/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_POLICY_AUTO_PRESETS_H
#define BK_POLICY_AUTO_PRESETS_H

#include "settings/preset.h"
#include "settings/settings.h"

/*
 * Presets of tools that nobody has to name. The command line calls for some of them; it comes from
 * the user. A project's files call for others, but commands can make such files: they count only
 * as far as the user has trusted the project, and what was there then.
 */

/* The presets for a command, without those already named. The configuration has tools. */
int auto_presets_find(struct settings *s, const struct preset_config *c, char *const *argv,
                      const struct words *named, struct words *out, struct bk_err *err);

/* Whether the command line calls for a tool's preset. */
bool auto_presets_calls(struct arena *a, const struct preset *tool, char *const *argv,
                        struct bk_err *err);

/* What the working directory's files call for now, for settings_trust_give(). */
int auto_presets_of_project(struct settings *s, struct trust_more *out, struct bk_err *err);

#endif
