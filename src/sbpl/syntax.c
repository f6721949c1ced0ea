/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Special forms. Most are rewritten one level at a time into simpler ones and evaluated again:
 * `let` into a call of a lambda, `and` into `if`. The heads of rewritten forms are the special
 * forms themselves, not their names, so that a profile may redefine `if` or `lambda`.
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
    case FRAME_QUOTE_ELEMENT:
    case FRAME_QUOTE_SPLICE:
    case FRAME_QUOTE_TAIL:
        return syntax_resume_quote(m, f);
    default:
        return syntax_resume_scope(m, f);
    }
}
