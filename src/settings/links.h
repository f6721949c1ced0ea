/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_LINKS_H
#define BK_SETTINGS_LINKS_H

#include "graph/graph.h"

/*
 * Permission that leads through a symbolic link opens what the link leads to. If a command could
 * make that link itself, it would open what it likes, for itself or for the next one. Who writes
 * rules notes such links, beside the text (run_source.links); when the policy is compiled, it is
 * asked whether the command could make one of them, and if so it is refused.
 */

/* The way to `target`, which becomes readable or writable, leads through `link`. `from` says who
 * asked for it. */
void links_note(struct buf *out, bool writes, const char *link, const char *target,
                const char *from);
/* n bytes of notes. */
int links_check(const struct graph *g, const char *notes, size_t n, struct bk_err *err);

#endif
