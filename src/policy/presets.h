/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_POLICY_PRESETS_H
#define BK_POLICY_PRESETS_H

#include "policy/registries.h"
#include "settings/preset.h"
#include "settings/settings.h"

/*
 * Presets with what src/settings cannot know by itself: the shipped ones, which are SBPL texts, and
 * where git keeps a repository.
 */

/* preset_load() and preset_parse() with the shipped presets, without those of tools. */
int presets_load(struct arena *a, const char *path, struct preset_config *out, struct bk_err *err);
int presets_parse(struct arena *a, const char *name, const char *text, size_t n,
                  struct preset_config *out, struct bk_err *err);

/* preset_apply(), and allow-git: opens the repository that base->cwd belongs to. */
int presets_apply(struct arena *a, const struct preset *sum, const struct path_base *base,
                  struct access *access, struct words *unset, struct bk_err *err);

/* Makes caches ordinary permissions, for programs that know no layers. */
int presets_share_caches(struct arena *a, struct preset_config *c, struct bk_err *err);

/* preset-shipped.c: reads them into c->shipped. */
/* Opens the hosts of the tools in a sum, with the registries that count. Commands that cannot read
 * which registry is meant get a variable. */
int presets_open_hosts(struct arena *a, const struct preset_config *c, const struct preset *sum,
                       const struct registries *registries, struct settings_result *out,
                       struct bk_err *err);

/* preset-shipped.c: reads them into c->shipped, and those of tools into c->tools. */
int presets_read_shipped(struct arena *a, struct preset_config *c, struct bk_err *err);
int presets_read_tools(struct arena *a, struct preset_config *c, struct bk_err *err);

#endif
