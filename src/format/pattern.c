/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Era E's string patterns: a small program that walks a trie. Every test (some literal bytes, the
 * end of the string) is followed by what to do when it fails: 0f gives up, 80…ff jumps ahead. A
 * literal that matched is never taken back, so alternatives that begin alike would shut each other
 * out; Apple's compiler makes none, and we refuse them. What is left is a plain union of whole
 * strings, prefixes and subpaths.
 */

#include <string.h>

#include "format/format-int.h"

enum {
    OP_END_OF_STRING = 0x00,
    OP_LONG_LITERAL = 0x04,
    OP_ACCEPT = 0x0a,
    OP_GIVE_UP = 0x0f,
    OP_LITERAL = 0x40,
    OP_JUMP = 0x80,
    LONG_LITERAL_MIN = 0x41,
};

/* Where to go on when a test fails: alternatives to what was tested, behind the same beginning. */
struct branch {
    size_t pc;
    const char *prefix;
    size_t len;
    uint64_t first[4]; /* first bytes of the literals that failed before */
    struct branch *next;
};

struct walk {
    struct budget *g;
    struct span code;
    uint16_t filter;
    struct alternatives *out;
    struct branch *todo;
};

static int refuse(const struct walk *w, size_t pc, const char *why, struct bk_err *err)
{
    return err_set(err, BK_E_INPUT, "offset 0x%zx: %s", w->code.offset + pc, why);
}

static int yield_test(struct walk *w, const struct branch *b, enum graph_how how,
                      struct bk_err *err)
{
    struct graph_test t = {
        .filter = w->filter, .how = (uint8_t)how, .str = b->prefix, .len = (uint32_t)b->len};
    return alternatives_add(w->g, w->out, &t, w->code.offset + b->pc, err);
}

/* Reads what happens on failure at *pc, and leaves the alternative to be walked later. */
static int on_failure(struct walk *w, const struct branch *b, size_t *pc, struct bk_err *err)
{
    if (*pc >= w->code.n)
        return refuse(w, *pc, "the pattern ends early", err);
    uint8_t op = w->code.p[*pc];
    if (op == OP_GIVE_UP) {
        *pc += 1;
        return 0;
    }
    if (op < OP_JUMP)
        return refuse(w, *pc, "this jump of a pattern is not known", err);
    struct branch *to = arena_dup(&w->g->arena, b, sizeof(*b));
    if (!to)
        return budget_exhausted(w->code.offset + *pc, err);
    *pc += 1;
    to->pc = *pc + (op & 0x7f) + 1;
    if (to->pc >= w->code.n)
        return refuse(w, *pc - 1, "a jump leads out of the pattern", err);
    to->next = w->todo;
    w->todo = to;
    return 0;
}

static bool literal_at(const struct walk *w, size_t pc, size_t *from, size_t *n)
{
    uint8_t op = w->code.p[pc];
    if (op >= OP_LITERAL && op < OP_JUMP) {
        *from = pc + 1;
        *n = (op & 0x3f) + 1u;
        return true;
    }
    if (op != OP_LONG_LITERAL)
        return false;
    *from = pc + 2;
    *n = pc + 1 < w->code.n ? w->code.p[pc + 1] + (size_t)LONG_LITERAL_MIN : w->code.n;
    return true;
}

static int take_literal(struct walk *w, struct branch *b, size_t from, size_t n, struct bk_err *err)
{
    if (from > w->code.n || n > w->code.n - from)
        return refuse(w, b->pc, "a literal goes beyond the pattern's end", err);
    const uint8_t *text = w->code.p + from;
    if (memchr(text, '\0', n))
        return refuse(w, from, "a literal holds a NUL byte", err);
    uint64_t bit = UINT64_C(1) << (text[0] % 64);
    if (b->first[text[0] / 64] & bit)
        return refuse(w, b->pc, "two alternatives of a pattern begin alike", err);
    b->first[text[0] / 64] |= bit;
    size_t pc = from + n;
    if (on_failure(w, b, &pc, err) < 0 ||
        budget_spend(w->g, b->len + n, w->code.offset + from, err) < 0)
        return -1;
    char *longer = arena_alloc(&w->g->arena, b->len + n + 1);
    if (!longer)
        return budget_exhausted(w->code.offset + from, err);
    memcpy(longer, b->prefix, b->len);
    memcpy(longer + b->len, text, n);
    *b = (struct branch){.pc = pc, .prefix = longer, .len = b->len + n};
    return 0;
}

/* A slash and anything, or the end: how a subpath ends. */
static bool subpath_at(const struct walk *w, const struct branch *b)
{
    static const uint8_t tail[] = {0x40,       '/',      0x80, OP_ACCEPT, OP_END_OF_STRING,
                                   OP_GIVE_UP, OP_ACCEPT};
    bool fresh = !(b->first[0] | b->first[1] | b->first[2] | b->first[3]);
    return fresh && vocab_filters[w->filter].arg == ARG_PATH && w->code.n - b->pc >= sizeof(tail) &&
           memcmp(w->code.p + b->pc, tail, sizeof(tail)) == 0;
}

static int take_end(struct walk *w, struct branch *b, struct bk_err *err)
{
    size_t pc = b->pc + 1;
    if (on_failure(w, b, &pc, err) < 0)
        return -1;
    if (pc >= w->code.n || w->code.p[pc] != OP_ACCEPT)
        return refuse(w, pc, "a pattern goes on behind the end of the string", err);
    return yield_test(w, b, GRAPH_LITERAL, err);
}

/* From one branch to where it accepts. */
static int walk_branch(struct walk *w, struct branch b, struct bk_err *err)
{
    size_t from, n;
    for (;;) {
        if (b.pc >= w->code.n)
            return refuse(w, b.pc, "the pattern ends early", err);
        if (budget_spend(w->g, 1, w->code.offset + b.pc, err) < 0)
            return -1;
        uint8_t op = w->code.p[b.pc];
        if (subpath_at(w, &b))
            return yield_test(w, &b, GRAPH_SUBPATH, err);
        if (op == OP_END_OF_STRING)
            return take_end(w, &b, err);
        if (op == OP_ACCEPT) {
            if (b.first[0] | b.first[1] | b.first[2] | b.first[3])
                return refuse(w, b.pc, "a pattern accepts what an alternative kept back", err);
            return yield_test(w, &b, GRAPH_PREFIX, err);
        }
        if (!literal_at(w, b.pc, &from, &n))
            return err_set(err, BK_E_INPUT, "offset 0x%zx: pattern byte 0x%02x is not known",
                           w->code.offset + b.pc, op);
        if (take_literal(w, &b, from, n, err) < 0)
            return -1;
    }
}

int pattern_tests(struct budget *g, struct span code, uint16_t filter, struct alternatives *out,
                  struct bk_err *err)
{
    struct walk w = {.g = g, .code = code, .filter = filter, .out = out};
    struct branch b = {.prefix = ""};
    for (;;) {
        if (walk_branch(&w, b, err) < 0)
            return -1;
        if (!w.todo)
            return 0;
        b = *w.todo;
        w.todo = b.next;
    }
}
