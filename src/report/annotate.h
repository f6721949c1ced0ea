/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_REPORT_ANNOTATE_H
#define BK_REPORT_ANNOTATE_H

#include "report/store.h"

/*
 * The block that agents read after a command's error output:
 *
 *     <sandbox_violations>
 *     cat(4711) deny(1) file-read-data /home/me/.ssh/id_ed25519
 *     </sandbox_violations>
 *
 * Only Buckle writes this block. Tags that the command printed, or put into a file name, are
 * escaped.
 */

/* Appends only the block, on a new line; nothing without violations. total: how many there were; if
 * there were more, the block says so. */
void annotate_block(const struct violations *v, uint64_t total, struct buf *out);
/* Appends a command's error output, with its own tags escaped, and the block. */
void annotate(const char *text, size_t n, const struct violations *v, uint64_t total,
              struct buf *out);
/* Appends the text without blocks and then trims it. Text without a block is unchanged. */
void annotate_strip(const char *text, size_t n, struct buf *out);
/* The same for a piece of a longer text, without trimming. A block may have begun in an earlier
 * piece (after), or may end in a later one (before). */
struct annotate_piece {
    bool after, before;
};
void annotate_strip_piece(const char *text, size_t n, struct annotate_piece piece, struct buf *out);

#endif
