/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_TERMINALS_H
#define BK_KERNEL_LAUNCH_TERMINALS_H

#include <stddef.h>

/*
 * A process that can open a terminal reads what is typed there and writes what is shown. So a
 * sandbox has its own /dev/pts. Of the host's pseudo-terminals it has only the one that the command
 * inherited, under its name.
 */
enum { TERMINALS_MOST = 64 }; /* a terminal with a higher number gets no name */

struct terminals {
    int masters[TERMINALS_MOST]; /* terminals that were created to reach that number */
    size_t n;
};

/* Mounts it, in the caller's own mount namespace. Returns 0 or a negative errno. */
int terminals_mount(struct terminals *t);
/* Closes the terminals opened on the way, which is slow. Returns the file descriptor that is left,
 * or -1. While it is open, the terminal keeps its name. */
int terminals_settle(struct terminals *t);

#endif
