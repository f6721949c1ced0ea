/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_LINKS_H
#define BK_SETTINGS_LINKS_H

#include "graph/eval.h"

/*
 * A permission that leads through a symlink opens the link's target. If the command could create
 * that link, it could open anything, for itself or for the next command. Front ends note such links
 * beside the text (run_source.links). Once the policy is compiled, it is refused if it allows the
 * command to create one of them.
 */

/* Notes that the path to `target`, which becomes readable or writable, leads through `link`. `from`
 * says which setting or flag allows it. */
void links_note(struct buf *out, bool writes, const char *link, const char *target,
                const char *from);
/* Fails if the policy allows the command to create a noted link. notes has n bytes. */
int links_check(const struct graph *g, const char *notes, size_t n, struct bk_err *err);

#endif
