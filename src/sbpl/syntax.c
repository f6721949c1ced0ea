/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Special forms. Most are rewritten one level at a time into simpler ones and evaluated again:
 * `let` into a call of a lambda, `and` into `if`, a quasiquotation into cons and append. The heads
 * of rewritten forms are the special forms themselves, not their names, so that a profile may
 * redefine `if` or `lambda`.
 */

#include "sbpl/syntax.h"

static const struct syntax syntaxes[SYN_COUNT] = {
#define X(id, name, fn) [SYN_##id] = {name, fn},
    SYNTAXES(X)
#undef X
};

static struct val syntax_values[SYN_COUNT] = {
#define X(id, name, fn) [SYN_##id] = {.type = V_SYNTAX, .syntax = &syntaxes[SYN_##id]},
    SYNTAXES(X)
#undef X
};

struct val *syntax_head(enum syntax_id id)
{
    return &syntax_values[id];
}

struct val *syntax_find(const char *name, size_t n)
{
    size_t lo = 0, hi = SYN_COUNT;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int order = name_compare(name, n, syntaxes[mid].name);
        if (order == 0)
            return &syntax_values[mid];
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

/* ---- taking forms apart ---- */

int syntax_malformed(struct machine *m, const char *usage)
{
    machine_error(m, m->pos, "bad-form", "malformed: write %s", usage);
    return -1;
}

struct val *syntax_arguments(struct machine *m, struct val *form, int min, int max,
                             const char *usage)
{
    int64_t n = val_length(form) - 1;
    machine_charge(m, n > 0 ? (size_t)n : 0);
    if (n >= min && (max < 0 || n <= max))
        return form->cdr;
    syntax_malformed(m, usage);
    return NULL;
}

int syntax_rewrite(struct machine *m, size_t n, struct val *const *items, struct val *tail)
{
    struct val *form = tail;
    while (n-- && form)
        form = machine_cons(m, items[n], form, m->pos);
    if (!form)
        return -1;
    machine_eval(m, form, m->pos, m->env);
    return 0;
}

/* ---- data ---- */

int syn_quote(struct machine *m, struct val *form)
{
    struct val *args = syntax_arguments(m, form, 1, 1, "(quote datum)");
    if (!args)
        return -1;
    machine_return(m, args->car);
    return 0;
}

/* (quasiquote datum [level]); only this function adds the level. */
static struct val *quasi(struct machine *m, struct val *datum, int64_t level)
{
    struct val *items[] = {syntax_head(SYN_QUASIQUOTE), datum, val_int(m->arena, level)};
    return items[2] ? machine_list(m, m->pos, 3, items) : machine_no_memory(m);
}

static int eval_call(struct machine *m, struct val *fn, struct val *a, struct val *b)
{
    struct val *items[] = {fn, a, b};
    struct val *call = a && b ? machine_list(m, m->pos, 3, items) : NULL;
    if (!call)
        return -1;
    machine_eval(m, call, m->pos, m->env);
    return 0;
}

int syn_quasiquote(struct machine *m, struct val *form)
{
    struct val *args = syntax_arguments(m, form, 1, 2, "`datum");
    if (!args)
        return -1;
    struct val *x = args->car;
    int64_t level = args->cdr->type == V_PAIR ? args->cdr->car->num : 1;
    if (x->type != V_PAIR) {
        machine_return(m, x);
        return 0;
    }
    bool one = x->cdr->type == V_PAIR && x->cdr->cdr->type == V_NIL;
    struct val *first = x->car;
    if (syntax_is_word(x->car, "unquote") && one) {
        if (level == 1) {
            machine_eval(m, x->cdr->car, x->cdr->pos, m->env);
            return 0;
        }
        level--;
    } else if (syntax_is_word(x->car, "unquote-splicing") && one && level > 1) {
        level--;
    } else if (syntax_is_word(x->car, "quasiquote") && one) {
        level++;
    } else if (first->type == V_PAIR && syntax_is_word(first->car, "unquote-splicing") &&
               level == 1) {
        if (first->cdr->type != V_PAIR)
            return syntax_malformed(m, ",@list");
        return eval_call(m, m->append, first->cdr->car, quasi(m, x->cdr, level));
    }
    return eval_call(m, m->cons, quasi(m, x->car, level), quasi(m, x->cdr, level));
}

/* ---- resuming ---- */

int syntax_resume(struct machine *m, const struct frame *f)
{
    m->pos = f->pos;
    switch (f->kind) {
    case FRAME_OR:
    case FRAME_COND:
    case FRAME_COND_ARROW:
    case FRAME_CASE:
        return syntax_resume_choice(m, f);
    default:
        return syntax_resume_scope(m, f);
    }
}
