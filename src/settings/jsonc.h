/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_JSONC_H
#define BK_SETTINGS_JSONC_H

#include "settings/json.h"

/*
 * JSON as other programs' settings have it: with comments, trailing commas and a byte order mark.
 * Changes are made to the text, so that everything else in it stays as it is.
 */
struct jsonc {
    struct json_text text;
    const char *plain; /* the same length, with spaces for what JSON does not have */
    struct json *root;
};

/* Reads a text, which must stay. Returns -1 with file, line and column in *err. */
int jsonc_read(struct arena *a, const struct json_text *text, struct jsonc *out,
               struct bk_err *err);

/* Writes the text with one more member (key) or element (key NULL) at the end of an object or array
 * of it. The value is laid out like the text. */
void jsonc_insert(const struct jsonc *d, const struct json *into, const char *key,
                  const struct json *value, struct buf *out);
/* Writes the text without this member or element, and the comma that belongs to it. */
void jsonc_remove(const struct jsonc *d, const struct json *child, struct buf *out);

#endif
