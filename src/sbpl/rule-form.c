/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Rules and modifiers. (allow …) and (deny …) take operations, filters and modifiers in any order,
 * add those of the surrounding with-… forms, check that everything fits the operations, and append
 * a rule to the current policy.
 */

#include "sbpl/machine.h"

#include <string.h>

#include "graph/build.h"
#include "sbpl/prim.h"

/* ---- modifiers ---- */

enum { SIGKILL_OF_MACOS = 9 };

static struct val *modifier_value(struct machine *m, uint16_t id, int64_t num, const char *str)
{
    struct val *v = arena_new(m->arena, struct val);
    struct graph_mod *mod = arena_new(m->arena, struct graph_mod);
    if (!v || !mod)
        return machine_no_memory(m);
    *mod = (struct graph_mod){.id = id, .num = num, .str = str};
    v->type = V_MODIFIER;
    v->mod = mod;
    return v;
}

struct val *modifier_of_policy(struct machine *m, struct sbpl_policy *policy)
{
    return modifier_value(m, MOD_MESSAGE_FILTER, policy->number, NULL);
}

/* (with name [value]) */
struct val *modifier_make(struct machine *m, const struct call *c)
{
    struct val *name = want(m, c, 0, V_MODNAME);
    if (!name)
        return NULL;
    const struct vocab_modifier_info *info = &vocab_modifiers[name->id];
    int64_t n = val_length(c->args) - 1;
    /* (with user-approval) alone appears in the specification's examples. */
    int64_t fewest = info->arg == 1 || name->id == MOD_USER_APPROVAL ? 0 : 1;
    if (n < fewest || n > (info->arg == 1 ? 0 : 1))
        return machine_error(m, c->pos, "argument-count", "(with %s) takes %s", info->name,
                             info->arg == 1 ? "no value" : "one value");
    struct val *v = n ? arg(c, 1) : NULL;
    if (info->arg == 2 && v && v->type != V_INT)
        return wrong_type(m, c, 1, "a number or a name such as SIGKILL or EPERM");
    if (info->arg == 3 && v && v->type != V_STRING)
        return wrong_type(m, c, 1, "a string");
    if (info->arg == 4)
        return machine_error(m, c->pos, "bad-modifier", "write (apply-message-filter …) instead");
    if (name->id == MOD_TERMINATION)
        return modifier_value(m, MOD_SEND_SIGNAL, SIGKILL_OF_MACOS, NULL);
    return modifier_value(m, name->id, v && v->type == V_INT ? v->num : 0,
                          v && v->type == V_STRING ? v->s : NULL);
}

/* ---- collecting a rule's parts ---- */

struct parts {
    struct val **ops, **filters, **mods;
    int *filter_args; /* the argument index of each filter */
    size_t nops, nfilters, nmods, cap;
    bool no_op; /* it names an operation that newer systems ignore */
};

static size_t scope_size(const struct scope *s)
{
    size_t n = 0;
    for (; s; s = s->up)
        n += s->extra->type == V_PAIR ? (size_t)val_length(s->extra) : 1;
    return n;
}

static int parts_init(struct machine *m, struct parts *p, const struct call *c)
{
    memset(p, 0, sizeof(*p));
    p->cap = (size_t)val_length(c->args) + scope_size(m->scope);
    p->ops = arena_array(m->arena, p->cap, sizeof(*p->ops));
    p->filters = arena_array(m->arena, p->cap, sizeof(*p->filters));
    p->mods = arena_array(m->arena, p->cap, sizeof(*p->mods));
    p->filter_args = arena_array(m->arena, p->cap, sizeof(*p->filter_args));
    if (p->ops && p->filters && p->mods && p->filter_args)
        return 0;
    machine_no_memory(m);
    return -1;
}

static int refuse_part(struct machine *m, const struct call *c, int i, const struct val *v)
{
    struct buf shown = {0};
    val_print(v, 60, &shown);
    machine_error(m, call_arg_pos(c, i), "bad-rule-part",
                  "a rule is made of operations, filters and (with …); this is %s",
                  v == &val_false ? "#f" : val_type_words(v));
    if (v->type == V_MAKER)
        machine_hint(m, "a filter needs its value in parentheses: (%s …)",
                     vocab_filter_spelling(v->id, (enum vocab_form)v->form));
    else if (v->type == V_MODNAME)
        machine_hint(m, "write (with %s)", vocab_modifiers[v->id].name);
    else if (v->type == V_STRING)
        machine_hint(m, "did you mean (literal %s) or (subpath %s)?", shown.s, shown.s);
    buf_free(&shown);
    return -1;
}

static int take_part(struct machine *m, struct parts *p, const struct call *c, int i, struct val *v)
{
    switch (v->type) {
    case V_OP:
        p->ops[p->nops++] = v;
        return 0;
    case V_FILTER:
        p->filter_args[p->nfilters] = i;
        p->filters[p->nfilters++] = v;
        return 0;
    case V_MODIFIER:
        p->mods[p->nmods++] = v;
        return 0;
    case V_SYMBOL:
        if (strcmp(v->s, "no-op") == 0) {
            p->no_op = true;
            return 0;
        }
        return refuse_part(m, c, i, v);
    default:
        return refuse_part(m, c, i, v);
    }
}

static int take_parts(struct machine *m, struct parts *p, const struct call *c)
{
    int i = 0;
    if (parts_init(m, p, c) < 0)
        return -1;
    for (struct val *l = c->args; l->type == V_PAIR; l = l->cdr, i++)
        if (take_part(m, p, c, i, l->car) < 0)
            return -1;
    for (const struct scope *s = m->scope; s; s = s->up) {
        if (s->extra->type == V_MODIFIER)
            p->mods[p->nmods++] = s->extra;
        for (struct val *l = s->extra; l->type == V_PAIR; l = l->cdr)
            p->ops[p->nops++] = l->car;
    }
    return 0;
}

/* The rule's filters are alternatives; each with-filter around it must hold as well. */
static int rule_condition(struct machine *m, const struct parts *p, const struct graph_expr **when)
{
    struct val *all = NULL;
    if (p->nfilters == 1)
        all = p->filters[0];
    else if (p->nfilters && !(all = filter_wrap(m, GRAPH_ANY, p->filters, p->nfilters)))
        return -1;
    for (const struct scope *s = m->scope; s; s = s->up) {
        if (s->extra->type != V_FILTER)
            continue;
        struct val *both[] = {all, s->extra};
        all = all ? filter_wrap(m, GRAPH_ALL, both, 2) : s->extra;
        if (!all)
            return -1;
    }
    *when = all ? all->expr : NULL;
    return 0;
}

/* ---- checking ---- */

/* "path, target, uid": the filters an operation takes, for the hint. */
static void list_filters(enum vocab_op op, struct buf *out)
{
    size_t shown = 0;
    for (size_t f = 0; f < FILTER_COUNT && shown < 8; f++) {
        uint8_t cat = vocab_filters[f].category;
        bool common =
            cat == CAT_EXTENSION || cat == CAT_PROCESS || cat == CAT_SYSTEM || cat == CAT_SANDBOX;
        if (common || vocab_filters[f].extension ||
            !vocab_op_takes_filter(op, (enum vocab_filter)f))
            continue;
        buf_fmt(out, "%s%s", shown++ ? ", " : "", vocab_filters[f].name);
    }
}

static int wrong_filter(struct machine *m, src_pos pos, enum vocab_op op, enum vocab_filter filter)
{
    bool path = filter == FILTER_PATH, ours = vocab_filters[filter].extension;
    const char *what = path ? "path filters" : "the filter ";
    const char *name = path ? "" : vocab_filters[filter].name;
    if (!ours) { /* Apple's compiler accepts it; no argument of the operation will match */
        struct diag *g = diag_add(m->diags, DIAG_WARNING, "wrong-filter", pos,
                                  "the operation %s does not take %s%s: it never matches",
                                  vocab_ops[op].name, what, name);
        diag_hint(m->diags, g, "`buckle vocab %s` lists what it takes", vocab_ops[op].name);
        return 0;
    }
    machine_error(m, pos, "wrong-filter", "the operation %s does not take %s%s", vocab_ops[op].name,
                  what, name);
    struct buf takes = {0};
    list_filters(op, &takes);
    if (takes.n)
        machine_hint(m, "%s takes %s", vocab_ops[op].name, takes.s);
    else
        machine_hint(m, "%s takes no filter on its argument", vocab_ops[op].name);
    buf_free(&takes);
    return -1;
}

/* `at` is the argument to name in the error, -1 if a surrounding scope added the filter. */
static int check_filter(struct machine *m, const struct parts *p, const struct call *c, int at,
                        enum vocab_filter filter)
{
    for (size_t o = 0; o < p->nops; o++)
        if (!vocab_op_takes_filter(p->ops[o]->id, filter))
            return wrong_filter(m, at < 0 ? c->pos : call_arg_pos(c, at), p->ops[o]->id, filter);
    return 0;
}

static int check_condition(struct machine *m, const struct parts *p, const struct call *c, int at,
                           const struct val *filter)
{
    const struct condition *k = (const struct condition *)filter->expr;
    for (size_t w = 0; w < sizeof(k->uses) / sizeof(*k->uses); w++)
        for (uint64_t left = k->uses[w]; left; left &= left - 1) {
            size_t f = w * 64 + (size_t)__builtin_ctzll(left);
            if (check_filter(m, p, c, at, (enum vocab_filter)f) < 0)
                return -1;
        }
    return 0;
}

static int check_filters(struct machine *m, const struct parts *p, const struct call *c)
{
    if (m->unchecked)
        return 0;
    for (size_t i = 0; i < p->nfilters; i++)
        if (check_condition(m, p, c, p->filter_args[i], p->filters[i]) < 0)
            return -1;
    for (const struct scope *s = m->scope; s; s = s->up)
        if (s->extra->type == V_FILTER && check_condition(m, p, c, -1, s->extra) < 0)
            return -1;
    return 0;
}

static int check_modifier(struct machine *m, const struct parts *p, const struct call *c,
                          bool allow, const struct graph_mod *mod)
{
    const struct vocab_modifier_info *info = &vocab_modifiers[mod->id];
    if (m->unchecked)
        return 0;
    if (!(info->actions & (allow ? 2 : 1))) {
        machine_error(m, c->pos, "wrong-modifier", "(with %s) has no meaning in %s", info->name,
                      allow ? "an allow rule" : "a deny rule");
        return -1;
    }
    for (size_t o = 0; o < p->nops; o++) {
        enum vocab_op op = p->ops[o]->id;
        if (mod->id != MOD_MESSAGE_FILTER && mod->id != MOD_DECISION_FLAGS &&
            !vocab_op_takes_modifier(op, mod->id)) {
            machine_error(m, c->pos, "wrong-modifier", "the operation %s does not take (with %s)",
                          vocab_ops[op].name, info->name);
            return -1;
        }
    }
    return 0;
}

/* Message operations are allowed only inside apply-message-filter, where nothing else is. */
static int check_place(struct machine *m, const struct parts *p, const struct call *c)
{
    bool inside = m->policy != &m->profile;
    for (size_t o = 0; o < p->nops; o++) {
        const struct vocab_op_info *op = &vocab_ops[p->ops[o]->id];
        if (op->message_filter == inside)
            continue;
        machine_error(m, c->pos, "wrong-place", "%s is allowed only %s (apply-message-filter …)",
                      op->name, inside ? "outside" : "inside");
        return -1;
    }
    return 0;
}

/* ---- emitting ---- */

static int set_modifiers(struct machine *m, struct sbpl_rule *r, const struct parts *p,
                         const struct call *c)
{
    r->flags = r->allow ? 0 : VOCAB_FLAG_REPORT;
    r->mods = arena_array(m->arena, p->nmods, sizeof(*r->mods));
    if (!r->mods)
        return machine_no_memory(m), -1;
    for (size_t i = 0; i < p->nmods; i++) {
        const struct graph_mod *mod = p->mods[i]->mod;
        const struct vocab_modifier_info *info = &vocab_modifiers[mod->id];
        if (check_modifier(m, p, c, r->allow, mod) < 0)
            return -1;
        r->flags = (r->flags & ~info->mask) | info->flag;
        if (mod->id == MOD_DECISION_FLAGS)
            r->flags |= (uint32_t)mod->num & VOCAB_FLAGS & ~(uint32_t)VOCAB_FLAG_DENY;
        else if (info->arg != 1)
            r->mods[r->nmods++] = *mod;
    }
    return 0;
}

void policy_add(struct sbpl_policy *p, struct sbpl_rule *r)
{
    if (p->last)
        p->last->next = r;
    else
        p->first = r;
    p->last = r;
}

static int emit(struct machine *m, bool allow, const struct parts *p, const struct call *c)
{
    struct sbpl_rule *r = arena_new(m->arena, struct sbpl_rule);
    uint16_t *ops = arena_array(m->arena, p->nops, sizeof(*ops));
    if (!r || !ops)
        return machine_no_memory(m), -1;
    for (size_t i = 0; i < p->nops; i++)
        ops[i] = p->ops[i]->id;
    r->allow = allow;
    r->ops = ops;
    r->nops = p->nops;
    r->pos = m->rule_pos ? m->rule_pos : c->pos;
    r->top = m->top_pos;
    if (rule_condition(m, p, &r->when) < 0 || set_modifiers(m, r, p, c) < 0)
        return -1;
    policy_add(m->policy, r);
    return 0;
}

struct val *rule_apply(struct machine *m, bool allow, const struct call *c)
{
    struct parts p;
    if (take_parts(m, &p, c) < 0)
        return NULL;
    if (p.nops == 0) {
        if (!p.no_op)
            diag_add(m->diags, DIAG_WARNING, "empty-rule", c->pos,
                     "this rule names no operation and has no effect");
        return &val_void;
    }
    if (check_place(m, &p, c) < 0 || check_filters(m, &p, c) < 0 || emit(m, allow, &p, c) < 0)
        return NULL;
    return &val_void;
}
