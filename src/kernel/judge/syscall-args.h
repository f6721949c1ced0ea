/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_SYSCALL_ARGS_H
#define BK_KERNEL_JUDGE_SYSCALL_ARGS_H

#include "kernel/judge/judge.h"
#include "kernel/judge/resolve.h"

/* Calls that name one object in one of several ways. */

/* What a call names, and the rest of what it says. */
struct named {
    struct pinned p;
    int held;             /* the descriptor, when the call names no path but that; else -1 */
    unsigned flags;       /* AT_… */
    const uint64_t *rest; /* the arguments after those that name the object */
};

/* Pins what the call means. 0 or a negated errno; p is to be closed either way. */
int pin_named(struct judge *w, const struct request *r, struct named *n);
void named_close(struct named *n);
#define OWN_named named_close

/* Name of a pinned object among the judge's own descriptors. */
void pin_name(const struct pinned *p, char out[32]);

#endif
