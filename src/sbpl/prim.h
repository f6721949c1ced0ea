/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SBPL_PRIM_H
#define BK_SBPL_PRIM_H

#include "sbpl/machine.h"

struct prim {
    const char *name;
    int min, max; /* number of arguments; max -1: any */
    /* Returns the value; NULL after reporting an error; machine_control if it changed the mode. */
    struct val *(*fn)(struct machine *m, const struct call *c);
};

const struct prim *prim_find(const char *name, size_t n);
struct val *prim_value(struct machine *m, const char *name); /* of a procedure that exists */

/* All built-in procedures. The caller has checked the number of arguments. */
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

/* Reports what type the i-th argument should have. Returns NULL. */
void *wrong_type(struct machine *m, const struct call *c, int i, const char *wanted);

/* Returns the i-th argument if it has the type, else NULL after an error. */
struct val *want(struct machine *m, const struct call *c, int i, enum val_type type);
struct val *want_list(struct machine *m, const struct call *c, int i);
struct val *want_number(struct machine *m, const struct call *c, int i);

/* Returns v. If it is NULL, reports that memory is exhausted. */
struct val *checked(struct machine *m, struct val *v);
/* The same for a string derived from another, which may be an empty parameter (empty-names.c). */
struct val *checked_string(struct machine *m, struct val *v, const struct val *from);

#endif
