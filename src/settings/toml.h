/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_TOML_H
#define BK_SETTINGS_TOML_H

#include "settings/json.h"

/* Reads a TOML text into the same tree as JSON; dates become strings. Returns NULL with file, line
 * and column in *err if it is not TOML, or too deep or large. */
struct json *toml_read(struct arena *a, const struct json_text *text, struct bk_err *err);

#endif
