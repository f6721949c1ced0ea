/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Importing shipped texts that the build has evaluated. Their rules are used as they are, with the
 * program's parameters inserted. Their definitions are read from the text on first use.
 *
 * That is correct only if the text means the same here as it did at build time. So the program must
 * not have defined anything before the import, version and system must be those the build assumed,
 * no scope may surround the import, and parameters must be paths with something after the first
 * slash, because the build used placeholders for them. Otherwise the text is evaluated. A test
 * checks for each shipped profile that both ways give the same result.
 */

#include "sbpl/precompiled.h"

#include <string.h>

#include "graph/build.h"
#include "sbpl/prim.h"
#include "sbpl/read.h"

const char *const precompiled_params[PRECOMPILED_PARAMS] = {[PRECOMPILED_HOME] = "HOME",
                                                            [PRECOMPILED_TMPDIR] = "TMPDIR",
                                                            [PRECOMPILED_ORDINARY] = "ORDINARY"};

/* ---- when it applies ---- */

static bool is_path(const char *s)
{
    size_t n = s ? strlen(s) : 0;
    return n > 1 && s[0] == '/' && s[n - 1] != '/';
}

static bool is_as_assumed(const struct machine *m)
{
    const struct sbpl_options *opt = &m->unit->opt;
    return !opt->evaluate_all && opt->os == VOCAB_OS_ANY && m->version == 1 && !m->altered &&
           !m->unchecked && !m->scope && m->policy == &m->profile &&
           is_path(machine_param(m, precompiled_params[PRECOMPILED_HOME])) &&
           is_path(machine_param(m, precompiled_params[PRECOMPILED_TMPDIR]));
}

bool precompiled_find(const struct machine *m, const char *name,
                      const struct precompiled_text **out)
{
    if (!is_as_assumed(m))
        return false;
    bool ordinary = machine_param(m, precompiled_params[PRECOMPILED_ORDINARY]) != NULL;
    for (const struct precompiled_text *t = precompiled_texts; t->name; t++)
        if (strcmp(t->name, name) == 0 && (t->either || t->ordinary == ordinary)) {
            *out = t;
            return true;
        }
    return false;
}

/* ---- decoding ---- */

struct cursor {
    const unsigned char *at;
};

static uint64_t take_number(struct cursor *c)
{
    uint64_t value = 0;
    unsigned shift = 0;
    while (*c->at & 0x80) {
        value |= (uint64_t)(*c->at++ & 0x7f) << shift;
        shift += 7;
    }
    return value | (uint64_t)*c->at++ << shift;
}

static int64_t take_signed(struct cursor *c)
{
    uint64_t v = take_number(c);
    return v & 1 ? -(int64_t)(v >> 1) - 1 : (int64_t)(v >> 1);
}

static const char *take_bytes(struct cursor *c, size_t n)
{
    const char *s = (const char *)c->at;
    c->at += n + 1;
    return s;
}

/* ---- rules ---- */

/* Reads a text, prefixed with the parameter's value if it has a hole. */
static bool take_string(struct machine *m, struct cursor *c, struct graph_test *t)
{
    uint64_t hole = take_number(c);
    size_t n = take_number(c);
    const char *s = take_bytes(c, n),
               *value = hole ? machine_param(m, precompiled_params[hole - 1]) : "";
    size_t before = strlen(value);
    t->len = (uint32_t)(before + n);
    t->str = s;
    if (!hole)
        return true;
    char *whole = arena_alloc(m->arena, before + n + 1);
    if (!whole)
        return false;
    memcpy(whole, value, before);
    memcpy(whole + before, s, n + 1);
    t->str = whole;
    return true;
}

static bool take_test(struct machine *m, struct cursor *c, struct graph_test *t)
{
    t->filter = (uint16_t)take_number(c);
    t->how = (uint8_t)take_number(c);
    if (t->how <= GRAPH_REGEX)
        return take_string(m, c, t);
    t->num = take_signed(c);
    return true;
}

/* An operator takes its operands off the stack. */
static bool take_operands(struct machine *m, struct cursor *c, struct graph_expr *e,
                          const struct graph_expr **stack, size_t *depth)
{
    size_t n = take_number(c);
    const struct graph_expr **kids = arena_array(m->arena, n, sizeof(*kids));
    if (!kids || n > *depth)
        return false;
    *depth -= n;
    if (n)
        memcpy(kids, stack + *depth, n * sizeof(*kids));
    e->nkids = (uint32_t)n;
    e->kids = kids;
    return true;
}

static bool take_condition(struct machine *m, struct cursor *c, const struct graph_expr **when)
{
    const struct graph_expr *stack[PRECOMPILED_STACK];
    size_t depth = 0, n = take_number(c);
    struct graph_expr *items = arena_array(m->arena, n, sizeof(*items));
    if (!items)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct graph_expr *e = &items[i];
        e->kind = (enum graph_expr_kind)take_number(c);
        if (depth == PRECOMPILED_STACK ||
            !(e->kind == GRAPH_TEST ? take_test(m, c, &e->test)
                                    : take_operands(m, c, e, stack, &depth)))
            return false;
        stack[depth++] = e;
    }
    *when = depth ? stack[0] : NULL;
    return true;
}

static bool take_modifiers(struct machine *m, struct cursor *c, struct sbpl_rule *r)
{
    r->nmods = take_number(c);
    r->mods = arena_array(m->arena, r->nmods, sizeof(*r->mods));
    for (size_t i = 0; r->mods && i < r->nmods; i++) {
        struct graph_mod *mod = &r->mods[i];
        mod->id = (uint16_t)take_number(c);
        mod->num = take_signed(c);
        size_t n = take_number(c);
        mod->str = n ? take_bytes(c, n - 1) : NULL;
    }
    return r->mods != NULL;
}

static bool take_operations(struct machine *m, struct cursor *c, struct sbpl_rule *r)
{
    r->nops = take_number(c);
    r->ops = arena_array(m->arena, r->nops, sizeof(*r->ops));
    for (size_t i = 0; r->ops && i < r->nops; i++)
        r->ops[i] = (uint16_t)take_number(c);
    return r->ops != NULL;
}

static bool take_rule(struct machine *m, struct cursor *c, const struct source *src)
{
    struct sbpl_rule *r = arena_new(m->arena, struct sbpl_rule);
    if (!r)
        return false;
    r->allow = take_number(c);
    r->flags = (uint32_t)take_number(c);
    r->pos = src->base + (src_pos)take_number(c);
    r->top = src->base + (src_pos)take_number(c);
    r->text = src;
    r->line = (uint32_t)take_number(c);
    r->col = (uint32_t)take_number(c);
    r->via_line = (uint32_t)take_number(c);
    if (!take_operations(m, c, r) || !take_modifiers(m, c, r) || !take_condition(m, c, &r->when))
        return false;
    policy_add(m->policy, r);
    return true;
}

/* ---- definitions ---- */

/* A definition that has not been read yet. */
static bool take_definition(struct machine *m, struct cursor *c, const struct source *src)
{
    size_t n = take_number(c);
    struct symbol *name = symbol_intern(&m->syms, take_bytes(c, n), n);
    struct val *v = arena_new(m->arena, struct val);
    size_t offset = take_number(c);
    if (!name || !v)
        return false;
    v->type = V_UNREAD;
    v->text = src;
    v->at = offset;
    name->global = v;
    return true;
}

/* (define (name . parameters) body …), or (define name value) */
struct val *precompiled_value(struct machine *m, struct symbol *name)
{
    const struct val *unread = name->global;
    struct reader r = {.arena = m->arena,
                       .syms = &m->syms,
                       .diags = m->diags,
                       .s = unread->text->text,
                       .n = unread->text->len,
                       .at = unread->at,
                       .base = unread->text->base,
                       .max_depth = m->unit->opt.max_depth};
    struct val *form, *value;
    src_pos pos;
    if (read_datum(&r, &form, &pos) != READ_DATUM)
        return machine_no_memory(m);
    struct val *what = form->cdr->car, *rest = form->cdr->cdr;
    if (what->type == V_PAIR) {
        value = arena_new(m->arena, struct val);
        if (!value || !(value->lambda = val_cons(m->arena, what->cdr, rest, pos)))
            return machine_no_memory(m);
        value->type = V_CLOSURE;
    } else {
        value = machine_value_of(m, rest->car, rest->pos);
    }
    if (value)
        name->global = value;
    return value;
}

/* ---- the import ---- */

int precompiled_import(struct machine *m, const struct precompiled_text *t,
                       const struct source *src)
{
    struct cursor c = {t->bytes};
    for (size_t n = take_number(&c); n > 0; n--)
        if (!take_definition(m, &c, src))
            return machine_no_memory(m), -1;
    for (size_t n = take_number(&c); n > 0; n--)
        if (!take_rule(m, &c, src))
            return machine_no_memory(m), -1;
    return 0;
}
