/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_SOURCE_H
#define BK_BASE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/*
 * Texts and positions in them. Every text gets a range of one 32-bit position space, so a position
 * is one number. File, line and column are computed on demand. Position 0 means "nowhere".
 */
typedef uint32_t src_pos;

struct source {
    const char *name; /* as the user gave it, for messages */
    const char *text; /* NUL-terminated, may contain NULs before its end */
    size_t len;
    src_pos base;    /* position of text[0] */
    uint32_t *lines; /* where each line starts, computed on first use */
    uint32_t nlines;
    uint8_t from; /* the caller's mark: who wrote it; 0 unless set */
    struct source *next;
};

struct source_map {
    struct arena *arena;
    struct source *first, *last;
    src_pos next;
};

struct source_place {
    const struct source *source; /* NULL for nowhere */
    uint32_t line, col;          /* 1-based; col counts characters, each invalid byte as one, and
                                  * far into a very long line every byte */
    const char *line_text;       /* start of that line in the source */
    size_t line_len;             /* without the newline */
};

enum { SOURCE_MAX = 16 << 20 }; /* bytes in one text */

void source_map_init(struct source_map *map, struct arena *arena);

/* Copies name and text into the map's arena. Returns NULL and sets *err when a budget is
 * exceeded. */
struct source *source_add(struct source_map *map, const char *name, const char *text, size_t len,
                          struct bk_err *err);

/* Like source_add(), but does not copy the text, which must outlive the map. */
struct source *source_lend(struct source_map *map, const char *name, const char *text, size_t len,
                           struct bk_err *err);

/* Reads a regular file or a pipe of at most SOURCE_MAX bytes; "-" is standard input. */
struct source *source_read(struct source_map *map, const char *path, struct bk_err *err);

/* Not thread-safe for one map: it caches where lines start. */
struct source_place source_find(struct source_map *map, src_pos pos);

/* The inverse: returns 0 when there is no such text. Compares only the first `cap` bytes of
 * names. */
src_pos source_position(const struct source_map *map, const char *name, size_t cap, uint32_t line,
                        uint32_t col);

#endif
