/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_API_API_H
#define BK_API_API_H

#include "base/buf.h"
#include "base/err.h"
#include "buckle/buckle.h"
#include "sbpl/sbpl.h"

struct buckle_error {
    struct bk_err err;
    struct buf report;
    bool half; /* buckle_apply(): part of it is already in force */
};

struct buckle_options {
    struct arena arena;
    struct sbpl_param *params;
    const char **dirs;
    size_t nparams, ndirs;
    const char *entitlements;
    bool fold_case;
};

/* Stores a copy of err in *out, with the unit's findings as its report when there are any. Takes a
 * NULL out and a NULL unit. */
void api_error(struct buckle_error **out, const struct bk_err *err, const struct sbpl_unit *unit);

/* Its report alone. */
void api_report(const struct bk_err *err, const struct sbpl_unit *unit, struct buf *out);
/* The same from its parts, for an error of another process; takes over the report. */
void api_error_made(struct buckle_error **out, const struct bk_err *err, struct buf *report);
void api_error_copy(struct buckle_error **out, const struct buckle_error *from);

/* Of an error that was just stored. */
void api_error_is_half(struct buckle_error **out, bool half);

/* For lists in an arena: a copy with room for one more, made if the count is a power of two; and a
 * copy of a text. NULL when out of memory. */
void *api_grown(struct arena *a, void *list, size_t n, size_t size);
char *api_copy(struct arena *a, const char *s);

/* The text of a buffer, for the caller to free; NULL only when out of memory. */
char *api_text(struct buf *text);
/* The same, with an error. */
char *api_text_or(struct buf *text, struct buckle_error **error);

#endif
