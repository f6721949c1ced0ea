/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * String patterns of eras C, D and E: a small program that walks a trie. Every test (some bytes,
 * one byte of a class, the end of the string) is followed by what to do when it fails: 0f gives up,
 * 80…ff and 08 jump ahead. A test that succeeded is not undone, so alternatives that may begin
 * alike would hide each other; Apple's compiler never makes such patterns, and we reject them.
 * Where it needs such alternatives, 06 saves the position; failures of one alternative lead to 05,
 * which restores it for the next; 07 forgets it. The result is a union of whole strings, prefixes
 * and subpaths, and of regexes where not all bytes are named.
 */

#include <string.h>

#include "base/own.h"
#include "format/encode-int.h"
#include "format/format-int.h"
#include "graph/regex/regex.h"

/* A set of bytes. */
struct bytes {
    uint64_t w[4];
};

struct frame;

/* The state of a walk: what the string begins with, literally or as a regex. */
struct branch {
    size_t pc;
    const char *text;
    size_t len;
    bool regex;
    bool failed;         /* a failed test led here */
    struct bytes first;  /* first bytes of the tests that failed here before */
    struct bytes past;   /* of a repetition that ends here: it has taken them all */
    struct bytes absent; /* bytes that do not occur in the rest */
    struct frame *saved; /* the positions saved, last first */
    struct branch *next;
};

/* A saved position, for one of its alternatives. All failures of the alternative must lead to the
 * same place; otherwise the next would be tried for some strings only. */
struct frame {
    struct branch at;
    size_t restored; /* where they lead, or 0 */
    bool gives_up;   /* or to no other alternative */
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
    if (pc >= w->code.n)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: %s", w->code.offset + pc, why);
    return err_set(err, BK_E_INPUT, "offset 0x%zx: byte 0x%02x: %s", w->code.offset + pc,
                   w->code.p[pc], why);
}

static const struct bytes slash = {{(uint64_t)1 << '/'}};

static bool is_empty(struct bytes s)
{
    return !(s.w[0] | s.w[1] | s.w[2] | s.w[3]);
}

static bool has_common(struct bytes a, struct bytes b)
{
    return (a.w[0] & b.w[0]) | (a.w[1] & b.w[1]) | (a.w[2] & b.w[2]) | (a.w[3] & b.w[3]);
}

static void add_bytes(struct bytes *to, struct bytes more)
{
    for (unsigned i = 0; i < 4; i++)
        to->w[i] |= more.w[i];
}

static void add_byte(struct bytes *to, uint8_t c)
{
    to->w[c / 64] |= (uint64_t)1 << c % 64;
}

static struct bytes all_bytes_but(uint8_t c)
{
    struct bytes s = {{~(uint64_t)0, ~(uint64_t)0, ~(uint64_t)0, ~(uint64_t)0}};
    s.w[c / 64] &= ~((uint64_t)1 << c % 64);
    return s;
}

static void put_set(struct buf *out, struct bytes s)
{
    uint8_t set[32];
    for (unsigned i = 0; i < sizeof(set); i++)
        set[i] = (uint8_t)(s.w[i / 8] >> 8 * (i % 8));
    automaton_put_set(out, set);
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

static int give_up(const struct walk *w, const struct branch *b, size_t pc, struct bk_err *err)
{
    for (struct frame *f = b->saved; f; f = f->at.saved) {
        f->gives_up = true;
        if (f->restored)
            return refuse(w, pc, "a pattern gives up where it also tries another way", err);
    }
    return 0;
}

/* Reads what happens on failure at *pc, and queues the alternative for later. */
static int on_failure(struct walk *w, const struct branch *b, size_t *pc, struct bk_err *err)
{
    if (*pc >= w->code.n)
        return refuse(w, *pc, "the pattern ends early", err);
    size_t at = *pc, skip;
    uint8_t op = w->code.p[at];
    if (op == OP_GIVE_UP) {
        *pc += 1;
        return give_up(w, b, at, err);
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
    to->failed = true;
    if (to->pc >= w->code.n)
        return refuse(w, at, "a jump leaves the pattern", err);
    to->next = w->todo;
    w->todo = to;
    return 0;
}

/* Records the first bytes of a test; no test that failed here before may share them, nor may a
 * repetition have taken them. `all` are all bytes that the test may take. */
static int begins_with(const struct walk *w, struct branch *b, struct bytes first, struct bytes all,
                       struct bk_err *err)
{
    if (has_common(b->first, first))
        return refuse(w, b->pc, "two alternatives of a pattern may begin alike", err);
    if (has_common(b->past, first))
        return refuse(w, b->pc, "a pattern continues with what a repetition has taken", err);
    if (has_common(b->absent, all))
        return refuse(w, b->pc, "a pattern continues with a byte that it has searched", err);
    add_bytes(&b->first, first);
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
    *b = (struct branch){.pc = pc,
                         .text = s,
                         .len = text.n,
                         .regex = b->regex || regex,
                         .absent = b->absent,
                         .saved = b->saved};
    return 0;
}

static int take_bytes(struct walk *w, struct branch *b, size_t from, size_t n, struct bk_err *err)
{
    struct bytes first = {0}, all = {0};
    if (from > w->code.n || n > w->code.n - from)
        return refuse(w, b->pc, "a literal exceeds the pattern", err);
    const uint8_t *text = w->code.p + from;
    if (memchr(text, '\0', n))
        return refuse(w, from, "a literal contains a NUL byte", err);
    add_byte(&first, text[0]);
    for (size_t i = 0; i < n; i++)
        add_byte(&all, text[i]);
    size_t pc = from + n;
    if (begins_with(w, b, first, all, err) < 0 || on_failure(w, b, &pc, err) < 0)
        return -1;
    return extend(w, b, (const char *)text, n, false, pc, err);
}

/* One of these bytes, or as many of them as there are: that cannot fail. */
static int take_ranges(struct walk *w, struct branch *b, struct bk_err *err)
{
    struct bytes set = {0};
    size_t at = b->pc + 1;
    if (at >= w->code.n || w->code.n - at - 1 < 2 * ((w->code.p[at] & 0x7fu) + 1))
        return refuse(w, b->pc, "a class exceeds the pattern", err);
    unsigned count = (w->code.p[at] & 0x7fu) + 1;
    bool repeat = w->code.p[at] & RANGES_REPEAT;
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *p = w->code.p + at + 1 + 2 * (size_t)i;
        for (unsigned c = p[0]; c <= p[1]; c++)
            if (c) /* strings contain no NUL */
                add_byte(&set, (uint8_t)c);
    }
    size_t pc = at + 1 + 2 * (size_t)count;
    struct bytes before = b->first, past = b->past;
    if (begins_with(w, b, set, set, err) < 0 || (!repeat && on_failure(w, b, &pc, err) < 0))
        return -1;
    OWN(buf) struct buf text = {0};
    put_set(&text, set);
    if (repeat)
        buf_chr(&text, '*');
    if (extend(w, b, text.s, text.n, true, pc, err) < 0)
        return -1;
    if (repeat) {
        b->first = before;
        b->past = past;
        add_bytes(&b->past, set);
    }
    return 0;
}

/* [^c]*c, or .*c: then c does not occur in the rest, so that it makes no difference whether the
 * last c is meant, or any. */
static int take_through(struct walk *w, struct branch *b, struct bk_err *err)
{
    size_t pc = b->pc + 2;
    if (pc > w->code.n || !w->code.p[b->pc + 1])
        return refuse(w, b->pc, "the pattern ends early", err);
    bool next = w->code.p[b->pc] == OP_THROUGH;
    uint8_t c = w->code.p[b->pc + 1];
    struct bytes one = {0}, any = all_bytes_but('\0');
    add_byte(&one, c);
    OWN(buf) struct buf text = {0};
    put_set(&text, next ? all_bytes_but(c) : any);
    buf_chr(&text, '*');
    put_set(&text, one);
    if (begins_with(w, b, any, any, err) < 0 || on_failure(w, b, &pc, err) < 0 ||
        extend(w, b, text.s, text.n, true, pc, err) < 0)
        return -1;
    if (!next)
        add_byte(&b->absent, c);
    return 0;
}

/* A variable appears in the text by name, as ${NAME}. */
static int take_variable(struct walk *w, struct branch *b, struct bk_err *err)
{
    uint8_t op = w->code.p[b->pc];
    struct bytes set = {0};
    size_t pc = b->pc + (op == OP_LONG_VARIABLE ? 3 : 1);
    struct span name;
    if (pc > w->code.n)
        return refuse(w, b->pc, "the pattern ends early", err);
    unsigned index = op == OP_LONG_VARIABLE ? get16(w->code.p + b->pc + 1) : op - OP_VARIABLE;
    if (blob_variable(w->b, index, w->code.offset + b->pc, &name, err) < 0)
        return -1;
    add_byte(&set, '$');
    if (begins_with(w, b, set, set, err) < 0 || on_failure(w, b, &pc, err) < 0)
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
    static const uint8_t tail[] = {0x40, '/', 0x80, OP_ACCEPT, OP_END_OF_STRING};
    size_t end = b->pc + sizeof(tail);
    if (b->len == 0 || !is_empty(b->first) || has_common(b->past, slash) ||
        has_common(b->absent, slash) || vocab_filters[w->filter].arg != ARG_PATH ||
        end >= w->code.n || memcmp(w->code.p + b->pc, tail, sizeof(tail)) != 0)
        return false;
    end += w->code.p[end] == OP_LONG_JUMP ? 3 : 1;
    return end < w->code.n && w->code.p[end] == OP_ACCEPT;
}

static int take_subpath(struct walk *w, struct branch *b, struct bk_err *err)
{
    size_t pc = b->pc + 5;
    return on_failure(w, b, &pc, err) < 0 ? -1 : yield_test(w, b, GRAPH_SUBPATH, err);
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

static int push_frame(struct walk *w, struct branch *b, struct bk_err *err)
{
    struct frame *f = arena_new(&w->g->arena, struct frame);
    if (!f)
        return budget_exhausted(w->code.offset + b->pc, err);
    *f = (struct frame){.at = *b};
    b->saved = f;
    b->pc++;
    return 0;
}

/* Whatever failed since the position was saved comes here: what follows is another alternative.
 * Only the first failure has to go on; *done for the others. */
static int restore(struct walk *w, struct branch *b, bool *done, struct bk_err *err)
{
    struct frame *f = b->saved;
    size_t pc = b->pc;
    if (!f || !b->failed)
        return refuse(w, pc, "a pattern restores a position where no test has failed", err);
    if (f->gives_up || (f->restored && f->restored != pc))
        return refuse(w, pc, "a pattern restores a position for some failures only", err);
    *done = f->restored;
    f->restored = pc;
    *b = f->at;
    b->pc = pc;
    b->failed = true;
    return *done ? 0 : push_frame(w, b, err);
}

static int forget(struct walk *w, struct branch *b, struct bk_err *err)
{
    if (!b->saved || !b->failed)
        return refuse(w, b->pc, "a pattern forgets a position after a success: not established",
                      err);
    b->saved = b->saved->at.saved;
    b->pc++;
    return 0;
}

/* Moves between alternatives; *done when this branch ends. */
static int move(struct walk *w, struct branch *b, bool *done, struct bk_err *err)
{
    uint8_t op = w->code.p[b->pc];
    *done = op == OP_GIVE_UP;
    if (op == OP_SAVE)
        return push_frame(w, b, err);
    if (op == OP_RESTORE)
        return restore(w, b, done, err);
    return op == OP_FORGET ? forget(w, b, err) : give_up(w, b, b->pc, err);
}

static bool is_move(const struct walk *w, const struct branch *b)
{
    uint8_t op = w->code.p[b->pc];
    return op == OP_SAVE || op == OP_RESTORE || op == OP_FORGET || (op == OP_GIVE_UP && b->failed);
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
    bool done = false;
    for (;;) {
        if (b.pc >= w->code.n)
            return refuse(w, b.pc, "the pattern ends early", err);
        if (budget_spend(w->g, 1, w->code.offset + b.pc, err) < 0)
            return -1;
        if (is_move(w, &b)) {
            if (move(w, &b, &done, err) < 0)
                return -1;
            if (done)
                return 0;
            continue;
        }
        b.failed = false;
        if (subpath_at(w, &b))
            return take_subpath(w, &b, err);
        if (w->code.p[b.pc] == OP_END_OF_STRING)
            return take_end(w, &b, err);
        if (w->code.p[b.pc] == OP_ACCEPT) {
            if (!is_empty(b.first))
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
