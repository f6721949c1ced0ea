/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_SYSCALL_ARGS_H
#define BK_KERNEL_JUDGE_SYSCALL_ARGS_H

#include "kernel/judge/resolve.h"

/* Calls that name one object in one of several ways. */

/* The object that a call names, and its other arguments. */
struct named {
    struct pinned p;
    int held;             /* the descriptor, if the call names no path; otherwise -1 */
    unsigned flags;       /* AT_... */
    const uint64_t *rest; /* the arguments after those that name the object */
};

/* Pins the object. Returns 0 or a negative errno; close n either way. */
int pin_named(struct judge *j, const struct request *r, struct named *n);
void named_close(struct named *n);
#define OWN_named named_close

/* Writes the path of a pinned object among the judge's own descriptors. */
void pin_name(const struct pinned *p, char out[32]);

#endif
