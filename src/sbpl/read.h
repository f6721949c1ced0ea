/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SBPL_READ_H
#define BK_SBPL_READ_H

#include "base/diag.h"
#include "sbpl/value.h"

/*
 * Text → data. Nesting is kept on an explicit stack with a budget, so a million parentheses end in
 * an error. Mistakes go into diags; with `recover` the reader takes a parenthesis in the first
 * column as the start of a new top-level form, which is how people write profiles, and so finds
 * where a missing parenthesis or quote belongs instead of complaining about the end of the file.
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
    bool unplaced;     /* the text has no place of its own: data get position 0 */
    bool exhausted;    /* a budget ran out: no further data can be read */
    bool preprocessed; /* damage done by a C preprocessor was mended (see read-atom.c) */
};

enum read_result { READ_DATUM, READ_END, READ_ERROR };

/* The next datum; *pos is where it starts. After READ_ERROR (already in diags) reading may go on
 * when `recover` is set and `exhausted` is not. */
enum read_result read_datum(struct reader *r, struct val **out, src_pos *pos);

/* All data of a text as a list whose cells know where each was written. When the text is broken,
 * reads it again with `recover`, so that all mistakes are told and the sound forms survive.
 * NULL only when a budget ran out. */
struct val *read_all_data(struct arena *arena, struct symtab *syms, struct diags *diags,
                          const struct source *src, uint32_t max_depth);

/* Bytes of the datum at text[0], for quoting a rule: up to the parenthesis that closes it. */
size_t read_extent(const char *text, size_t n);

/* A number in Scheme's spelling (decimal, or the given radix), or NULL when it is none. */
struct val *read_number(struct arena *arena, const char *s, size_t n, int radix);

#endif
