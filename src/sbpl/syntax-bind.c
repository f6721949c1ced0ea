/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Special forms that bind names: lambda, define, set!, macros, the lets and do. */

#include <stdio.h>

#include "sbpl/syntax.h"

/* Names, with or without a rest parameter. A circular list is longer than the limit. */
static bool are_parameters(const struct val *p)
{
    for (int n = 0; p->type == V_PAIR; p = p->cdr)
        if (p->car->type != V_SYMBOL || ++n > PARAMETERS_MAX)
            return false;
    return p->type == V_NIL || p->type == V_SYMBOL;
}

static struct val *make_closure(struct machine *m, struct val *params, struct val *body,
                                enum val_type type)
{
    if (!are_parameters(params)) {
        machine_error(m, m->pos, "bad-form", "parameters must be names");
        return NULL;
    }
    struct val *v = arena_new(m->arena, struct val);
    struct val *lambda = machine_cons(m, params, body, m->pos);
    if (!v)
        return machine_no_memory(m);
    if (!lambda)
        return NULL;
    v->type = (uint8_t)type;
    v->lambda = lambda;
    v->env = m->env;
    return v;
}

int syn_lambda(struct machine *m, struct val *form)
{
    struct val *args = syntax_arguments(m, form, 2, -1, "(lambda (name …) body …)");
    struct val *v = args ? make_closure(m, args->car, args->cdr, V_CLOSURE) : NULL;
    if (!v)
        return -1;
    machine_return(m, v);
    return 0;
}

static int bind_value(struct machine *m, enum frame_kind kind, struct val *name, struct val *cell)
{
    struct frame f = {.kind = (uint8_t)kind, .pos = m->pos, .env = m->env, .a = name};
    if (machine_push(m, f) < 0)
        return -1;
    machine_eval(m, cell->car, cell->pos, m->env);
    return 0;
}

int syn_define(struct machine *m, struct val *form)
{
    static const char usage[] = "(define name value) or (define (name parameter …) body …)";
    struct val *args = syntax_arguments(m, form, 1, -1, usage);
    if (!args)
        return -1;
    struct val *target = args->car, *v = &val_void;
    if (target->type == V_SYMBOL &&
        args->cdr->type == V_PAIR) /* more values: TinyScheme ignores them */
        return bind_value(m, FRAME_DEFINE, target, args->cdr);
    if (target->type == V_PAIR && target->car->type == V_SYMBOL) {
        v = make_closure(m, target->cdr, args->cdr, V_CLOSURE);
        target = target->car;
    } else if (target->type != V_SYMBOL || args->cdr->type != V_NIL) {
        return syntax_malformed(m, usage);
    }
    if (!v || machine_define(m, (struct symbol *)target, v, m->env) < 0)
        return -1;
    machine_return(m, &val_void);
    return 0;
}

int syn_set(struct machine *m, struct val *form)
{
    struct val *args = syntax_arguments(m, form, 2, 2, "(set! name value)");
    if (!args)
        return -1;
    if (args->car->type != V_SYMBOL)
        return syntax_malformed(m, "(set! name value)");
    return bind_value(m, FRAME_SET, args->car, args->cdr);
}

/* (macro (name form) body …): called with the whole form. */
int syn_macro(struct machine *m, struct val *form)
{
    static const char usage[] = "(macro (name form) body …)";
    struct val *args = syntax_arguments(m, form, 1, -1, usage);
    if (!args)
        return -1;
    struct val *target = args->car;
    if (target->type != V_PAIR || target->car->type != V_SYMBOL || val_length(target) != 2)
        return syntax_malformed(m, usage);
    struct val *v = make_closure(m, target->cdr, args->cdr, V_MACRO);
    if (!v || machine_define(m, (struct symbol *)target->car, v, m->env) < 0)
        return -1;
    machine_return(m, &val_void);
    return 0;
}

/* (define-macro (name . parameters) body …): called with the arguments of the form, so it becomes
 * (macro (name form) (apply (lambda parameters body …) (cdr form))). */
int syn_define_macro(struct machine *m, struct val *form)
{
    static const char usage[] = "(define-macro (name parameter …) body …)";
    struct val *args = syntax_arguments(m, form, 2, -1, usage);
    if (!args)
        return -1;
    struct val *target = args->car;
    if (target->type != V_PAIR || target->car->type != V_SYMBOL)
        return syntax_malformed(m, usage);
    struct val *inner = make_closure(m, target->cdr, args->cdr, V_CLOSURE);
    struct symbol *whole = symbol_intern(&m->syms, " form", 5);
    if (!inner || !whole)
        return inner ? (machine_no_memory(m), -1) : -1;
    /* without positions, so that an error is reported where the macro is used */
    struct val *rest_items[] = {m->cdr, &whole->v};
    struct val *rest = machine_list(m, 0, 2, rest_items);
    struct val *call_items[] = {m->apply, inner, rest};
    struct val *call = rest ? machine_list(m, 0, 3, call_items) : NULL;
    struct val *body = call ? machine_cons(m, call, &val_nil, 0) : NULL;
    struct val *params = body ? machine_cons(m, &whole->v, &val_nil, m->pos) : NULL;
    struct val *v = params ? make_closure(m, params, body, V_MACRO) : NULL;
    if (!v || machine_define(m, (struct symbol *)target->car, v, m->env) < 0)
        return -1;
    machine_return(m, &val_void);
    return 0;
}

/* Splits ((name init) …) into names and inits. */
static int split_bindings(struct machine *m, struct val *list, struct val **names,
                          struct val **inits, const char *usage)
{
    struct listing n = {0}, i = {0};
    if (val_length(list) < 0)
        return syntax_malformed(m, usage);
    for (; list->type == V_PAIR; list = list->cdr) {
        struct val *b = list->car;
        int64_t len = val_length(b);
        if (len < 1 || b->car->type != V_SYMBOL)
            return syntax_malformed(m, usage);
        struct val *init = len > 1 ? b->cdr->car : &val_void; /* more values are ignored */
        if (listing_add(m, &n, b->car, b->pos) < 0 ||
            listing_add(m, &i, init, len > 1 ? b->cdr->pos : b->pos) < 0)
            return -1;
    }
    *names = listing_end(&n, &val_nil);
    *inits = listing_end(&i, &val_nil);
    return 0;
}

static struct val *make_lambda(struct machine *m, struct val *params, struct val *body)
{
    struct val *tail = machine_cons(m, params, body, m->pos);
    return tail ? machine_cons(m, syntax_head(SYN_LAMBDA), tail, m->pos) : NULL;
}

/* A body that first defines each name, which lets letrec and a named let refer to themselves. */
static struct val *with_defines(struct machine *m, struct val *names, struct val *inits,
                                struct val *body)
{
    struct listing out = {0};
    for (; names->type == V_PAIR; names = names->cdr, inits = inits->cdr) {
        struct val *items[] = {syntax_head(SYN_DEFINE), names->car, inits->car};
        struct val *d = machine_list(m, inits->pos, 3, items);
        if (!d || listing_add(m, &out, d, inits->pos) < 0)
            return NULL;
    }
    return listing_end(&out, body);
}

/* ((letrec ((name (lambda names body …))) name) init …) */
static int named_let(struct machine *m, struct val *name, struct val *names, struct val *inits,
                     struct val *body)
{
    struct val *loop = make_lambda(m, names, body);
    struct val *self = loop ? machine_cons(m, name, &val_nil, m->pos) : NULL;
    struct val *def_items[] = {syntax_head(SYN_DEFINE), name, loop};
    struct val *def = self ? machine_list(m, m->pos, 3, def_items) : NULL;
    struct val *inside = def ? machine_cons(m, def, self, m->pos) : NULL;
    struct val *maker = inside ? make_lambda(m, &val_nil, inside) : NULL;
    struct val *made = maker ? machine_cons(m, maker, &val_nil, m->pos) : NULL;
    return made ? syntax_rewrite(m, 1, &made, inits) : -1;
}

int syn_let(struct machine *m, struct val *form)
{
    static const char usage[] = "(let ((name value) …) body …)";
    struct val *args = syntax_arguments(m, form, 2, -1, usage), *names, *inits;
    if (!args)
        return -1;
    struct val *name = args->car->type == V_SYMBOL ? args->car : NULL;
    if (name)
        args = args->cdr;
    if (args->cdr->type != V_PAIR || split_bindings(m, args->car, &names, &inits, usage) < 0)
        return args->cdr->type == V_PAIR ? -1 : syntax_malformed(m, usage);
    if (name)
        return named_let(m, name, names, inits, args->cdr);
    struct val *lambda = make_lambda(m, names, args->cdr);
    return lambda ? syntax_rewrite(m, 1, &lambda, inits) : -1;
}

/* Whether a binding's value is a lambda: in let* it sees its own name, as in TinyScheme. */
static bool is_procedure_binding(const struct val *binding)
{
    const struct val *value =
        binding->type == V_PAIR && binding->cdr->type == V_PAIR ? binding->cdr->car : &val_nil;
    return value->type == V_PAIR && syntax_is_word(value->car, "lambda");
}

/* (let* (a b …) body) → (let (a) (let* (b …) body)) */
int syn_let_star(struct machine *m, struct val *form)
{
    static const char usage[] = "(let* ((name value) …) body …)";
    struct val *args = syntax_arguments(m, form, 2, -1, usage);
    if (!args)
        return -1;
    struct val *list = args->car;
    if (list->type != V_PAIR || list->cdr->type != V_PAIR) {
        bool procedure = list->type == V_PAIR && is_procedure_binding(list->car);
        struct val *let = syntax_head(procedure ? SYN_LETREC : SYN_LET);
        return syntax_rewrite(m, 1, &let, args);
    }
    struct val *first = machine_cons(m, list->car, &val_nil, list->pos);
    struct val *rest = machine_cons(m, list->cdr, args->cdr, m->pos);
    struct val *inner = rest ? machine_cons(m, syntax_head(SYN_LET_STAR), rest, m->pos) : NULL;
    if (!first || !inner)
        return -1;
    bool procedure = is_procedure_binding(list->car);
    struct val *items[] = {syntax_head(procedure ? SYN_LETREC : SYN_LET), first, inner};
    return syntax_rewrite(m, 3, items, &val_nil);
}

int syn_letrec(struct machine *m, struct val *form)
{
    static const char usage[] = "(letrec ((name value) …) body …)";
    struct val *args = syntax_arguments(m, form, 2, -1, usage), *names, *inits;
    if (!args || split_bindings(m, args->car, &names, &inits, usage) < 0)
        return -1;
    struct val *body = with_defines(m, names, inits, args->cdr);
    struct val *lambda = body ? make_lambda(m, &val_nil, body) : NULL;
    return lambda ? syntax_rewrite(m, 1, &lambda, &val_nil) : -1;
}

/* (do ((name init step) …) (test result …) body …) as a named let. */
int syn_do(struct machine *m, struct val *form)
{
    static const char usage[] = "(do ((name init step) …) (test result …) body …)";
    struct val *args = syntax_arguments(m, form, 2, -1, usage);
    if (!args)
        return -1;
    if (val_length(args->car) < 0 || val_length(args->cdr->car) < 1)
        return syntax_malformed(m, usage);
    char text[32];
    snprintf(text, sizeof(text), " loop%zu", m->loop_names++);
    struct symbol *loop = symbol_intern(&m->syms, text, strlen(text));
    if (!loop)
        return machine_no_memory(m), -1;
    struct listing bindings = {0}, steps = {0};
    for (struct val *l = args->car; l->type == V_PAIR; l = l->cdr) {
        int64_t n = val_length(l->car);
        if (n < 2 || n > 3 || l->car->car->type != V_SYMBOL)
            return syntax_malformed(m, usage);
        struct val *name = l->car->car, *init = l->car->cdr;
        struct val *pair[] = {name, init->car};
        struct val *b = machine_list(m, init->pos, 2, pair);
        if (!b || listing_add(m, &bindings, b, init->pos) < 0 ||
            listing_add(m, &steps, n == 3 ? init->cdr->car : name, init->pos) < 0)
            return -1;
    }
    struct val *again = machine_cons(m, &loop->v, listing_end(&steps, &val_nil), m->pos);
    struct val *body =
        again ? machine_cons(m, syntax_head(SYN_BEGIN), args->cdr->cdr, m->pos) : NULL;
    struct val *go_items[] = {syntax_head(SYN_BEGIN), body, again};
    struct val *go = body ? machine_list(m, m->pos, 3, go_items) : NULL;
    struct val *end =
        go ? machine_cons(m, syntax_head(SYN_BEGIN), args->cdr->car->cdr, m->pos) : NULL;
    struct val *if_items[] = {syntax_head(SYN_IF), args->cdr->car->car, end, go};
    struct val *test = end ? machine_list(m, m->pos, 4, if_items) : NULL;
    struct val *let_items[] = {syntax_head(SYN_LET), &loop->v, listing_end(&bindings, &val_nil),
                               test};
    return test ? syntax_rewrite(m, 4, let_items, &val_nil) : -1;
}
