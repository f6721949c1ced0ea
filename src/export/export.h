/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_EXPORT_EXPORT_H
#define BK_EXPORT_EXPORT_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "graph/graph.h"

/*
 * What a policy means to a mechanism that has no judge: the folders that bound an operation, the
 * system calls that are refused. For files the result is an upper bound, as Buckle's own walls are;
 * a call that nobody can judge is refused where passing it would lead around them; hosts are a
 * lower bound. `lost` says what is decided nowhere then, a line each.
 */
enum export_to { EXPORT_LANDLOCK, EXPORT_SECCOMP, EXPORT_SYSTEMD, EXPORTS };

struct exported {
    struct buf text;
    struct buf lost;
    size_t nlost;
};

/* Fails where there is no planner. Free with exported_free() whatever happened. */
int export_graph(const struct graph *g, enum export_to to, struct exported *out,
                 struct bk_err *err);

static inline void exported_free(struct exported *e)
{
    buf_free(&e->text);
    buf_free(&e->lost);
}
#define OWN_exported exported_free

#endif
