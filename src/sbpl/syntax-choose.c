/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Special forms that choose: if, cond, case, and, or, when, unless; also begin. */

#include "sbpl/syntax.h"

int syn_if(struct machine *m, struct val *form)
{
    struct val *args = syntax_arguments(m, form, 2, 3, "(if test then [else])");
    if (!args)
        return -1;
    struct frame f = {.kind = FRAME_IF, .pos = m->pos, .env = m->env, .a = args->cdr};
    if (machine_push(m, f) < 0)
        return -1;
    machine_eval(m, args->car, args->pos, m->env);
    return 0;
}

static int when_unless(struct machine *m, struct val *form, bool sense, const char *usage)
{
    struct val *args = syntax_arguments(m, form, 1, -1, usage);
    if (!args)
        return -1;
    struct val *body = machine_cons(m, syntax_head(SYN_BEGIN), args->cdr, m->pos);
    if (!body)
        return -1;
    struct val *items[] = {syntax_head(SYN_IF), args->car, sense ? body : &val_void,
                           sense ? &val_void : body};
    struct val *out = machine_list(m, args->pos, 4, items);
    if (out)
        machine_eval(m, out, m->pos, m->env);
    return out ? 0 : -1;
}

int syn_when(struct machine *m, struct val *form)
{
    return when_unless(m, form, true, "(when test body …)");
}

int syn_unless(struct machine *m, struct val *form)
{
    return when_unless(m, form, false, "(unless test body …)");
}

int syn_and(struct machine *m, struct val *form)
{
    struct val *args = syntax_arguments(m, form, 0, -1, "(and test …)");
    if (!args)
        return -1;
    if (args->type != V_PAIR) {
        machine_return(m, &val_true);
        return 0;
    }
    if (args->cdr->type != V_PAIR) {
        machine_eval(m, args->car, args->pos, m->env);
        return 0;
    }
    struct val *rest = machine_cons(m, syntax_head(SYN_AND), args->cdr, args->cdr->pos);
    struct val *items[] = {syntax_head(SYN_IF), args->car, rest, &val_false};
    return rest ? syntax_rewrite(m, 4, items, &val_nil) : -1;
}

static int next_or(struct machine *m, struct val *cells, struct env *env)
{
    if (cells->cdr->type == V_PAIR) {
        struct frame f = {.kind = FRAME_OR, .pos = m->pos, .env = env, .a = cells->cdr};
        if (machine_push(m, f) < 0)
            return -1;
    }
    machine_eval(m, cells->car, cells->pos, env);
    return 0;
}

int syn_or(struct machine *m, struct val *form)
{
    struct val *args = syntax_arguments(m, form, 0, -1, "(or test …)");
    if (!args)
        return -1;
    if (args->type == V_PAIR)
        return next_or(m, args, m->env);
    machine_return(m, &val_false);
    return 0;
}

static int next_clause(struct machine *m, struct val *clauses, struct env *env)
{
    if (clauses->type != V_PAIR) {
        machine_return(m, &val_nil); /* as TinyScheme does */
        return 0;
    }
    struct val *clause = clauses->car;
    if (val_length(clause) < 1)
        return syntax_malformed(m, "(cond (test body …) … (else body …))");
    if (syntax_is_word(clause->car, "else"))
        return machine_sequence(m, clause->cdr, env);
    struct frame f = {.kind = FRAME_COND, .pos = m->pos, .env = env, .a = clauses, .b = clause};
    if (machine_push(m, f) < 0)
        return -1;
    machine_eval(m, clause->car, clause->pos, env);
    return 0;
}

int syn_cond(struct machine *m, struct val *form)
{
    struct val *args = syntax_arguments(m, form, 1, -1, "(cond (test body …) …)");
    return args ? next_clause(m, args, m->env) : -1;
}

static int resume_cond(struct machine *m, const struct frame *f)
{
    struct val *body = f->b->cdr; /* the test may have changed the list */
    if (!val_truth(m->value))
        return next_clause(m, f->a->cdr, f->env);
    if (body->type != V_PAIR)
        return 0; /* the test's value, already in m->value, is the result */
    if (!syntax_is_word(body->car, "=>") || body->cdr->type != V_PAIR)
        return machine_sequence(m, body, f->env);
    struct frame arrow = {.kind = FRAME_COND_ARROW, .pos = f->pos, .env = f->env, .a = m->value};
    if (machine_push(m, arrow) < 0)
        return -1;
    machine_eval(m, body->cdr->car, body->cdr->pos, f->env);
    return 0;
}

int syn_case(struct machine *m, struct val *form)
{
    struct val *args = syntax_arguments(m, form, 1, -1, "(case key ((datum …) body …) …)");
    if (!args)
        return -1;
    struct frame f = {.kind = FRAME_CASE, .pos = m->pos, .env = m->env, .a = args->cdr};
    if (machine_push(m, f) < 0)
        return -1;
    machine_eval(m, args->car, args->pos, m->env);
    return 0;
}

static int resume_case(struct machine *m, const struct frame *f)
{
    static const char usage[] = "(case key ((datum …) body …) … (else body …))";
    int64_t n = val_length(f->a);
    machine_charge(m, n > 0 ? (size_t)n : 0);
    if (n < 0)
        return syntax_malformed(m, usage);
    for (struct val *l = f->a; l->type == V_PAIR; l = l->cdr) {
        struct val *clause = l->car;
        int64_t data = val_length(clause) < 1        ? -1
                       : clause->car->type == V_PAIR ? val_length(clause->car)
                                                     : 0;
        if (data < 0)
            return syntax_malformed(m, usage);
        machine_charge(m, (size_t)data);
        bool hit = syntax_is_word(clause->car, "else");
        for (struct val *d = clause->car; d->type == V_PAIR && !hit; d = d->cdr)
            hit = val_eqv(d->car, m->value);
        if (hit)
            return machine_sequence(m, clause->cdr, f->env);
    }
    machine_return(m, &val_void);
    return 0;
}

int syn_begin(struct machine *m, struct val *form)
{
    struct val *args = syntax_arguments(m, form, 0, -1, "(begin body …)");
    return args ? machine_sequence(m, args, m->env) : -1;
}

int syntax_resume_choice(struct machine *m, const struct frame *f)
{
    struct val *args;
    switch (f->kind) {
    case FRAME_OR:
        return val_truth(m->value) ? 0 : next_or(m, f->a, f->env);
    case FRAME_COND:
        return resume_cond(m, f);
    case FRAME_CASE:
        return resume_case(m, f);
    default: /* FRAME_COND_ARROW */
        args = machine_cons(m, f->a, &val_nil, 0);
        if (args)
            machine_apply(m, m->value, args, f->pos);
        return args ? 0 : -1;
    }
}
