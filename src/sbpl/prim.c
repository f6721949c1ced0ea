/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The table of procedures, lookup by name, and checks that all procedures share. */

#include "sbpl/prim.h"

#include <string.h>

static const struct prim prims[] = {
#define PRIM(name, min, max, fn) {name, min, max, fn},
#include "sbpl/prims.def"
#undef PRIM
};

enum { PRIM_COUNT = sizeof(prims) / sizeof(prims[0]) };

const struct prim *prim_find(const char *name, size_t n)
{
    size_t lo = 0, hi = PRIM_COUNT;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int order = name_compare(name, n, prims[mid].name);
        if (order == 0)
            return &prims[mid];
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

struct val *prim_value(struct machine *m, const char *name)
{
    struct val *v = arena_new(m->arena, struct val);
    if (v) {
        v->type = V_PRIM;
        v->prim = prim_find(name, strlen(name));
    }
    return v;
}

void *wrong_type(struct machine *m, const struct call *c, int i, const char *wanted)
{
    struct val *v = arg(c, i);
    machine_error(m, call_arg_pos(c, i), "wrong-type", "expected %s here, not %s", wanted,
                  v == &val_false ? "#f" : val_type_words(v));
    if (v == &val_false && m->missing_param)
        machine_hint(m, "the parameter %s has no value: give it with -D %s=…", m->missing_param,
                     m->missing_param);
    return NULL;
}

struct val *want(struct machine *m, const struct call *c, int i, enum val_type type)
{
    struct val *v = arg(c, i);
    if (type == V_STRING && v->type == V_STRING)
        machine_charge(m, v->n);
    struct val sample = {.type = (uint8_t)type};
    return v->type == type ? v : wrong_type(m, c, i, val_type_words(&sample));
}

struct val *want_list(struct machine *m, const struct call *c, int i)
{
    int64_t n = val_length(arg(c, i));
    machine_charge(m, n > 0 ? (size_t)n : 0);
    return n >= 0 ? arg(c, i) : wrong_type(m, c, i, "a list");
}

struct val *want_number(struct machine *m, const struct call *c, int i)
{
    struct val *v = arg(c, i);
    return v->type == V_INT || v->type == V_REAL ? v : wrong_type(m, c, i, "a number");
}

struct val *checked(struct machine *m, struct val *v)
{
    return v ? v : machine_no_memory(m);
}

struct val *checked_string(struct machine *m, struct val *v, const struct val *from)
{
    if (v)
        v->id = from->id;
    return checked(m, v);
}

/* Accepted, without effect here: settings of Apple's compiler and of the system log. */
struct val *prim_void(struct machine *m, const struct call *c)
{
    (void)m;
    (void)c;
    return &val_void;
}
