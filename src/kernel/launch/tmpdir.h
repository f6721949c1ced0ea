/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_TMPDIR_H
#define BK_KERNEL_LAUNCH_TMPDIR_H

#include <stdbool.h>

#include "base/err.h"

/*
 * The session's TMPDIR: a folder of its own below $XDG_RUNTIME_DIR or /tmp, locked as long as the
 * session lives and removed with it. A session that was killed leaves an unlocked folder behind,
 * which the next one removes.
 */
struct tmpdir {
    char path[256]; /* the command's TMPDIR; empty when there is none */
    int lock;       /* the folder itself, once it is made */
};

/* Where it will be: as much as a policy needs to know. */
int tmpdir_name(struct tmpdir *s, struct bk_err *err);
/* Removes what others left, makes it and locks it. */
int tmpdir_make(struct tmpdir *s, struct bk_err *err);
/* Removes it when it is empty, as most leave it. */
bool tmpdir_remove_empty(struct tmpdir *s);
void tmpdir_remove(struct tmpdir *s); /* also fine when tmpdir_make() failed */

#endif
