/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ANALYZE_DECOMPILE_SEXP_H
#define BK_ANALYZE_DECOMPILE_SEXP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"

/* A list or an atom, to be printed. */
struct sexp {
    const char *atom; /* NULL: a list */
    struct sexp *first, *last, *next;
    size_t width; /* on one line; for a list, set when printing */
    bool fills;   /* its atoms fill lines when it does not fit on one */
};

/* Everything is in the arena. Returns false or NULL when that is exhausted, also for a NULL
 * list. */
struct sexp *sexp_list(struct arena *a);
bool sexp_add(struct sexp *list, struct sexp *part);
bool sexp_atom(struct arena *a, struct sexp *list, const char *text);

/* Writes text that reads back as these bytes, none of which is NUL. */
void sexp_string(const char *s, size_t n, struct buf *out);
void sexp_regex(const char *s, size_t n, struct buf *out);

void sexp_print(struct sexp *s, struct buf *out);

#endif
