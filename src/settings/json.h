/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_JSON_H
#define BK_SETTINGS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/*
 * JSON with positions, so that errors in settings name their line; readers that keep only values
 * cannot. A tree in an arena; members and elements in the order of the text.
 */
enum json_kind { JT_NULL, JT_BOOL, JT_NUMBER, JT_STRING, JT_ARRAY, JT_OBJECT };

struct json {
    enum json_kind kind;
    bool truth;    /* of a bool */
    bool integral; /* a number without fraction or exponent, that fits: */
    int64_t number;
    const char *s; /* a string's bytes, or a number's text; NUL-terminated */
    uint32_t n;
    uint32_t at;     /* where it begins in the text */
    uint32_t key_at; /* where its name does */
    const char *key; /* in an object */
    uint32_t nkey;
    uint32_t count; /* members or elements */
    struct json *parent, *first, *last, *next;
};

struct json_text {
    const char *name; /* of the file, for messages */
    const char *s;
    size_t n;
    bool once; /* it came through a pipe, and cannot be read again */
};

enum { JSON_DEPTH = 64, JSON_MEMBERS = 4096, JSON_MAX = 1 << 20 };

/* Reads a whole text. Strict: no comments, no trailing commas, no duplicate names, only UTF-8.
 * Returns NULL with file, line and column in *err if it is not JSON. */
struct json *jt_read(struct arena *a, const struct json_text *text, struct bk_err *err);

/* Reads a file of at most JSON_MAX bytes; refuses larger ones unread. The text stays in the arena.
 * A missing file is err->sys ENOENT. */
int jt_load(struct arena *a, const char *path, struct json_text *out, struct bk_err *err);

/* Puts the place of `at` into an error already set. Returns -1. */
int jt_fail(const struct json_text *text, uint32_t at, struct bk_err *err);
uint32_t jt_line(const struct json_text *text, uint32_t at);

struct json *jt_get(const struct json *object, const char *key);
const char *jt_kind_word(enum json_kind kind); /* "a string", "an object" */

/* Building and changing; NULL when memory is short. */
struct json *jt_new(struct arena *a, enum json_kind kind);
struct json *jt_string(struct arena *a, const char *s, size_t n);
/* Replaces a member of that name. */
void jt_set(struct json *object, const char *key, struct json *value);
void jt_append(struct json *array, struct json *value);
void jt_remove(struct json *parent, const struct json *child);
bool jt_equal(const struct json *a, const struct json *b);

/* Pretty, two spaces a level, short lists of plain values on one line. */
void jt_print(const struct json *j, struct buf *out);

#endif
