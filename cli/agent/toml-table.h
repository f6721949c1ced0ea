/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_TOML_TABLE_H
#define BK_CLI_AGENT_TOML_TABLE_H

#include "settings/json.h"

/* Writes a TOML text with this table at its end, in place of one of the same name, or without it if
 * `table` is NULL. Everything else stays. Fails if the text has the table in a form that cannot be
 * taken out by lines. */
int toml_table(const struct json_text *old, const char *name, const char *table, struct buf *out,
               struct bk_err *err);

#endif
