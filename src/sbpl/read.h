/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SBPL_READ_H
#define BK_SBPL_READ_H

#include "base/diag.h"
#include "sbpl/value.h"

/*
 * Text → data. Nesting uses an explicit stack with a budget, so a million parentheses end in an
 * error. Errors go to diags. With `recover`, a parenthesis in the first column starts a new
 * top-level form, as people write profiles, so a missing parenthesis or quote is reported where it
 * belongs and not at the end of the file.
 */
struct reader {
    struct arena *arena;
    struct symtab *syms;
    struct diags *diags;
    const char *s; /* the text */
    size_t n, at;
    src_pos base; /* position of s[0] */
    uint32_t max_depth;
    bool recover;
    bool unplaced;     /* the text has no positions: data get position 0 */
    bool exhausted;    /* a budget is exhausted: nothing more can be read */
    bool preprocessed; /* damage by a C preprocessor was repaired (see read-atom.c) */
};

enum read_result { READ_DATUM, READ_END, READ_ERROR };

/* Reads the next datum; *pos is where it starts. After READ_ERROR (already in diags), reading may
 * continue if `recover` is set and `exhausted` is not. */
enum read_result read_datum(struct reader *r, struct val **out, src_pos *pos);

/* Returns all data of a text as a list whose cells have positions. If the text has errors, reads it
 * again with `recover`, so that all errors are reported and the intact forms survive. Returns NULL
 * only when a budget is exhausted. */
struct val *read_all_data(struct arena *arena, struct symtab *syms, struct diags *diags,
                          const struct source *src, uint32_t max_depth);

/* Length of the datum at text[0], for quoting a rule: up to the parenthesis that closes it. */
size_t read_extent(const char *text, size_t n);

/* Parses a number in Scheme's syntax (decimal, or the given radix); NULL when it is not one. */
struct val *read_number(struct arena *arena, const char *s, size_t n, int radix);

#endif
