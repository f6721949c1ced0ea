/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_LINUX_LOOKUPS_H
#define BK_RUN_LINUX_LOOKUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * Calls a function and notes every name that it looks up. The kernel reports them, so none can be
 * forgotten.
 */
/* What was asked: the name, which includes the file's identity, owner and mode; also its times and
 * size; it was opened. */
enum lookup { LOOKUP_NAME = '-', LOOKUP_FACTS = '=', LOOKUP_CONTENTS = '+' };

struct lookups {
    struct buf paths; /* each: enum lookup, an absolute path, NUL */
    bool complete;    /* and the function asked the kernel for nothing else that can change */
};

/* Calls look(arg) in a thread of its own, while this one waits. Returns what it returned. Free with
 * buf_free(&out->paths). */
bool lookups_note(bool (*look)(void *arg), void *arg, struct lookups *out);

#endif
