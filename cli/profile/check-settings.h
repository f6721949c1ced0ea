/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PROFILE_CHECK_SETTINGS_H
#define BK_CLI_PROFILE_CHECK_SETTINGS_H

#include "base/diag.h"
#include "settings/settings.h"

/* Findings about one settings file, with its text for excerpts. */
struct checked_settings {
    struct arena arena;
    struct source_map map;
    struct diags diags;
};

/* Returns -1 if the file cannot be read. Call checked_settings_free() even then. */
int check_settings(struct checked_settings *c, const char *path, struct bk_err *err);
/* The same for a preset file. */
int check_presets(struct checked_settings *c, const char *path, struct bk_err *err);
void checked_settings_free(struct checked_settings *c);
#define OWN_checked_settings checked_settings_free

/* Shared by both. */
void check_init(struct checked_settings *c);
void check_report(struct checked_settings *c, enum finding_level level, src_pos pos,
                  const struct bk_err *err);
/* The position of an error's line and column in the text. */
src_pos check_position(const struct source *s, const struct bk_err *err);

/* Lists the layers' existing files, in the arena of the settings. Returns how many. */
size_t check_settings_found(struct settings *s, const char *files[LAYER_COUNT], struct bk_err *err);

#endif
