/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SBPL_PRIM_H
#define BK_SBPL_PRIM_H

#include "sbpl/machine.h"

/* All built-in procedures; the number of arguments has been checked when one is called. */
#define PRIM(name, min, max, fn) struct val *fn(struct machine *m, const struct call *c);
#include "sbpl/prims.def"
#undef PRIM

static inline struct val *arg(const struct call *c, int i)
{
    struct val *l = c->args;
    while (i-- > 0)
        l = l->cdr;
    return l->car;
}

/* Reports what the i-th argument should have been. Returns NULL. */
void *wrong_type(struct machine *m, const struct call *c, int i, const char *wanted);

/* The i-th argument when it has the type, else NULL after an error. */
struct val *want(struct machine *m, const struct call *c, int i, enum val_type type);
struct val *want_list(struct machine *m, const struct call *c, int i);
struct val *want_number(struct machine *m, const struct call *c, int i);

/* v, or NULL after reporting that memory ran out. */
struct val *made(struct machine *m, struct val *v);
/* The same for a string that was made of another, which may be an empty parameter (empty-names.c).
 */
struct val *made_of(struct machine *m, struct val *v, const struct val *from);

#endif
