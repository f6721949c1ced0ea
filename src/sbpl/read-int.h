/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SBPL_READ_INT_H
#define BK_SBPL_READ_INT_H

#include "sbpl/read.h"

/* Shared by the reader's two halves: lists (read.c) and atoms (read-atom.c). */

enum { READ_SPACE = 1, READ_DELIMITER = 2 };
extern const uint8_t read_kinds[256];

static inline bool read_is_space(char c)
{
    return read_kinds[(unsigned char)c] & READ_SPACE;
}

static inline bool read_is_delimiter(char c)
{
    return read_kinds[(unsigned char)c] & READ_DELIMITER;
}

static inline bool read_at_line_start(const struct reader *r, size_t at)
{
    return at == 0 || r->s[at - 1] == '\n';
}

/* Whether the text here can only be a new top-level form or a comment before one. Layout shows
 * where an unclosed string or list should have ended. */
static inline bool read_looks_top_level(const struct reader *r, size_t at)
{
    return read_at_line_start(r, at) && (r->s[at] == '(' || r->s[at] == ';');
}

src_pos read_here(const struct reader *r, size_t at);
/* Both report an error and return READ_ERROR. */
enum read_result read_fail(struct reader *r, size_t at, const char *code, const char *msg,
                           const char *hint);
enum read_result read_no_room(struct reader *r, size_t at);

/* Each reads one datum at r->at. For a string that is its quote, and start is the position to
 * report. */
enum read_result read_string(struct reader *r, size_t start, size_t quote, bool raw,
                             struct val **out);
enum read_result read_hash(struct reader *r, struct val **out);
enum read_result read_atom(struct reader *r, struct val **out);

#endif
