/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_REPORT_ANNOTATE_H
#define BK_REPORT_ANNOTATE_H

#include "report/store.h"

/*
 * What an agent reads after a command's own error output, and a person does not:
 *
 *     <sandbox_violations>
 *     cat(4711) deny(1) file-read-data /home/me/.ssh/id_ed25519
 *     </sandbox_violations>
 *
 * There is only one such block, and it is ours: tags that a command printed, or hid in the name of
 * a file, lose their brackets.
 */

/* The block alone, after a line's end; nothing without violations. */
void annotate_block(const struct violations *v, struct buf *out);
/* A command's error output with its tags disarmed, and the block. */
void annotate(const char *text, size_t n, const struct violations *v, struct buf *out);
/* The text without any block, and then without white space around it; as it is when there is none.
 */
void annotate_strip(const char *text, size_t n, struct buf *out);

#endif
