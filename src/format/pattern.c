/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * String patterns of eras C, D and E: a small program that walks a trie. Every test (some bytes,
 * one byte of a class, the end of the string) is followed by what to do when it fails: 0f gives up,
 * 80…ff and 08 jump ahead. There is no backtracking, so alternatives that may begin alike would
 * hide each other; Apple's compiler never makes such patterns, and we reject them. The result is a
 * union of whole strings, prefixes and subpaths, and of regexes where not all bytes are named.
 */

#include <string.h>

#include "base/own.h"
#include "format/encode-int.h"
#include "format/format-int.h"
#include "graph/regex/regex.h"

enum {
    OP_END_OF_STRING = 0x00,
    OP_LONG_VARIABLE = 0x01,
    OP_THROUGH = 0x02,     /* to the next c, inclusive */
    OP_THROUGH_ANY = 0x03, /* to some c, inclusive */
    OP_LONG_LITERAL = 0x04,
    OP_LONG_JUMP = 0x08,
    OP_ACCEPT = 0x0a,
    OP_RANGES = 0x0b,
    OP_GIVE_UP = 0x0f,
    OP_VARIABLE = 0x10,
    OP_VARIABLE_LAST = 0x1f,
    OP_LITERAL = 0x40,
    OP_JUMP = 0x80,
    LONG_LITERAL_MIN = 0x41,
    LONG_JUMP_MIN = 0x81,
};

/* The state of a walk: what the string begins with, literally or as a regex. */
struct branch {
    size_t pc;
    const char *text;
    size_t len;
    bool regex;
    uint64_t first[4]; /* first bytes of the tests that failed here before */
    struct branch *next;
};

struct walk {
    const struct blob *b;
    struct budget *g;
    struct span code;
    uint16_t filter;
    struct alternatives *out;
    struct branch *todo; /* where to continue when a test fails, newest first */
};

static int refuse(const struct walk *w, size_t pc, const char *why, struct bk_err *err)
{
    return err_set(err, BK_E_INPUT, "offset 0x%zx: %s", w->code.offset + pc, why);
}

static bool is_fresh(const struct branch *b)
{
    return !(b->first[0] | b->first[1] | b->first[2] | b->first[3]);
}

/* ---- what accepts ---- */

static int yield_regex(struct walk *w, const struct branch *b, const char *tail, struct bk_err *err)
{
    OWN(buf) struct buf text = {0};
    buf_chr(&text, '^');
    buf_add(&text, b->text, b->len);
    buf_str(&text, tail);
    char *s = buf_ok(&text) ? arena_strndup(&w->g->arena, text.s, text.n) : NULL;
    if (!s)
        return budget_exhausted(w->code.offset + b->pc, err);
    struct graph_test t = {
        .filter = w->filter, .how = GRAPH_REGEX, .str = s, .len = (uint32_t)text.n};
    return alternatives_add(w->g, w->out, &t, w->code.offset + b->pc, err);
}

static int yield_test(struct walk *w, const struct branch *b, enum graph_how how,
                      struct bk_err *err)
{
    static const char *const tails[] = {
        [GRAPH_LITERAL] = "$", [GRAPH_PREFIX] = "", [GRAPH_SUBPATH] = "(/|$)"};
    if (b->regex)
        return yield_regex(w, b, tails[how], err);
    struct graph_test t = {
        .filter = w->filter, .how = (uint8_t)how, .str = b->text, .len = (uint32_t)b->len};
    return alternatives_add(w->g, w->out, &t, w->code.offset + b->pc, err);
}

/* ---- tests ---- */

/* Reads what happens on failure at *pc, and queues the alternative for later. */
static int on_failure(struct walk *w, const struct branch *b, size_t *pc, struct bk_err *err)
{
    if (*pc >= w->code.n)
        return refuse(w, *pc, "the pattern ends early", err);
    size_t at = *pc, skip;
    uint8_t op = w->code.p[at];
    if (op == OP_GIVE_UP) {
        *pc += 1;
        return 0;
    }
    if (op == OP_LONG_JUMP && w->code.n - at >= 3) {
        skip = get16(w->code.p + at + 1) + (size_t)LONG_JUMP_MIN;
        *pc += 3;
    } else if (op >= OP_JUMP) {
        skip = (op & 0x7f) + (size_t)1;
        *pc += 1;
    } else {
        return refuse(w, at, "unknown jump in a pattern", err);
    }
    struct branch *to = arena_dup(&w->g->arena, b, sizeof(*b));
    if (!to)
        return budget_exhausted(w->code.offset + at, err);
    to->pc = *pc + skip;
    if (to->pc >= w->code.n)
        return refuse(w, at, "a jump leaves the pattern", err);
    to->next = w->todo;
    w->todo = to;
    return 0;
}

/* Records the first bytes of a test; no test that failed here before may share them. */
static int begins_with(const struct walk *w, struct branch *b, const uint8_t set[32],
                       struct bk_err *err)
{
    for (unsigned i = 0; i < 4; i++) {
        uint64_t word = 0;
        for (unsigned k = 0; k < 8; k++)
            word |= (uint64_t)set[8 * i + k] << (8 * k);
        if (b->first[i] & word)
            return refuse(w, b->pc, "two alternatives of a pattern may begin alike", err);
        b->first[i] |= word;
    }
    return 0;
}

/* Appends to the branch: literal bytes, or a piece of a regex. */
static int extend(struct walk *w, struct branch *b, const char *more, size_t n, bool regex,
                  size_t pc, struct bk_err *err)
{
    size_t offset = w->code.offset + b->pc;
    OWN(buf) struct buf text = {0};
    if (regex && !b->regex)
        regex_quote(b->text, b->len, &text);
    else
        buf_add(&text, b->text, b->len);
    if (b->regex && !regex)
        regex_quote(more, n, &text);
    else
        buf_add(&text, more, n);
    if (budget_spend(w->g, text.n, offset, err) < 0)
        return -1;
    char *s = buf_ok(&text) ? arena_strndup(&w->g->arena, text.s ? text.s : "", text.n) : NULL;
    if (!s)
        return budget_exhausted(offset, err);
    *b = (struct branch){.pc = pc, .text = s, .len = text.n, .regex = b->regex || regex};
    return 0;
}

static int take_bytes(struct walk *w, struct branch *b, size_t from, size_t n, struct bk_err *err)
{
    uint8_t set[32] = {0};
    if (from > w->code.n || n > w->code.n - from)
        return refuse(w, b->pc, "a literal exceeds the pattern", err);
    const uint8_t *text = w->code.p + from;
    if (memchr(text, '\0', n))
        return refuse(w, from, "a literal contains a NUL byte", err);
    set[text[0] / 8] = (uint8_t)(1 << text[0] % 8);
    size_t pc = from + n;
    if (begins_with(w, b, set, err) < 0 || on_failure(w, b, &pc, err) < 0)
        return -1;
    return extend(w, b, (const char *)text, n, false, pc, err);
}

static int take_ranges(struct walk *w, struct branch *b, struct bk_err *err)
{
    uint8_t set[32] = {0};
    size_t at = b->pc + 1;
    if (at >= w->code.n || w->code.n - at - 1 < 2 * ((w->code.p[at] & 0x7fu) + 1))
        return refuse(w, b->pc, "a class exceeds the pattern", err);
    unsigned count = (w->code.p[at] & 0x7fu) + 1;
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *p = w->code.p + at + 1 + 2 * (size_t)i;
        for (unsigned c = p[0]; c <= p[1]; c++)
            set[c / 8] |= (uint8_t)(1 << c % 8);
    }
    for (unsigned i = 0; w->code.p[at] & 0x80 && i < sizeof(set); i++)
        set[i] = (uint8_t)~set[i];
    set[0] &= 0xfe; /* strings contain no NUL */
    size_t pc = at + 1 + 2 * (size_t)count;
    if (begins_with(w, b, set, err) < 0 || on_failure(w, b, &pc, err) < 0)
        return -1;
    OWN(buf) struct buf text = {0};
    automaton_put_set(&text, set);
    return extend(w, b, text.s, text.n, true, pc, err);
}

/* [^c]*c, or .*c */
static int take_through(struct walk *w, struct branch *b, struct bk_err *err)
{
    uint8_t any[32], one[32] = {0}, others[32];
    size_t pc = b->pc + 2;
    if (pc > w->code.n || !w->code.p[b->pc + 1])
        return refuse(w, b->pc, "the pattern ends early", err);
    uint8_t c = w->code.p[b->pc + 1];
    one[c / 8] = (uint8_t)(1 << c % 8);
    for (unsigned i = 0; i < sizeof(any); i++) {
        any[i] = 0xff;
        others[i] = (uint8_t)~one[i];
    }
    OWN(buf) struct buf text = {0};
    automaton_put_set(&text, w->code.p[b->pc] == OP_THROUGH ? others : any);
    buf_chr(&text, '*');
    automaton_put_set(&text, one);
    if (begins_with(w, b, any, err) < 0 || on_failure(w, b, &pc, err) < 0)
        return -1;
    return extend(w, b, text.s, text.n, true, pc, err);
}

/* A variable appears in the text by name, as ${NAME}. */
static int take_variable(struct walk *w, struct branch *b, struct bk_err *err)
{
    uint8_t op = w->code.p[b->pc], set[32] = {0};
    size_t pc = b->pc + (op == OP_LONG_VARIABLE ? 3 : 1);
    struct span name;
    if (pc > w->code.n)
        return refuse(w, b->pc, "the pattern ends early", err);
    unsigned index = op == OP_LONG_VARIABLE ? get16(w->code.p + b->pc + 1) : op - OP_VARIABLE;
    if (blob_variable(w->b, index, w->code.offset + b->pc, &name, err) < 0)
        return -1;
    set['$' / 8] = 1 << '$' % 8;
    if (begins_with(w, b, set, err) < 0 || on_failure(w, b, &pc, err) < 0)
        return -1;
    OWN(buf) struct buf text = {0};
    buf_str(&text, "${");
    buf_add(&text, (const char *)name.p, name.n);
    buf_chr(&text, '}');
    return extend(w, b, text.s, text.n, false, pc, err);
}

/* A slash and anything, or the end: how a subpath ends. An empty prefix is not a subpath: it is the
 * root and everything below, or an empty string. */
static bool subpath_at(const struct walk *w, const struct branch *b)
{
    static const uint8_t tail[] = {0x40,       '/',      0x80, OP_ACCEPT, OP_END_OF_STRING,
                                   OP_GIVE_UP, OP_ACCEPT};
    return b->len > 0 && is_fresh(b) && vocab_filters[w->filter].arg == ARG_PATH &&
           w->code.n - b->pc >= sizeof(tail) && memcmp(w->code.p + b->pc, tail, sizeof(tail)) == 0;
}

static int take_end(struct walk *w, struct branch *b, struct bk_err *err)
{
    size_t pc = b->pc + 1;
    if (on_failure(w, b, &pc, err) < 0)
        return -1;
    if (pc >= w->code.n || w->code.p[pc] != OP_ACCEPT)
        return refuse(w, pc, "a pattern continues after the end of the string", err);
    return yield_test(w, b, GRAPH_LITERAL, err);
}

static int take_test(struct walk *w, struct branch *b, struct bk_err *err)
{
    uint8_t op = w->code.p[b->pc];
    if (op >= OP_LITERAL && op < OP_JUMP)
        return take_bytes(w, b, b->pc + 1, (op & 0x3f) + 1u, err);
    if (op == OP_LONG_LITERAL) {
        size_t n =
            b->pc + 1 < w->code.n ? w->code.p[b->pc + 1] + (size_t)LONG_LITERAL_MIN : w->code.n;
        return take_bytes(w, b, b->pc + 2, n, err);
    }
    if (op == OP_RANGES)
        return take_ranges(w, b, err);
    if (op == OP_THROUGH || op == OP_THROUGH_ANY)
        return take_through(w, b, err);
    if (op == OP_LONG_VARIABLE || (op >= OP_VARIABLE && op <= OP_VARIABLE_LAST))
        return take_variable(w, b, err);
    return err_set(err, BK_E_INPUT, "offset 0x%zx: unknown pattern byte 0x%02x",
                   w->code.offset + b->pc, op);
}

/* Walks one branch to where it accepts. */
static int walk_branch(struct walk *w, struct branch b, struct bk_err *err)
{
    for (;;) {
        if (b.pc >= w->code.n)
            return refuse(w, b.pc, "the pattern ends early", err);
        if (budget_spend(w->g, 1, w->code.offset + b.pc, err) < 0)
            return -1;
        if (subpath_at(w, &b))
            return yield_test(w, &b, GRAPH_SUBPATH, err);
        if (w->code.p[b.pc] == OP_END_OF_STRING)
            return take_end(w, &b, err);
        if (w->code.p[b.pc] == OP_ACCEPT) {
            if (!is_fresh(&b))
                return refuse(w, b.pc, "a pattern accepts what an earlier alternative excludes",
                              err);
            return yield_test(w, &b, GRAPH_PREFIX, err);
        }
        if (take_test(w, &b, err) < 0)
            return -1;
    }
}

/* Undoes the order in which the compiler joins alternatives (pattern-code.c), so that compiling
 * them again gives the same pattern. */
static int original_order(struct walk *w, uint32_t from, struct bk_err *err)
{
    uint32_t n = w->out->n - from;
    uint32_t *order = arena_array(&w->g->arena, n + 1u, sizeof(*order));
    struct graph_test *tests = arena_array(&w->g->arena, n + 1u, sizeof(*tests));
    if (!order || !tests || !pattern_order(&w->g->arena, n, order))
        return budget_exhausted(w->code.offset, err);
    for (uint32_t i = 0; i < n; i++)
        tests[order[i]] = w->out->tests[from + i];
    memcpy(w->out->tests + from, tests, n * sizeof(*tests));
    return 0;
}

int pattern_tests(const struct blob *b, struct budget *g, struct span code, uint16_t filter,
                  struct alternatives *out, struct bk_err *err)
{
    struct walk w = {.b = b, .g = g, .code = code, .filter = filter, .out = out};
    struct branch at = {.text = ""};
    uint32_t from = out->n;
    for (;;) {
        if (walk_branch(&w, at, err) < 0)
            return -1;
        if (!w.todo)
            return original_order(&w, from, err);
        at = *w.todo;
        w.todo = at.next;
    }
}
