/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The machine's loop. Budgets are checked in exactly three places: steps in run_machine(), frames
 * in machine_push(), bytes in the arena. Each error names its budget.
 *
 * A call uses one frame (FRAME_ARGS) that collects values from left to right. Bodies are entered
 * without a frame for their last expression, so tail calls do not grow the stack.
 */

#include "sbpl/machine.h"
#include "sbpl/prim.h"
#include "sbpl/read.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct val machine_control = {.type = V_VOID};

enum { STACK_START = 64 };

int machine_init(struct machine *m, struct sbpl_unit *unit)
{
    memset(m, 0, sizeof(*m));
    m->unit = unit;
    m->arena = &unit->arena;
    m->diags = &unit->diags;
    m->max_steps = unit->opt.max_steps;
    m->max_depth = unit->opt.max_depth;
    m->policy = &m->profile;
    if (symtab_init(&m->syms, m->arena) < 0)
        return -1;
    m->allow = symbol_intern(&m->syms, "allow", 5);
    m->deny = symbol_intern(&m->syms, "deny", 4);
    m->apply = prim_value(m, "apply");
    m->cdr = prim_value(m, "cdr");
    return m->allow && m->deny && m->cdr ? 0 : -1;
}

void machine_free(struct machine *m)
{
    free(m->stack);
    m->stack = NULL;
}

void *machine_error(struct machine *m, src_pos pos, const char *code, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    src_pos place = pos ? pos : m->top_pos;
    struct diag *g = diag_add(m->diags, DIAG_ERROR, code, place, "%s", text);
    if (!g)
        return NULL; /* only counted: finding positions in long lines is not free */
    struct source_place p = source_find(&m->unit->map, place);
    if (p.source) {
        size_t left =
            p.line_len - (place - p.source->base - (size_t)(p.line_text - p.source->text));
        size_t extent = read_extent(p.source->text + (place - p.source->base), left);
        g->width = (uint32_t)(extent ? extent : 1);
    }
    return NULL;
}

void machine_hint(struct machine *m, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (m->diags->kept < DIAG_MAX)
        diag_hint(m->diags, m->diags->last, "%s", text);
}

void *machine_no_memory(struct machine *m)
{
    m->fatal = true;
    machine_error(m, m->pos, "memory-budget", "the profile needs more than its %zu MiB of memory",
                  m->unit->arena.limit >> 20);
    machine_hint(m, "is there a loop that builds data without end?");
    return NULL;
}

void *machine_no_steps(struct machine *m)
{
    m->fatal = true;
    machine_error(m, m->pos, "step-budget", "the profile takes more than %llu steps",
                  (unsigned long long)m->max_steps);
    machine_hint(m, "is there a loop that never ends?");
    return NULL;
}

void machine_charge(struct machine *m, size_t work)
{
    m->steps += work / 16;
}

int machine_push(struct machine *m, struct frame frame)
{
    if (m->depth == m->max_depth) {
        m->fatal = true;
        machine_error(m, frame.pos, "depth-budget", "calls are nested more than %zu deep",
                      m->max_depth);
        machine_hint(m, "does a procedure call itself without end?");
        return -1;
    }
    if (m->depth == m->cap) {
        size_t cap = m->cap ? m->cap * 2 : STACK_START;
        struct frame *stack = realloc(m->stack, cap * sizeof(*stack));
        if (!stack) {
            machine_no_memory(m);
            return -1;
        }
        m->stack = stack;
        m->cap = cap;
    }
    m->stack[m->depth++] = frame;
    return 0;
}

void machine_eval(struct machine *m, struct val *expr, src_pos pos, struct env *env)
{
    m->mode = MODE_EVAL;
    m->expr = expr;
    m->pos = pos ? pos : m->pos;
    m->env = env;
}

void machine_apply(struct machine *m, struct val *fn, struct val *args, src_pos pos)
{
    m->mode = MODE_APPLY;
    m->fn = fn;
    m->args = args;
    m->arg_exprs = NULL;
    m->pos = pos;
}

void machine_return(struct machine *m, struct val *value)
{
    m->mode = MODE_RETURN;
    m->value = value;
}

struct val *machine_cons(struct machine *m, struct val *car, struct val *cdr, src_pos pos)
{
    struct val *v = car && cdr ? val_cons(m->arena, car, cdr, pos) : NULL;
    return v ? v : machine_no_memory(m);
}

struct val *machine_list(struct machine *m, src_pos pos, size_t n, struct val *const *items)
{
    struct val *list = &val_nil;
    while (n-- && list)
        list = machine_cons(m, items[n], list, pos);
    return list;
}

int listing_add(struct machine *m, struct listing *l, struct val *v, src_pos pos)
{
    struct val *cell = machine_cons(m, v, &val_nil, pos);
    if (!cell)
        return -1;
    if (l->tail)
        l->tail->cdr = cell;
    else
        l->head = cell;
    l->tail = cell;
    return 0;
}

struct val *listing_end(struct listing *l, struct val *tail)
{
    if (!l->tail)
        return tail;
    l->tail->cdr = tail;
    return l->head;
}

struct val *list_reverse_onto(struct val *list, struct val *tail)
{
    while (list->type == V_PAIR) {
        struct val *next = list->cdr;
        list->cdr = tail;
        tail = list;
        list = next;
    }
    return tail;
}

int name_compare(const char *name, size_t n, const char *known)
{
    size_t k = strlen(known);
    int order = memcmp(name, known, n < k ? n : k);
    return order ? order : (n > k) - (n < k);
}

src_pos call_arg_pos(const struct call *c, int i)
{
    const struct val *cell = c->exprs;
    while (cell && cell->type == V_PAIR && i-- > 0)
        cell = cell->cdr;
    return cell && cell->type == V_PAIR && cell->pos ? cell->pos : c->pos;
}

/* ---- evaluating ---- */

static int eval_symbol(struct machine *m)
{
    struct symbol *name = (struct symbol *)m->expr;
    size_t errors = m->diags->errors;
    struct val *v = machine_lookup(m, name, m->env);
    if (!v) {
        if (m->diags->errors == errors)
            machine_unbound(m, name);
        return -1;
    }
    machine_return(m, v);
    return 0;
}

static int eval_pair(struct machine *m)
{
    struct val *form = m->expr, *head = form->car;
    struct symbol *name = val_symbol(head);
    struct val *fn = name ? machine_lookup(m, name, m->env) : head;
    if (fn && fn->type == V_SYNTAX)
        return fn->syntax->fn(m, form);
    if (fn && fn->type == V_MACRO) {
        struct val *args = machine_cons(m, form, &val_nil, m->pos);
        struct frame f = {.kind = FRAME_MACRO, .pos = m->pos, .env = m->env};
        if (!args || machine_push(m, f) < 0)
            return -1;
        machine_apply(m, fn, args, m->pos);
        return 0;
    }
    int64_t n = val_length(form);
    if (n < 0) {
        machine_error(m, m->pos, "bad-form", "a call must be a proper list");
        return -1;
    }
    machine_charge(m, (size_t)n);
    struct frame f = {
        .kind = FRAME_ARGS, .pos = m->pos, .env = m->env, .a = form->cdr, .b = &val_nil, .c = form};
    if (machine_push(m, f) < 0)
        return -1;
    machine_eval(m, head, form->pos, m->env);
    return 0;
}

static int step_eval(struct machine *m)
{
    if (m->expr->type == V_SYMBOL)
        return eval_symbol(m);
    if (m->expr->type == V_PAIR)
        return eval_pair(m);
    machine_return(m, m->expr);
    return 0;
}

int machine_sequence(struct machine *m, struct val *cells, struct env *env)
{
    if (cells->type != V_PAIR) {
        machine_return(m, &val_void);
        return 0;
    }
    if (cells->cdr->type == V_PAIR) {
        struct frame f = {.kind = FRAME_SEQUENCE, .pos = m->pos, .env = env, .a = cells->cdr};
        if (machine_push(m, f) < 0)
            return -1;
    }
    machine_eval(m, cells->car, cells->pos, env);
    return 0;
}

/* ---- applying ---- */

static int wrong_count(struct machine *m, const char *name, int64_t got, int min, int max)
{
    const char *s = min == 1 ? "" : "s";
    if (max < 0)
        machine_error(m, m->pos, "argument-count", "%s takes at least %d argument%s, not %d", name,
                      min, s, (int)got);
    else if (min == max)
        machine_error(m, m->pos, "argument-count", "%s takes %d argument%s, not %d", name, min, s,
                      (int)got);
    else
        machine_error(m, m->pos, "argument-count", "%s takes %d to %d arguments, not %d", name, min,
                      max, (int)got);
    return -1;
}

/* Number of parameters before the dot in (a b . rest). */
static int64_t count_names(const struct val *params)
{
    int64_t n = 0;
    for (; params->type == V_PAIR && n < PARAMETERS_MAX; params = params->cdr)
        n++;
    return n;
}

static int apply_closure(struct machine *m)
{
    struct env *env = arena_new(m->arena, struct env);
    if (!env)
        return machine_no_memory(m), -1;
    env->up = m->fn->env;
    struct val *params = m->fn->lambda->car, *args = m->args;
    for (; params->type == V_PAIR; params = params->cdr, args = args->cdr) {
        if (args->type != V_PAIR) {
            int64_t want = val_length(m->fn->lambda->car);
            return wrong_count(m, "this procedure", val_length(m->args),
                               (int)(want < 0 ? count_names(m->fn->lambda->car) : want), (int)want);
        }
        if (machine_define(m, (struct symbol *)params->car, args->car, env) < 0)
            return -1;
    }
    if (params->type == V_SYMBOL) {
        if (machine_define(m, (struct symbol *)params, args, env) < 0)
            return -1;
    } else if (args->type != V_NIL) {
        return wrong_count(m, "this procedure", val_length(m->args),
                           (int)val_length(m->fn->lambda->car),
                           (int)val_length(m->fn->lambda->car));
    }
    return machine_sequence(m, m->fn->lambda->cdr, env);
}

static int apply_prim(struct machine *m, const struct call *c)
{
    const struct prim *p = m->fn->prim;
    int64_t n = val_length(m->args);
    machine_charge(m, (size_t)n);
    if (n < p->min || (p->max >= 0 && n > p->max))
        return wrong_count(m, p->name, n, p->min, p->max);
    struct val *v = p->fn(m, c);
    if (!v)
        return -1;
    if (v != &machine_control)
        machine_return(m, v);
    return 0;
}

static int not_callable(struct machine *m)
{
    struct buf shown = {0};
    val_print(m->fn, 60, &shown);
    machine_error(m, m->pos, "not-a-procedure", "%s is %s and cannot be called",
                  shown.s ? shown.s : "", val_type_words(m->fn));
    if (m->fn->type == V_OP)
        machine_hint(m, "use an operation inside a rule: (allow %s …)", vocab_ops[m->fn->id].name);
    else if (m->fn->type == V_MODNAME)
        machine_hint(m, "write (with %s)", vocab_modifiers[m->fn->id].name);
    buf_free(&shown);
    return -1;
}

static int step_apply(struct machine *m)
{
    struct call c = {m->args, m->pos, m->arg_exprs};
    struct val *v;
    switch (m->fn->type) {
    case V_CLOSURE:
    case V_MACRO:
        return apply_closure(m);
    case V_PRIM:
        return apply_prim(m, &c);
    case V_MAKER:
        v = filter_make(m, m->fn, &c);
        if (!v)
            return -1;
        machine_return(m, v);
        return 0;
    default:
        return not_callable(m);
    }
}

/* ---- returning ---- */

/* Reports show a rule at the (allow …) that was written, even if a program wraps allow in a
 * procedure, not at the inside of that wrapper. */
static void note_rule(struct machine *m, const struct frame *f)
{
    const struct val *head = f->c->car;
    bool named = head == &m->allow->v || head == &m->deny->v;
    bool rule =
        m->fn->type == V_PRIM && (m->fn->prim->fn == prim_allow || m->fn->prim->fn == prim_deny);
    if (named || rule)
        m->rule_pos = f->pos;
}

static int resume_args(struct machine *m, struct frame *f)
{
    f->b = machine_cons(m, m->value, f->b, 0);
    if (!f->b)
        return -1;
    if (f->a->type == V_PAIR) {
        struct val *cell = f->a;
        f->a = cell->cdr;
        if (machine_push(m, *f) < 0)
            return -1;
        machine_eval(m, cell->car, cell->pos, f->env);
        return 0;
    }
    struct val *all = list_reverse_onto(f->b, &val_nil);
    machine_apply(m, all->car, all->cdr, f->pos);
    m->arg_exprs = f->c->cdr;
    note_rule(m, f);
    return 0;
}

/* a: procedure, b: results so far (newest first, or NIL forever for for-each), c: lists left. */
static int resume_map(struct machine *m, struct frame *f)
{
    if (m->value && f->b->type != V_VOID) {
        f->b = machine_cons(m, m->value, f->b, 0);
        if (!f->b)
            return -1;
    }
    struct val *args = &val_nil, *rest = &val_nil;
    for (struct val *l = f->c; l->type == V_PAIR; l = l->cdr) {
        if (l->car->type != V_PAIR) {
            machine_return(m, f->b->type == V_VOID ? &val_void : list_reverse_onto(f->b, &val_nil));
            return 0;
        }
        args = machine_cons(m, l->car->car, args, 0);
        rest = machine_cons(m, l->car->cdr, rest, 0);
        if (!args || !rest)
            return -1;
    }
    f->c = list_reverse_onto(rest, &val_nil);
    if (machine_push(m, *f) < 0)
        return -1;
    machine_apply(m, f->a, list_reverse_onto(args, &val_nil), f->pos);
    return 0;
}

static int resume_top_forms(struct machine *m, struct frame *f)
{
    if (f->a->type != V_PAIR) {
        machine_return(m, &val_void);
        return 0;
    }
    struct val *cell = f->a;
    f->a = cell->cdr;
    if (machine_push(m, *f) < 0)
        return -1;
    m->top_pos = cell->pos;
    machine_eval(m, cell->car, cell->pos, NULL);
    return 0;
}

static int resume_define(struct machine *m, struct frame *f)
{
    int r = f->kind == FRAME_SET
                ? machine_assign(m, (struct symbol *)f->a, m->value, f->env, f->pos)
                : machine_define(m, (struct symbol *)f->a, m->value, f->env);
    machine_return(m, &val_void);
    return r;
}

static int step_return(struct machine *m)
{
    struct frame f = m->stack[--m->depth];
    switch (f.kind) {
    case FRAME_ARGS:
        return resume_args(m, &f);
    case FRAME_SEQUENCE:
        m->pos = f.pos;
        return machine_sequence(m, f.a, f.env);
    case FRAME_IF:
        if (val_truth(m->value)) {
            machine_eval(m, f.a->car, f.a->pos, f.env);
            return 0;
        }
        return machine_sequence(m, f.a->cdr, f.env);
    case FRAME_DEFINE:
    case FRAME_SET:
        return resume_define(m, &f);
    case FRAME_MACRO:
        machine_eval(m, m->value, f.pos, f.env);
        return 0;
    case FRAME_MAP:
        return resume_map(m, &f);
    case FRAME_TOP_FORMS:
        return resume_top_forms(m, &f);
    case FRAME_END_IMPORT:
        m->import = m->import->up;
        m->top_pos = f.pos;
        machine_return(m, &val_void);
        return 0;
    default:
        return syntax_resume(m, &f);
    }
}

/* ---- running ---- */

static int run_down_to(struct machine *m, size_t depth)
{
    static int (*const steps[])(struct machine *) = {
        [MODE_EVAL] = step_eval, [MODE_APPLY] = step_apply, [MODE_RETURN] = step_return};
    while (m->mode != MODE_RETURN || m->depth > depth) {
        if (++m->steps > m->max_steps) {
            machine_no_steps(m);
            return -1;
        }
        if (steps[m->mode](m) < 0)
            return -1;
    }
    return 0;
}

static int run_machine(struct machine *m)
{
    return run_down_to(m, 0);
}

/* Profiles wrap rules by assigning to allow and deny and restoring them at the end of a form. An
 * error in between would prevent that. */
struct rule_words {
    struct val *allow, *deny;
};

static struct rule_words save_rule_words(const struct machine *m)
{
    return (struct rule_words){m->allow->global, m->deny->global};
}

/* An error leaves frames and scopes behind, so the next form starts clean. Nothing may fail
 * silently: a missing rule would go unnoticed. */
static int finish(struct machine *m, int result, const struct rule_words *words)
{
    if (result < 0 && !m->diags->errors)
        machine_error(m, m->pos, "bug", "evaluation failed for an unknown reason");
    m->depth = 0;
    m->scope = NULL;
    m->import = NULL;
    m->policy = &m->profile;
    if (result < 0) {
        m->allow->global = words->allow;
        m->deny->global = words->deny;
    }
    return result;
}

int machine_run_form(struct machine *m, struct val *form, src_pos pos)
{
    struct rule_words words = save_rule_words(m);
    m->top_pos = m->rule_pos = pos;
    machine_eval(m, form, pos, NULL);
    return finish(m, run_machine(m), &words);
}

int machine_run_call(struct machine *m, struct val *fn)
{
    struct rule_words words = save_rule_words(m);
    m->top_pos = m->rule_pos = 0;
    machine_apply(m, fn, &val_nil, 0);
    return finish(m, run_machine(m), &words);
}

/* Restores the registers afterwards; uses the stack above them. */
struct val *machine_value_of(struct machine *m, struct val *expr, src_pos pos)
{
    const struct machine before = *m;
    machine_eval(m, expr, pos, NULL);
    int result = run_down_to(m, before.depth);
    struct val *value = result < 0 ? NULL : m->value;
    m->mode = before.mode;
    m->expr = before.expr;
    m->pos = before.pos;
    m->env = before.env;
    m->fn = before.fn;
    m->args = before.args;
    m->arg_exprs = before.arg_exprs;
    m->value = before.value;
    m->rule_pos = before.rule_pos;
    return value;
}
