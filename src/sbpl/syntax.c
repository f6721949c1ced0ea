/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Special forms. Most are rewritten one level at a time into simpler ones and evaluated again:
 * `let` into a call of a lambda, `and` into `if`, a quasiquotation into cons and append. The heads
 * of rewritten forms are the special forms themselves rather than their names, so a profile that
 * redefines `if` or `lambda` cannot be caught by it.
 */

#include "sbpl/machine.h"

#include <stdio.h>
#include <string.h>

/* id, name, handler; sorted by name, which syntax_find() relies on. */
#define SYNTAXES(X) \
    X(AND, "and", syn_and) \
    X(APPLY_MESSAGE_FILTER, "apply-message-filter", syn_apply_message_filter) \
    X(BEGIN, "begin", syn_begin) \
    X(CASE, "case", syn_case) \
    X(COND, "cond", syn_cond) \
    X(DEBUG, "debug", syn_debug) \
    X(DEFINE, "define", syn_define) \
    X(DEFINE_MACRO, "define-macro", syn_define_macro) \
    X(DO, "do", syn_do) \
    X(IF, "if", syn_if) \
    X(LAMBDA, "lambda", syn_lambda) \
    X(LET, "let", syn_let) \
    X(LET_STAR, "let*", syn_let_star) \
    X(LETREC, "letrec", syn_letrec) \
    X(LETREC_STAR, "letrec*", syn_letrec) \
    X(MACRO, "macro", syn_macro) \
    X(OR, "or", syn_or) \
    X(QUASIQUOTE, "quasiquote", syn_quasiquote) \
    X(QUOTE, "quote", syn_quote) \
    X(SET, "set!", syn_set) \
    X(UNLESS, "unless", syn_unless) \
    X(WHEN, "when", syn_when) \
    X(WITH_FILTER, "with-filter", syn_with_filter) \
    X(WITH_MODIFIER, "with-modifier", syn_with_modifier) \
    X(WITH_OPERATIONS, "with-operations", syn_with_operations)

enum syntax_id {
#define X(id, name, fn) SYN_##id,
    SYNTAXES(X)
#undef X
        SYN_COUNT,
};

#define X(id, name, fn) static int fn(struct machine *m, struct val *form);
SYNTAXES(X)
#undef X

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

static struct val *head(enum syntax_id id)
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

static int malformed(struct machine *m, const char *usage)
{
    machine_error(m, m->pos, "bad-form", "malformed: write %s", usage);
    return -1;
}

/* The form's arguments when it is a proper list with at least min (and at most max) of them. */
static struct val *arguments(struct machine *m, struct val *form, int min, int max,
                             const char *usage)
{
    int64_t n = val_length(form) - 1;
    if (n >= min && (max < 0 || n <= max))
        return form->cdr;
    malformed(m, usage);
    return NULL;
}

static bool is_word(const struct val *v, const char *word)
{
    return v->type == V_SYMBOL && strcmp(v->s, word) == 0;
}

/* Evaluates the list of these items in the place of the form at hand. */
static int rewrite(struct machine *m, size_t n, struct val *const *items, struct val *tail)
{
    struct val *form = tail;
    while (n-- && form)
        form = machine_cons(m, items[n], form, m->pos);
    if (!form)
        return -1;
    machine_eval(m, form, m->pos, m->env);
    return 0;
}

static bool are_parameters(const struct val *p)
{
    for (; p->type == V_PAIR; p = p->cdr)
        if (p->car->type != V_SYMBOL)
            return false;
    return p->type == V_NIL || p->type == V_SYMBOL;
}

static struct val *make_closure(struct machine *m, struct val *params, struct val *body,
                                enum val_type type)
{
    if (!are_parameters(params) || val_length(params) > 10000) {
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

/* ---- data ---- */

static int syn_quote(struct machine *m, struct val *form)
{
    struct val *args = arguments(m, form, 1, 1, "(quote datum)");
    if (!args)
        return -1;
    machine_return(m, args->car);
    return 0;
}

/* (quasiquote datum [level]) with the level put there by this very function. */
static struct val *quasi(struct machine *m, struct val *datum, int64_t level)
{
    struct val *items[] = {head(SYN_QUASIQUOTE), datum, val_int(m->arena, level)};
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

static int syn_quasiquote(struct machine *m, struct val *form)
{
    struct val *args = arguments(m, form, 1, 2, "`datum");
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
    if (is_word(x->car, "unquote") && one) {
        if (level == 1) {
            machine_eval(m, x->cdr->car, x->cdr->pos, m->env);
            return 0;
        }
        level--;
    } else if (is_word(x->car, "quasiquote") && one) {
        level++;
    } else if (first->type == V_PAIR && is_word(first->car, "unquote-splicing") && level == 1) {
        if (first->cdr->type != V_PAIR)
            return malformed(m, ",@list");
        return eval_call(m, m->append, first->cdr->car, quasi(m, x->cdr, level));
    }
    return eval_call(m, m->cons, quasi(m, x->car, level), quasi(m, x->cdr, level));
}

/* ---- binding ---- */

static int syn_lambda(struct machine *m, struct val *form)
{
    struct val *args = arguments(m, form, 2, -1, "(lambda (name …) body …)");
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

static int syn_define(struct machine *m, struct val *form)
{
    static const char usage[] = "(define name value) or (define (name parameter …) body …)";
    struct val *args = arguments(m, form, 1, -1, usage);
    if (!args)
        return -1;
    struct val *target = args->car, *v = &val_void;
    if (target->type == V_SYMBOL && args->cdr->type == V_PAIR && args->cdr->cdr->type == V_NIL)
        return bind_value(m, FRAME_DEFINE, target, args->cdr);
    if (target->type == V_PAIR && target->car->type == V_SYMBOL) {
        v = make_closure(m, target->cdr, args->cdr, V_CLOSURE);
        target = target->car;
    } else if (target->type != V_SYMBOL || args->cdr->type != V_NIL) {
        return malformed(m, usage);
    }
    if (!v || machine_define(m, (struct symbol *)target, v, m->env) < 0)
        return -1;
    machine_return(m, &val_void);
    return 0;
}

static int syn_set(struct machine *m, struct val *form)
{
    struct val *args = arguments(m, form, 2, 2, "(set! name value)");
    if (!args)
        return -1;
    if (args->car->type != V_SYMBOL)
        return malformed(m, "(set! name value)");
    return bind_value(m, FRAME_SET, args->car, args->cdr);
}

/* (macro (name form) body …): called with the whole form. */
static int syn_macro(struct machine *m, struct val *form)
{
    static const char usage[] = "(macro (name form) body …)";
    struct val *args = arguments(m, form, 1, -1, usage);
    if (!args)
        return -1;
    struct val *target = args->car;
    if (target->type != V_PAIR || target->car->type != V_SYMBOL || val_length(target) != 2)
        return malformed(m, usage);
    struct val *v = make_closure(m, target->cdr, args->cdr, V_MACRO);
    if (!v || machine_define(m, (struct symbol *)target->car, v, m->env) < 0)
        return -1;
    machine_return(m, &val_void);
    return 0;
}

/* (define-macro (name . parameters) body …): called with the arguments of the form, so it becomes
 * (macro (name form) (apply (lambda parameters body …) (cdr form))). */
static int syn_define_macro(struct machine *m, struct val *form)
{
    static const char usage[] = "(define-macro (name parameter …) body …)";
    struct val *args = arguments(m, form, 2, -1, usage);
    if (!args)
        return -1;
    struct val *target = args->car;
    if (target->type != V_PAIR || target->car->type != V_SYMBOL)
        return malformed(m, usage);
    struct val *inner = make_closure(m, target->cdr, args->cdr, V_CLOSURE);
    struct symbol *whole = symbol_intern(&m->syms, " form", 5);
    if (!inner || !whole)
        return inner ? (machine_no_memory(m), -1) : -1;
    struct val *rest_items[] = {m->cdr, &whole->v};
    struct val *rest = machine_list(m, m->pos, 2, rest_items);
    struct val *call_items[] = {m->apply, inner, rest};
    struct val *call = rest ? machine_list(m, m->pos, 3, call_items) : NULL;
    struct val *body = call ? machine_cons(m, call, &val_nil, m->pos) : NULL;
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
        return malformed(m, usage);
    for (; list->type == V_PAIR; list = list->cdr) {
        struct val *b = list->car;
        int64_t len = val_length(b);
        if (len < 1 || len > 2 || b->car->type != V_SYMBOL)
            return malformed(m, usage);
        struct val *init = len == 2 ? b->cdr->car : &val_void;
        if (listing_add(m, &n, b->car, b->pos) < 0 ||
            listing_add(m, &i, init, len == 2 ? b->cdr->pos : b->pos) < 0)
            return -1;
    }
    *names = listing_end(&n, &val_nil);
    *inits = listing_end(&i, &val_nil);
    return 0;
}

static struct val *make_lambda(struct machine *m, struct val *params, struct val *body)
{
    struct val *tail = machine_cons(m, params, body, m->pos);
    return tail ? machine_cons(m, head(SYN_LAMBDA), tail, m->pos) : NULL;
}

/* Body that first defines each name: how letrec and a named let see themselves. */
static struct val *with_defines(struct machine *m, struct val *names, struct val *inits,
                                struct val *body)
{
    struct listing out = {0};
    for (; names->type == V_PAIR; names = names->cdr, inits = inits->cdr) {
        struct val *items[] = {head(SYN_DEFINE), names->car, inits->car};
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
    struct val *def_items[] = {head(SYN_DEFINE), name, loop};
    struct val *def = self ? machine_list(m, m->pos, 3, def_items) : NULL;
    struct val *inside = def ? machine_cons(m, def, self, m->pos) : NULL;
    struct val *maker = inside ? make_lambda(m, &val_nil, inside) : NULL;
    struct val *made = maker ? machine_cons(m, maker, &val_nil, m->pos) : NULL;
    return made ? rewrite(m, 1, &made, inits) : -1;
}

static int syn_let(struct machine *m, struct val *form)
{
    static const char usage[] = "(let ((name value) …) body …)";
    struct val *args = arguments(m, form, 2, -1, usage), *names, *inits;
    if (!args)
        return -1;
    struct val *name = args->car->type == V_SYMBOL ? args->car : NULL;
    if (name)
        args = args->cdr;
    if (args->cdr->type != V_PAIR || split_bindings(m, args->car, &names, &inits, usage) < 0)
        return args->cdr->type == V_PAIR ? -1 : malformed(m, usage);
    if (name)
        return named_let(m, name, names, inits, args->cdr);
    struct val *lambda = make_lambda(m, names, args->cdr);
    return lambda ? rewrite(m, 1, &lambda, inits) : -1;
}

/* (let* (a b …) body) → (let (a) (let* (b …) body)) */
static int syn_let_star(struct machine *m, struct val *form)
{
    static const char usage[] = "(let* ((name value) …) body …)";
    struct val *args = arguments(m, form, 2, -1, usage);
    if (!args)
        return -1;
    struct val *list = args->car;
    if (list->type != V_PAIR || list->cdr->type != V_PAIR) {
        struct val *let = head(SYN_LET);
        return rewrite(m, 1, &let, args);
    }
    struct val *first = machine_cons(m, list->car, &val_nil, list->pos);
    struct val *rest = machine_cons(m, list->cdr, args->cdr, m->pos);
    struct val *inner = rest ? machine_cons(m, head(SYN_LET_STAR), rest, m->pos) : NULL;
    if (!first || !inner)
        return -1;
    struct val *items[] = {head(SYN_LET), first, inner};
    return rewrite(m, 3, items, &val_nil);
}

static int syn_letrec(struct machine *m, struct val *form)
{
    static const char usage[] = "(letrec ((name value) …) body …)";
    struct val *args = arguments(m, form, 2, -1, usage), *names, *inits;
    if (!args || split_bindings(m, args->car, &names, &inits, usage) < 0)
        return -1;
    struct val *body = with_defines(m, names, inits, args->cdr);
    struct val *lambda = body ? make_lambda(m, &val_nil, body) : NULL;
    return lambda ? rewrite(m, 1, &lambda, &val_nil) : -1;
}

/* (do ((name init step) …) (test result …) body …) as a named let. */
static int syn_do(struct machine *m, struct val *form)
{
    static const char usage[] = "(do ((name init step) …) (test result …) body …)";
    struct val *args = arguments(m, form, 2, -1, usage);
    if (!args)
        return -1;
    if (val_length(args->car) < 0 || val_length(args->cdr->car) < 1)
        return malformed(m, usage);
    char text[32];
    snprintf(text, sizeof(text), " loop%zu", m->loop_names++);
    struct symbol *loop = symbol_intern(&m->syms, text, strlen(text));
    if (!loop)
        return machine_no_memory(m), -1;
    struct listing bindings = {0}, steps = {0};
    for (struct val *l = args->car; l->type == V_PAIR; l = l->cdr) {
        int64_t n = val_length(l->car);
        if (n < 2 || n > 3 || l->car->car->type != V_SYMBOL)
            return malformed(m, usage);
        struct val *name = l->car->car, *init = l->car->cdr;
        struct val *pair[] = {name, init->car};
        struct val *b = machine_list(m, init->pos, 2, pair);
        if (!b || listing_add(m, &bindings, b, init->pos) < 0 ||
            listing_add(m, &steps, n == 3 ? init->cdr->car : name, init->pos) < 0)
            return -1;
    }
    struct val *again = machine_cons(m, &loop->v, listing_end(&steps, &val_nil), m->pos);
    struct val *body = again ? machine_cons(m, head(SYN_BEGIN), args->cdr->cdr, m->pos) : NULL;
    struct val *go_items[] = {head(SYN_BEGIN), body, again};
    struct val *go = body ? machine_list(m, m->pos, 3, go_items) : NULL;
    struct val *end = go ? machine_cons(m, head(SYN_BEGIN), args->cdr->car->cdr, m->pos) : NULL;
    struct val *if_items[] = {head(SYN_IF), args->cdr->car->car, end, go};
    struct val *test = end ? machine_list(m, m->pos, 4, if_items) : NULL;
    struct val *let_items[] = {head(SYN_LET), &loop->v, listing_end(&bindings, &val_nil), test};
    return test ? rewrite(m, 4, let_items, &val_nil) : -1;
}

/* ---- choosing ---- */

static int syn_if(struct machine *m, struct val *form)
{
    struct val *args = arguments(m, form, 2, 3, "(if test then [else])");
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
    struct val *args = arguments(m, form, 1, -1, usage);
    if (!args)
        return -1;
    struct val *body = machine_cons(m, head(SYN_BEGIN), args->cdr, m->pos);
    if (!body)
        return -1;
    struct val *items[] = {head(SYN_IF), args->car, sense ? body : &val_void,
                           sense ? &val_void : body};
    struct val *out = machine_list(m, args->pos, 4, items);
    if (out)
        machine_eval(m, out, m->pos, m->env);
    return out ? 0 : -1;
}

static int syn_when(struct machine *m, struct val *form)
{
    return when_unless(m, form, true, "(when test body …)");
}

static int syn_unless(struct machine *m, struct val *form)
{
    return when_unless(m, form, false, "(unless test body …)");
}

static int syn_and(struct machine *m, struct val *form)
{
    struct val *args = arguments(m, form, 0, -1, "(and test …)");
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
    struct val *rest = machine_cons(m, head(SYN_AND), args->cdr, args->cdr->pos);
    struct val *items[] = {head(SYN_IF), args->car, rest, &val_false};
    return rest ? rewrite(m, 4, items, &val_nil) : -1;
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

static int syn_or(struct machine *m, struct val *form)
{
    struct val *args = arguments(m, form, 0, -1, "(or test …)");
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
        machine_return(m, &val_void);
        return 0;
    }
    struct val *clause = clauses->car;
    if (val_length(clause) < 1)
        return malformed(m, "(cond (test body …) … (else body …))");
    if (is_word(clause->car, "else"))
        return machine_sequence(m, clause->cdr, env);
    struct frame f = {.kind = FRAME_COND, .pos = m->pos, .env = env, .a = clauses};
    if (machine_push(m, f) < 0)
        return -1;
    machine_eval(m, clause->car, clause->pos, env);
    return 0;
}

static int syn_cond(struct machine *m, struct val *form)
{
    struct val *args = arguments(m, form, 1, -1, "(cond (test body …) …)");
    return args ? next_clause(m, args, m->env) : -1;
}

static int resume_cond(struct machine *m, const struct frame *f)
{
    struct val *body = f->a->car->cdr;
    if (!val_truth(m->value))
        return next_clause(m, f->a->cdr, f->env);
    if (body->type != V_PAIR)
        return 0; /* the test's value is the answer, and stands in m->value already */
    if (!is_word(body->car, "=>") || body->cdr->type != V_PAIR)
        return machine_sequence(m, body, f->env);
    struct frame arrow = {.kind = FRAME_COND_ARROW, .pos = f->pos, .env = f->env, .a = m->value};
    if (machine_push(m, arrow) < 0)
        return -1;
    machine_eval(m, body->cdr->car, body->cdr->pos, f->env);
    return 0;
}

static int syn_case(struct machine *m, struct val *form)
{
    struct val *args = arguments(m, form, 1, -1, "(case key ((datum …) body …) …)");
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
    for (struct val *l = f->a; l->type == V_PAIR; l = l->cdr) {
        struct val *clause = l->car;
        if (val_length(clause) < 1)
            return malformed(m, "(case key ((datum …) body …) … (else body …))");
        bool hit = is_word(clause->car, "else");
        for (struct val *d = clause->car; d->type == V_PAIR && !hit; d = d->cdr)
            hit = val_eqv(d->car, m->value);
        if (hit)
            return machine_sequence(m, clause->cdr, f->env);
    }
    machine_return(m, &val_void);
    return 0;
}

static int syn_begin(struct machine *m, struct val *form)
{
    struct val *args = arguments(m, form, 0, -1, "(begin body …)");
    return args ? machine_sequence(m, args, m->env) : -1;
}

/* ---- SBPL's own forms ---- */

/* (debug deny): what the system log should show on macOS. Kept as a fact about the profile. */
static int syn_debug(struct machine *m, struct val *form)
{
    struct val *args = arguments(m, form, 0, -1, "(debug deny)");
    if (!args)
        return -1;
    m->debug = args->type == V_PAIR && args->car->type == V_SYMBOL ? args->car->s : "";
    machine_return(m, &val_void);
    return 0;
}

/* What kind of thing a scope adds, for the check of its first argument. */
enum scope_kind { SCOPE_FILTER, SCOPE_MODIFIER, SCOPE_OPERATIONS };

static int open_scope(struct machine *m, struct val *form, enum scope_kind kind, const char *usage)
{
    static struct val kinds[] = {{.type = V_INT, .num = SCOPE_FILTER},
                                 {.type = V_INT, .num = SCOPE_MODIFIER},
                                 {.type = V_INT, .num = SCOPE_OPERATIONS}};
    struct val *args = arguments(m, form, 1, -1, usage);
    if (!args)
        return -1;
    struct frame f = {.kind = FRAME_OPEN_SCOPE, .pos = args->pos, .env = m->env, .a = args->cdr,
                      .b = &kinds[kind]};
    if (machine_push(m, f) < 0)
        return -1;
    machine_eval(m, args->car, args->pos, m->env);
    return 0;
}

static int syn_with_filter(struct machine *m, struct val *form)
{
    return open_scope(m, form, SCOPE_FILTER, "(with-filter filter rule …)");
}

static int syn_with_modifier(struct machine *m, struct val *form)
{
    return open_scope(m, form, SCOPE_MODIFIER, "(with-modifier (with modifier) rule …)");
}

static int syn_with_operations(struct machine *m, struct val *form)
{
    return open_scope(m, form, SCOPE_OPERATIONS, "(with-operations (list operation …) rule …)");
}

static bool fits_scope(const struct val *v, enum scope_kind kind)
{
    if (kind == SCOPE_FILTER)
        return v->type == V_FILTER;
    if (kind == SCOPE_MODIFIER)
        return v->type == V_MODIFIER;
    if (val_length(v) < 0)
        return false;
    for (; v->type == V_PAIR; v = v->cdr)
        if (v->car->type != V_OP)
            return false;
    return true;
}

static int resume_open_scope(struct machine *m, const struct frame *f)
{
    static const char *const wants[] = {"a filter", "a modifier", "a list of operations"};
    enum scope_kind kind = (enum scope_kind)f->b->num;
    if (!fits_scope(m->value, kind)) {
        machine_error(m, f->pos, "bad-scope", "expected %s here, not %s", wants[kind],
                      val_type_words(m->value));
        return -1;
    }
    struct scope *s = arena_new(m->arena, struct scope);
    if (!s)
        return machine_no_memory(m), -1;
    *s = (struct scope){m->value, m->scope};
    m->scope = s;
    if (machine_push(m, (struct frame){.kind = FRAME_CLOSE_SCOPE, .pos = f->pos}) < 0)
        return -1;
    return machine_sequence(m, f->a, f->env);
}

/* (apply-message-filter [(with modifier)] rule …): rules about messages, carried by the rule that
 * holds them. Its parts are evaluated one by one, rules going into a policy of their own. */
static int next_policy_part(struct machine *m, struct val *cells, struct env *env, src_pos pos)
{
    if (cells->type != V_PAIR) {
        struct sbpl_policy *policy = m->policy;
        m->policy = policy->outer;
        m->scope = policy->outer_scope;
        struct val *v = modifier_of_policy(m, policy);
        if (!v)
            return -1;
        machine_return(m, v);
        return 0;
    }
    struct frame f = {.kind = FRAME_POLICY_PARTS, .pos = pos, .env = env, .a = cells->cdr};
    if (machine_push(m, f) < 0)
        return -1;
    machine_eval(m, cells->car, cells->pos, env);
    return 0;
}

static int syn_apply_message_filter(struct machine *m, struct val *form)
{
    struct val *args = arguments(m, form, 0, -1, "(apply-message-filter rule …)");
    if (!args)
        return -1;
    if (m->policy != &m->profile) {
        machine_error(m, m->pos, "nested-message-filter",
                      "a message filter cannot stand inside another");
        return -1;
    }
    struct sbpl_policy *p = arena_new(m->arena, struct sbpl_policy);
    if (!p)
        return machine_no_memory(m), -1;
    p->outer = m->policy;
    p->outer_scope = m->scope; /* what surrounds the carrying rule does not concern messages */
    m->scope = NULL;
    p->number = ++m->npolicies;
    p->next = m->policies;
    m->policies = m->policy = p;
    return next_policy_part(m, args, m->env, m->pos);
}

int syntax_resume(struct machine *m, const struct frame *f)
{
    struct val *args;
    switch (f->kind) {
    case FRAME_OR:
        return val_truth(m->value) ? 0 : next_or(m, f->a, f->env);
    case FRAME_COND:
        return resume_cond(m, f);
    case FRAME_COND_ARROW:
        args = machine_cons(m, f->a, &val_nil, 0);
        if (args)
            machine_apply(m, m->value, args, f->pos);
        return args ? 0 : -1;
    case FRAME_CASE:
        return resume_case(m, f);
    case FRAME_OPEN_SCOPE:
        return resume_open_scope(m, f);
    case FRAME_CLOSE_SCOPE:
        m->scope = m->scope ? m->scope->up : NULL;
        return 0;
    case FRAME_POLICY_PARTS:
        return next_policy_part(m, f->a, f->env, f->pos);
    default:
        machine_error(m, f->pos, "bug", "unknown frame %d", f->kind);
        return -1;
    }
}
