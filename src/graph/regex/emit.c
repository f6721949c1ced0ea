/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Tree → automaton nodes, from the end to the start: emitting a tree node for a given continuation
 * yields its entry. One frame per tree node on the path from the root replaces recursion. When a
 * child is done, the frame below receives its entry as `got`.
 *
 * A bounded repeat x{2,4} is x x (x (x)?)?, and every option exits to the same continuation.
 */

#include "graph/regex/nfa.h"

struct nfa_frame {
    uint32_t ast;
    uint32_t next;  /* what follows the whole */
    uint32_t entry; /* entry of what is built so far */
    uint32_t child; /* CAT, ALT: the current child; REP: copies made */
    uint32_t loop;  /* REP: the split that loops back */
    bool waiting;   /* a child is being emitted */
};

struct emitter {
    struct regex_set *set;
    uint32_t owner;
    uint32_t depth;
    uint32_t got;
};

static void push(struct emitter *e, uint32_t ast, uint32_t next)
{
    e->set->frames[e->depth++] = (struct nfa_frame){.ast = ast, .next = next, .entry = next};
}

static void done(struct emitter *e, uint32_t entry)
{
    e->got = entry;
    e->depth--;
}

static uint32_t split(struct emitter *e, uint32_t a, uint32_t b)
{
    return nfa_node(e->set, NFA_SPLIT, a, b, e->owner);
}

static void emit_leaf(struct emitter *e, struct nfa_frame *f, const struct ast *t)
{
    static const uint8_t kinds[] = {
        [AST_BYTE] = NFA_BYTE, [AST_SET] = NFA_SET, [AST_BEGIN] = NFA_BEGIN, [AST_END] = NFA_END};
    done(e, nfa_node(e->set, kinds[t->kind], f->next, t->arg, e->owner));
}

static void emit_cat(struct emitter *e, struct nfa_frame *f, const struct ast *t)
{
    if (f->waiting)
        f->entry = e->got;
    f->child = f->waiting ? e->set->parse.nodes[f->child].prev : t->arg;
    f->waiting = true;
    if (f->child)
        push(e, f->child, f->entry);
    else
        done(e, f->entry);
}

static void emit_alt(struct emitter *e, struct nfa_frame *f, const struct ast *t)
{
    if (f->waiting)
        f->entry = f->child == t->arg ? e->got : split(e, e->got, f->entry);
    f->child = f->waiting ? e->set->parse.nodes[f->child].prev : t->arg;
    f->waiting = true;
    if (f->child)
        push(e, f->child, f->next);
    else
        done(e, f->entry);
}

static void emit_forever(struct emitter *e, struct nfa_frame *f, const struct ast *t)
{
    if (!f->waiting) {
        f->waiting = true;
        f->loop = split(e, 0, f->next);
        push(e, t->arg, f->loop);
        return;
    }
    if (f->child == 0)
        e->set->nodes[f->loop].a = e->got;
    f->child++;
    if (f->child < t->min)
        push(e, t->arg, e->got);
    else
        done(e, t->min ? e->got : f->loop);
}

static void emit_bounded(struct emitter *e, struct nfa_frame *f, const struct ast *t)
{
    if (f->waiting) {
        bool optional = f->child < t->max - t->min;
        f->entry = optional ? split(e, e->got, f->next) : e->got;
        f->child++;
    }
    f->waiting = true;
    if (f->child < t->max)
        push(e, t->arg, f->entry);
    else
        done(e, f->entry);
}

static void emit_step(struct emitter *e)
{
    struct nfa_frame *f = &e->set->frames[e->depth - 1];
    const struct ast *t = &e->set->parse.nodes[f->ast];
    if (t->kind == AST_CAT)
        emit_cat(e, f, t);
    else if (t->kind == AST_ALT)
        emit_alt(e, f, t);
    else if (t->kind != AST_REP)
        emit_leaf(e, f, t);
    else if (t->max == AST_FOREVER)
        emit_forever(e, f, t);
    else
        emit_bounded(e, f, t);
}

uint32_t nfa_emit(struct regex_set *set, uint32_t item, uint32_t next, uint32_t owner)
{
    struct emitter e = {.set = set, .owner = owner};
    push(&e, item, next);
    while (e.depth)
        emit_step(&e);
    return e.got;
}

/* No path through the tree is longer than its number of nodes. */
int nfa_emit_reserve(struct regex_set *set)
{
    struct nfa_frame *frames = regex_grow(set->arena, set->frames, 0, &set->frames_cap,
                                          (uint64_t)set->parse.n + 1, sizeof(*frames));
    if (!frames)
        return -1;
    set->frames = frames;
    return 0;
}
