/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * (quote …) and (quasiquote …). A quasiquotation is filled in by walking its template: every list
 * that has begun is a frame with the rest of the template (a), the elements so far, newest first
 * (b), and its level of nesting (c).
 */

#include "sbpl/prim.h"
#include "sbpl/syntax.h"

int syn_quote(struct machine *m, struct val *form)
{
    struct val *args = syntax_arguments(m, form, 1, 1, "(quote datum)");
    if (!args)
        return -1;
    machine_return(m, args->car);
    return 0;
}

/* Whether x is (word datum). It may also be the tail of a list: (a . ,b) is (a unquote b). */
static bool is_marked(const struct val *x, const char *word)
{
    return x->type == V_PAIR && syntax_is_word(x->car, word) && x->cdr->type == V_PAIR &&
           x->cdr->cdr->type == V_NIL;
}

/* How much deeper the template x is nested than what surrounds it. */
static int nesting(const struct val *x, int64_t level)
{
    if (is_marked(x, "quasiquote"))
        return 1;
    return level > 1 && (is_marked(x, "unquote") || is_marked(x, "unquote-splicing")) ? -1 : 0;
}

/* Evaluates the expression in this cell; its value goes to the frame. */
static int ask_for(struct machine *m, struct frame *f, enum frame_kind kind, struct val *cell)
{
    f->kind = (uint8_t)kind;
    if (machine_push(m, *f) < 0)
        return -1;
    machine_eval(m, cell->car, cell->pos, f->env);
    return 0;
}

static int add_element(struct machine *m, struct frame *f, struct val *v, src_pos pos)
{
    f->b = machine_cons(m, v, f->b, pos);
    return f->b ? 0 : -1;
}

/* Begins a list inside the list of f, whose frame stays behind. */
static int descend(struct machine *m, struct frame *f, struct val *list)
{
    f->kind = FRAME_QUOTE_ELEMENT;
    if (machine_push(m, *f) < 0)
        return -1;
    f->a = list;
    f->b = &val_nil;
    return 0;
}

static int enter_level(struct machine *m, struct frame *f)
{
    int more = nesting(f->a, f->c->num);
    if (more)
        f->c = val_int(m->arena, f->c->num + more);
    return f->c ? 0 : (machine_no_memory(m), -1);
}

/* Goes on until a value is needed or the list is complete. */
static int fill(struct machine *m, struct frame *f)
{
    for (; f->a->type == V_PAIR; machine_charge(m, 16)) {
        bool top = f->c->num == 1;
        struct val *x = f->a, *first = x->car;
        if (top && is_marked(x, "unquote"))
            return ask_for(m, f, FRAME_QUOTE_TAIL, x->cdr);
        if (enter_level(m, f) < 0)
            return -1;
        f->a = x->cdr;
        top = f->c->num == 1;
        if (top && is_marked(first, "unquote"))
            return ask_for(m, f, FRAME_QUOTE_ELEMENT, first->cdr);
        if (top && first->type == V_PAIR && syntax_is_word(first->car, "unquote-splicing"))
            return first->cdr->type == V_PAIR ? ask_for(m, f, FRAME_QUOTE_SPLICE, first->cdr)
                                              : syntax_malformed(m, ",@list");
        if ((first->type == V_PAIR ? descend(m, f, first) : add_element(m, f, first, 0)) < 0)
            return -1;
    }
    machine_return(m, list_reverse_onto(f->b, f->a));
    return 0;
}

int syn_quasiquote(struct machine *m, struct val *form)
{
    struct val *args = syntax_arguments(m, form, 1, 1, "`datum");
    struct frame f = {.pos = m->pos, .env = m->env, .b = &val_nil, .c = val_int(m->arena, 1)};
    if (!args)
        return -1;
    if (!f.c)
        return machine_no_memory(m), -1;
    f.a = args->car;
    return fill(m, &f);
}

static int splice(struct machine *m, struct frame *f, struct val *list)
{
    struct val values = {.type = V_PAIR, .car = list, .cdr = &val_nil};
    const struct call c = {.args = &values, .pos = f->pos};
    if (!want_list(m, &c, 0))
        return -1;
    for (; list->type == V_PAIR; list = list->cdr)
        if (add_element(m, f, list->car, list->pos) < 0)
            return -1;
    return 0;
}

int syntax_resume_quote(struct machine *m, const struct frame *from)
{
    struct frame f = *from;
    if (f.kind == FRAME_QUOTE_TAIL) {
        machine_return(m, list_reverse_onto(f.b, m->value));
        return 0;
    }
    int added =
        f.kind == FRAME_QUOTE_SPLICE ? splice(m, &f, m->value) : add_element(m, &f, m->value, 0);
    return added < 0 ? -1 : fill(m, &f);
}
