/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Procedures on lists, predicates, equality, and those that call other procedures. */

#include "sbpl/prim.h"

#include <string.h>

struct val *prim_cons(struct machine *m, const struct call *c)
{
    return machine_cons(m, arg(c, 0), arg(c, 1), 0);
}

/* Follows a path of 'a' and 'd' from the right, as the name c…r spells it. */
static struct val *follow(struct machine *m, const struct call *c, const char *path)
{
    struct val *v = arg(c, 0);
    for (size_t i = strlen(path); i-- > 0;) {
        if (v->type != V_PAIR)
            return wrong_type(m, c, 0, i == strlen(path) - 1 ? "a pair" : "a longer list");
        v = path[i] == 'a' ? v->car : v->cdr;
    }
    return v;
}

#define FOLLOW(name, path)                                                                         \
    struct val *prim_##name(struct machine *m, const struct call *c)                               \
    {                                                                                              \
        return follow(m, c, path);                                                                 \
    }
FOLLOW(car, "a")
FOLLOW(cdr, "d")
FOLLOW(caar, "aa")
FOLLOW(cadr, "ad")
FOLLOW(cdar, "da")
FOLLOW(cddr, "dd")
FOLLOW(caddr, "add")
FOLLOW(cdddr, "ddd")
FOLLOW(cadddr, "addd")

struct val *prim_set_car(struct machine *m, const struct call *c)
{
    struct val *p = want(m, c, 0, V_PAIR);
    if (!p)
        return NULL;
    p->car = arg(c, 1);
    return &val_void;
}

struct val *prim_set_cdr(struct machine *m, const struct call *c)
{
    struct val *p = want(m, c, 0, V_PAIR);
    if (!p)
        return NULL;
    p->cdr = arg(c, 1);
    return &val_void;
}

static int copy_onto(struct machine *m, struct listing *out, struct val *list)
{
    for (; list->type == V_PAIR; list = list->cdr)
        if (listing_add(m, out, list->car, list->pos) < 0)
            return -1;
    return 0;
}

struct val *prim_list(struct machine *m, const struct call *c)
{
    (void)m;
    return c->args;
}

struct val *prim_list_copy(struct machine *m, const struct call *c)
{
    struct listing out = {0};
    struct val *list = want_list(m, c, 0);
    if (!list || copy_onto(m, &out, list) < 0)
        return NULL;
    return listing_end(&out, &val_nil);
}

struct val *prim_length(struct machine *m, const struct call *c)
{
    struct val *list = want_list(m, c, 0);
    return list ? checked(m, val_int(m->arena, val_length(list))) : NULL;
}

/* The last argument is shared, as in Scheme; the others are copied. */
struct val *prim_append(struct machine *m, const struct call *c)
{
    struct listing out = {0};
    struct call at = *c;
    for (; at.args->type == V_PAIR && at.args->cdr->type == V_PAIR; at = call_rest(&at)) {
        struct val *list = want_list(m, &at, 0);
        if (!list || copy_onto(m, &out, list) < 0)
            return NULL;
    }
    return listing_end(&out, at.args->type == V_PAIR ? at.args->car : &val_nil);
}

struct val *prim_reverse(struct machine *m, const struct call *c)
{
    struct val *list = want_list(m, c, 0), *out = &val_nil;
    for (; list && out && list->type == V_PAIR; list = list->cdr)
        out = machine_cons(m, list->car, out, list->pos);
    return list ? out : NULL;
}

static struct val *tail_of(struct machine *m, const struct call *c, bool element)
{
    struct val *list = arg(c, 0), *n = want(m, c, 1, V_INT);
    if (!n)
        return NULL;
    for (int64_t i = 0; i < n->num && list->type == V_PAIR; i++)
        list = list->cdr;
    if (n->num < 0 || n->num > val_length(arg(c, 0)) || (element && list->type != V_PAIR))
        return machine_error(m, call_arg_pos(c, 1), "out-of-range", "the list has no element %lld",
                             (long long)n->num);
    return list;
}

struct val *prim_list_tail(struct machine *m, const struct call *c)
{
    struct val *list = want_list(m, c, 0);
    return list ? tail_of(m, c, false) : NULL;
}

struct val *prim_list_ref(struct machine *m, const struct call *c)
{
    struct val *list = want_list(m, c, 0);
    list = list ? tail_of(m, c, true) : NULL;
    return list ? list->car : NULL;
}

/* ---- equality and searching ---- */

struct val *prim_eqv(struct machine *m, const struct call *c)
{
    (void)m;
    return val_bool(val_eqv(arg(c, 0), arg(c, 1)));
}

/* Returns 1 or 0, or -1 after an error. Comparing counts against the step budget. */
static int compare_deep(struct machine *m, const struct val *a, const struct val *b)
{
    uint64_t before = m->max_steps > m->steps ? m->max_steps - m->steps : 0, left = before;
    int same = val_equal(m->arena, a, b, &left);
    m->steps += before - left;
    if (same < 0 && left)
        machine_no_memory(m);
    else if (same < 0)
        machine_no_steps(m);
    return same;
}

struct val *prim_equal(struct machine *m, const struct call *c)
{
    int same = compare_deep(m, arg(c, 0), arg(c, 1));
    return same < 0 ? NULL : val_bool(same);
}

/* memq/member (returns the tail) and assq/assoc (returns the pair), by eqv? or equal?. */
static struct val *search(struct machine *m, const struct call *c, bool deep, bool pairs)
{
    struct val *list = want_list(m, c, 1);
    for (; list && list->type == V_PAIR; list = list->cdr) {
        struct val *item = list->car;
        if (pairs && item->type != V_PAIR)
            continue;
        struct val *key = pairs ? item->car : item;
        int same = deep ? compare_deep(m, arg(c, 0), key) : val_eqv(arg(c, 0), key);
        if (same < 0)
            return NULL;
        if (same)
            return pairs ? item : list;
    }
    return list ? &val_false : NULL;
}

struct val *prim_memq(struct machine *m, const struct call *c)
{
    return search(m, c, false, false);
}

struct val *prim_member(struct machine *m, const struct call *c)
{
    return search(m, c, true, false);
}

struct val *prim_assq(struct machine *m, const struct call *c)
{
    return search(m, c, false, true);
}

struct val *prim_assoc(struct machine *m, const struct call *c)
{
    return search(m, c, true, true);
}

/* ---- predicates ---- */

#define PREDICATE(name, condition)                                                                 \
    struct val *prim_##name(struct machine *m, const struct call *c)                               \
    {                                                                                              \
        (void)m;                                                                                   \
        const struct val *v = arg(c, 0);                                                           \
        return val_bool(condition);                                                                \
    }
PREDICATE(not, !val_truth(v))
PREDICATE(is_null, v->type == V_NIL)
PREDICATE(is_pair, v->type == V_PAIR)
PREDICATE(is_boolean, v->type == V_BOOL)
PREDICATE(is_symbol, v->type == V_SYMBOL)
PREDICATE(is_string, v->type == V_STRING)
PREDICATE(is_char, v->type == V_CHAR)
PREDICATE(is_number, v->type == V_INT || v->type == V_REAL)
PREDICATE(is_procedure, v->type == V_CLOSURE || v->type == V_PRIM || v->type == V_MAKER)
PREDICATE(is_eof, v->type == V_EOF)
PREDICATE(is_filter, v->type == V_FILTER)
PREDICATE(is_modifier, v->type == V_MODIFIER)
PREDICATE(is_operation, v->type == V_OP)

struct val *prim_is_list(struct machine *m, const struct call *c)
{
    int64_t n = val_length(arg(c, 0));
    machine_charge(m, n > 0 ? (size_t)n : 0);
    return val_bool(n >= 0);
}

/* ---- procedures that call procedures ---- */

/* (apply f a b '(c d)) */
struct val *prim_apply(struct machine *m, const struct call *c)
{
    struct listing out = {0};
    struct call at = call_rest(c);
    for (; at.args->cdr->type == V_PAIR; at = call_rest(&at))
        if (listing_add(m, &out, at.args->car, 0) < 0)
            return NULL;
    struct val *last = want_list(m, &at, 0);
    if (!last)
        return NULL;
    machine_apply(m, arg(c, 0), listing_end(&out, last), c->pos);
    return &machine_control;
}

static struct val *start_map(struct machine *m, const struct call *c, bool keep)
{
    for (struct call at = call_rest(c); at.args->type == V_PAIR; at = call_rest(&at))
        if (!want_list(m, &at, 0))
            return NULL;
    struct frame f = {.kind = FRAME_MAP,
                      .pos = c->pos,
                      .a = arg(c, 0),
                      .b = keep ? &val_nil : &val_void,
                      .c = c->args->cdr};
    if (machine_push(m, f) < 0)
        return NULL;
    machine_return(m, NULL); /* no result yet: the frame starts with the first elements */
    return &machine_control;
}

struct val *prim_map(struct machine *m, const struct call *c)
{
    return start_map(m, c, true);
}

struct val *prim_for_each(struct machine *m, const struct call *c)
{
    return start_map(m, c, false);
}

/* (partition sbpl-filter? list) → (matching others). Takes built-in predicates only, as profiles
 * do. */
struct val *prim_partition(struct machine *m, const struct call *c)
{
    struct val *test = arg(c, 0), *list = want_list(m, c, 1);
    struct listing yes = {0}, no = {0};
    if (!list)
        return NULL;
    if (test->type != V_PRIM || test->prim->min != 1 || test->prim->max != 1 ||
        test->prim->name[strlen(test->prim->name) - 1] != '?')
        return wrong_type(m, c, 0, "a built-in predicate");
    for (; list->type == V_PAIR; list = list->cdr) {
        struct val one = {.type = V_PAIR, .car = list->car, .cdr = &val_nil};
        struct call inner = {.args = &one, .pos = c->pos};
        struct val *v = test->prim->fn(m, &inner);
        if (!v || listing_add(m, val_truth(v) ? &yes : &no, list->car, list->pos) < 0)
            return NULL;
    }
    struct val *items[] = {listing_end(&yes, &val_nil), listing_end(&no, &val_nil)};
    return machine_list(m, 0, 2, items);
}

struct val *prim_eval(struct machine *m, const struct call *c)
{
    machine_eval(m, arg(c, 0), c->pos, NULL);
    return &machine_control;
}

/* TinyScheme's: whatever is not a pair. */
struct val *prim_is_atom(struct machine *m, const struct call *c)
{
    (void)m;
    return val_bool(arg(c, 0)->type != V_PAIR);
}
