/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * (require-entitlement "key") and (require-entitlement "key" (entitlement-value …)). As in Apple's
 * prelude, the first asks whether the key is true. The compiled form loads the key and then tests
 * "the" value; here each test names its key: whether it is present, is true or false, or has a
 * string, as KEY=VALUE. If entitlements are given, the tests are decided while the profile is read,
 * because they do not change while a process runs.
 */

#include "sbpl/machine.h"

#include <string.h>

#include "base/own.h"
#include "graph/build.h"
#include "graph/regex/regex.h"
#include "sbpl/prim.h"

enum { VALUE_DEPTH = 64 }; /* of the condition on a value; real ones have one level */

struct keyed {
    struct machine *m;
    const struct call *c;
    const struct val *key;
    const struct val *value; /* given, NULL if there is none */
    bool given;              /* entitlements were given at all */
    bool negative;           /* a condition that also holds without the key */
};

static struct val *constant(struct machine *m, bool holds)
{
    return filter_wrap(m, holds ? GRAPH_ALL : GRAPH_ANY, NULL, 0);
}

static struct val *key_test(struct keyed *k, enum vocab_filter filter, bool holds)
{
    struct graph_test t = {.filter = (uint16_t)filter,
                           .how = GRAPH_LITERAL,
                           .str = k->key->s,
                           .len = (uint32_t)k->key->n};
    return k->given ? constant(k->m, holds) : filter_from_test(k->m, &t);
}

/* ---- strings ---- */

static bool regex_holds(struct keyed *k, const struct graph_test *t, const struct val *v)
{
    struct regex_set *set = regex_set_new(k->m->arena, false, NULL);
    uint32_t id;
    const uint32_t *ids;
    if (!set || regex_set_add(set, t->str, t->len, &id, NULL) < 0 ||
        regex_set_freeze(set, NULL) < 0)
        return false;
    struct regex_cache *cache = regex_cache_new(set, 0);
    bool holds = cache && regex_match(set, cache, v->s, v->n, &ids) > 0;
    regex_cache_free(cache);
    return holds;
}

static bool string_holds(struct keyed *k, const struct graph_test *t, const struct val *v)
{
    if (v->type == V_PAIR) { /* any of a list */
        for (; v->type == V_PAIR; v = v->cdr)
            if (v->car->type == V_STRING && string_holds(k, t, v->car))
                return true;
        return false;
    }
    if (v->type != V_STRING)
        return false;
    switch (t->how) {
    case GRAPH_LITERAL:
        return v->n == t->len && memcmp(v->s, t->str, t->len) == 0;
    case GRAPH_PREFIX:
        return v->n >= t->len && memcmp(v->s, t->str, t->len) == 0;
    default:
        return regex_holds(k, t, v);
    }
}

/* Whether a regex is one sequence that begins with ^ or nowhere mentions it. */
static bool can_follow(const struct graph_test *t)
{
    for (uint32_t i = 0; i < t->len; i++)
        if (t->str[i] == '|' || t->str[i] == '[' || (i && t->str[i] == '^'))
            return false;
    return true;
}

/* A test for KEY=VALUE. */
static struct val *string_test(struct keyed *k, const struct graph_test *t)
{
    OWN(buf) struct buf text = {0};
    bool regex = t->how == GRAPH_REGEX, anchored = regex && t->len && t->str[0] == '^';
    if (k->given)
        return constant(k->m, k->value && string_holds(k, t, k->value));
    if (memchr(k->key->s, '=', k->key->n))
        return machine_error(k->m, k->c->pos, "entitlements",
                             "a key with = cannot have its value tested");
    if (regex && !can_follow(t))
        return machine_error(k->m, k->c->pos, "bad-regex",
                             "a regex for an entitlement takes no | and no set");
    if (regex)
        buf_chr(&text, '^');
    if (regex)
        regex_quote(k->key->s, k->key->n, &text);
    else
        buf_add(&text, k->key->s, k->key->n);
    buf_str(&text, regex && !anchored ? "=.*" : "=");
    buf_add(&text, t->str + anchored, t->len - anchored);
    struct graph_test both = {.filter = FILTER_ENTITLEMENT_STRING, .how = t->how};
    both.str = buf_ok(&text) ? arena_strndup(k->m->arena, text.s, text.n) : NULL;
    both.len = (uint32_t)text.n;
    return both.str ? filter_from_test(k->m, &both) : machine_no_memory(k->m);
}

/* ---- conditions ---- */

static bool is_true(const struct val *v)
{
    return v && v->type == V_BOOL && val_truth((struct val *)v);
}

static bool is_false(const struct val *v)
{
    return v && v->type == V_BOOL && !val_truth((struct val *)v);
}

static struct val *bind(struct keyed *k, const struct graph_expr *e, int depth)
{
    if (e->kind == GRAPH_TEST && e->test.filter == FILTER_ENTITLEMENT_IS_BOOL_FALSE)
        return key_test(k, FILTER_ENTITLEMENT_IS_BOOL_FALSE, is_false(k->value));
    if (e->kind == GRAPH_TEST && e->test.filter == FILTER_ENTITLEMENT_BOOLEAN)
        return key_test(k, FILTER_ENTITLEMENT_IS_BOOL_TRUE, is_true(k->value));
    if (e->kind == GRAPH_TEST && e->test.filter == FILTER_ENTITLEMENT_STRING)
        return string_test(k, &e->test);
    k->negative = k->negative || e->kind == GRAPH_NOT || e->kind == GRAPH_TEST || !e->nkids;
    if (e->kind == GRAPH_TEST)
        return filter_from_test(k->m, &e->test);
    if (depth > VALUE_DEPTH)
        return machine_error(k->m, k->c->pos, "condition-budget", "conditions nested too deeply");
    struct val **kids = arena_array(k->m->arena, e->nkids + 1u, sizeof(*kids));
    if (!kids)
        return machine_no_memory(k->m);
    for (uint32_t i = 0; i < e->nkids; i++)
        if (!(kids[i] = bind(k, e->kids[i], depth + 1)))
            return NULL;
    return filter_wrap(k->m, (enum graph_expr_kind)e->kind, kids, e->nkids);
}

static const struct val *given_value(struct machine *m, const struct val *key)
{
    for (struct val *l = m->entitlements; l && l->type == V_PAIR; l = l->cdr)
        if (l->car->car->n == key->n && memcmp(l->car->car->s, key->s, key->n) == 0)
            return l->car->cdr;
    return NULL;
}

static int take_key(struct keyed *k)
{
    struct machine *m = k->m;
    if (!(k->key = want(m, k->c, 0, V_STRING)))
        return -1;
    k->given = m->unit->opt.entitlements != NULL;
    if (k->given && !m->entitlements && !(m->entitlements = entitlements_load(m, k->c->pos)))
        return -1;
    k->value = given_value(m, k->key);
    return 0;
}

static struct val *is_present(struct keyed *k)
{
    return key_test(k, FILTER_ENTITLEMENT_IS_PRESENT, k->value != NULL);
}

struct val *prim_entitlement_is_present(struct machine *m, const struct call *c)
{
    struct keyed k = {.m = m, .c = c};
    return take_key(&k) < 0 ? NULL : is_present(&k);
}

/* With more arguments, the value must be accepted by one of them. */
struct val *prim_require_entitlement(struct machine *m, const struct call *c)
{
    struct keyed k = {.m = m, .c = c};
    if (take_key(&k) < 0)
        return NULL;
    if (c->args->cdr->type == V_NIL)
        return key_test(&k, FILTER_ENTITLEMENT_IS_BOOL_TRUE, is_true(k.value));
    struct val *present = is_present(&k);
    struct call rest = call_rest(c);
    struct val *any = present ? filter_combine(m, GRAPH_ANY, &rest) : NULL;
    struct val *value = any ? bind(&k, any->expr, 0) : NULL;
    struct val *both[] = {present, value};
    return value && k.negative ? filter_wrap(m, GRAPH_ALL, both, 2) : value;
}

/* (entitlement-value #t), (entitlement-value #f) or (entitlement-value "text" …). A value that is
 * not #t need not be #f: it may be a string. */
struct val *prim_entitlement_value(struct machine *m, const struct call *c)
{
    static const struct graph_test no = {
        .filter = FILTER_ENTITLEMENT_IS_BOOL_FALSE, .how = GRAPH_LITERAL, .str = ""};
    if (is_false(arg(c, 0)) && c->args->cdr->type == V_NIL)
        return filter_from_test(m, &no);
    struct val maker = {.type = V_MAKER, .form = FORM_LITERAL};
    maker.id = arg(c, 0)->type == V_BOOL ? FILTER_ENTITLEMENT_BOOLEAN : FILTER_ENTITLEMENT_STRING;
    return filter_make(m, &maker, c);
}
