/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_TERMINALS_H
#define BK_KERNEL_LAUNCH_TERMINALS_H

#include <stddef.h>

/*
 * Whoever may open a terminal reads what is typed there and writes what is shown. So a sandbox has
 * a /dev/pts of its own: of the host's pseudo-terminals only the one that the command was handed is
 * in it, under its name.
 */
enum { TERMINALS_MOST = 64 }; /* one with a higher number is used without a name */

struct terminals {
    int masters[TERMINALS_MOST]; /* of terminals that were made to get to that number */
    size_t n;
};

/* Mounts it, in a mount namespace of the caller's own. 0 or a negated errno. */
int terminals_mount(struct terminals *t);
/* Closes what was opened on the way, which takes its time. The descriptor that is left, or -1: as
 * long as it is open the terminal keeps its name. */
int terminals_settle(struct terminals *t);

#endif
