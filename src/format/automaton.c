/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Converts an automaton back to a regex by eliminating states: every path through a state becomes
 * an edge around it, `in (loop)* out`, until one edge from start to accept is left, and its label
 * is the text. States with few edges go first, which keeps chains short; the budget stops the
 * rest.
 */

#include <string.h>

#include "format/format-int.h"
#include "graph/regex/regex.h"

/* How tightly a label binds. */
enum binding { BIND_ATOM, BIND_ROW, BIND_CHOICE };

struct label {
    const char *s;
    uint32_t n;
    enum binding bind;
};

struct edge {
    uint32_t from, to;
    struct label label;
    struct edge *next_out, *next_in;
    bool gone;
};

struct state {
    struct edge *out, *in;
    bool gone;
};

struct automaton {
    struct budget *g;
    struct state *states;
    uint32_t n;
    bool failed;
};

struct automaton *automaton_new(struct budget *g, uint32_t states)
{
    struct automaton *a = arena_new(&g->arena, struct automaton);
    if (!a || states > UINT32_MAX - 2)
        return NULL;
    /* two more: a start without incoming edges, and an accept without outgoing ones */
    a->states = arena_array(&g->arena, (size_t)states + 2, sizeof(*a->states));
    a->g = g;
    a->n = states;
    return a->states ? a : NULL;
}

/* ---- labels ---- */

static const struct label nothing = {"", 0, BIND_ATOM};

static struct label make_label(struct automaton *a, const struct buf *text, enum binding bind)
{
    char *s = text->failed || budget_spend(a->g, text->n, 0, NULL) < 0
                  ? NULL
                  : arena_strndup(&a->g->arena, text->n ? text->s : "", text->n);
    if (!s)
        a->failed = true;
    return (struct label){s ? s : "", s ? (uint32_t)text->n : 0, bind};
}

static void put_label(struct buf *out, struct label l, enum binding inside)
{
    bool parens = l.bind > inside;
    if (parens)
        buf_chr(out, '(');
    buf_add(out, l.s, l.n);
    if (parens)
        buf_chr(out, ')');
}

static struct label row(struct automaton *a, struct label x, struct label y)
{
    if (!x.n || !y.n)
        return x.n ? x : y;
    struct buf out = {0};
    put_label(&out, x, BIND_ROW);
    put_label(&out, y, BIND_ROW);
    struct label l = make_label(a, &out, BIND_ROW);
    buf_free(&out);
    return l;
}

static struct label repeated(struct automaton *a, struct label x, char how)
{
    if (!x.n)
        return x;
    struct buf out = {0};
    put_label(&out, x, BIND_ATOM);
    buf_chr(&out, how);
    /* stacked quantifiers are legal, but hard to read */
    struct label l = make_label(a, &out, BIND_ROW);
    buf_free(&out);
    return l;
}

static struct label choice(struct automaton *a, struct label x, struct label y)
{
    if (x.n == y.n && memcmp(x.s, y.s, x.n) == 0)
        return x;
    if (!x.n || !y.n)
        return repeated(a, x.n ? x : y, '?');
    struct buf out = {0};
    put_label(&out, x, BIND_CHOICE);
    buf_chr(&out, '|');
    put_label(&out, y, BIND_CHOICE);
    struct label l = make_label(a, &out, BIND_CHOICE);
    buf_free(&out);
    return l;
}

/* ---- bytes ---- */

static bool in_set(const uint8_t set[32], unsigned c)
{
    return set[c / 8] >> (c % 8) & 1;
}

static void put_byte(struct buf *out, unsigned c, const char *special)
{
    if (c && strchr(special, (int)c))
        buf_chr(out, '\\');
    buf_chr(out, (char)c);
}

static void put_class(struct buf *out, const uint8_t set[32], bool sense)
{
    static const char special[] = "\\]^-[";
    buf_str(out, sense ? "[" : "[^");
    for (unsigned c = 1; c < 256; c++) {
        if (in_set(set, c) != sense)
            continue;
        unsigned end = c;
        while (end < 255 && in_set(set, end + 1) == sense)
            end++;
        put_byte(out, c, special);
        if (end > c + 1)
            buf_chr(out, '-');
        if (end > c)
            put_byte(out, end, special);
        c = end;
    }
    buf_chr(out, ']');
}

/* Matched strings contain no NUL, so it makes no difference whether a set does. */
void automaton_put_set(struct buf *out, const uint8_t set[32])
{
    unsigned count = 0, last = 0;
    for (unsigned i = 0; i < 32; i++) {
        unsigned bits = i ? set[i] : set[i] & 0xfeu;
        count += (unsigned)__builtin_popcount(bits);
        if (bits)
            last = 8 * i + 31u - (unsigned)__builtin_clz(bits);
    }
    if (count == 255)
        buf_chr(out, '.');
    else if (count == 1)
        put_byte(out, last, REGEX_SPECIAL);
    else
        put_class(out, set, count < 128);
}

/* ---- edges ---- */

static int add_edge(struct automaton *a, uint32_t from, uint32_t to, struct label label)
{
    for (struct edge *e = a->states[from].out; e; e = e->next_out)
        if (!e->gone && e->to == to) {
            e->label = choice(a, e->label, label);
            return a->failed ? -1 : 0;
        }
    struct edge *e = arena_new(&a->g->arena, struct edge);
    if (!e || budget_spend(a->g, 1, 0, NULL) < 0) {
        a->failed = true;
        return -1;
    }
    *e = (struct edge){.from = from,
                       .to = to,
                       .label = label,
                       .next_out = a->states[from].out,
                       .next_in = a->states[to].in};
    a->states[from].out = a->states[to].in = e;
    return 0;
}

int automaton_empty(struct automaton *a, uint32_t from, uint32_t to)
{
    return add_edge(a, from, to, nothing);
}

int automaton_bytes(struct automaton *a, uint32_t from, uint32_t to, const uint8_t set[32])
{
    struct buf out = {0};
    automaton_put_set(&out, set);
    struct label l = make_label(a, &out, BIND_ATOM);
    buf_free(&out);
    return a->failed ? -1 : add_edge(a, from, to, l);
}

int automaton_anchor(struct automaton *a, uint32_t from, uint32_t to, char anchor)
{
    struct label l = {anchor == '^' ? "^" : "$", 1, BIND_ATOM};
    return add_edge(a, from, to, l);
}

/* Lists keep removed edges until they are counted again. */
static uint32_t count_out(struct state *s)
{
    uint32_t n = 0;
    for (struct edge **p = &s->out; *p;) {
        if ((*p)->gone) {
            *p = (*p)->next_out;
            continue;
        }
        n++;
        p = &(*p)->next_out;
    }
    return n;
}

static uint32_t count_in(struct state *s)
{
    uint32_t n = 0;
    for (struct edge **p = &s->in; *p;) {
        if ((*p)->gone) {
            *p = (*p)->next_in;
            continue;
        }
        n++;
        p = &(*p)->next_in;
    }
    return n;
}

static void take_away(struct automaton *a, uint32_t i)
{
    struct state *s = &a->states[i];
    struct label loop = nothing;
    for (struct edge *e = s->out; e; e = e->next_out)
        if (!e->gone && e->to == i) {
            loop = repeated(a, e->label, '*');
            e->gone = true;
        }
    for (struct edge *in = s->in; in && !a->failed; in = in->next_in)
        for (struct edge *out = s->out; !in->gone && out && !a->failed; out = out->next_out)
            if (!out->gone)
                add_edge(a, in->from, out->to, row(a, row(a, in->label, loop), out->label));
    for (struct edge *e = s->in; e; e = e->next_in)
        e->gone = true;
    for (struct edge *e = s->out; e; e = e->next_out)
        e->gone = true;
    s->gone = true;
}

/* Finds the state whose edges multiply least. States without incoming or outgoing edges cost
 * nothing. */
static bool cheapest(struct automaton *a, uint32_t *found)
{
    uint64_t best = UINT64_MAX;
    for (uint32_t i = 0; i < a->n && best > 1; i++) {
        struct state *s = &a->states[i];
        if (s->gone)
            continue;
        uint64_t cost = (uint64_t)count_in(s) * count_out(s);
        if (cost < best) {
            best = cost;
            *found = i;
        }
    }
    return best != UINT64_MAX;
}

const char *automaton_text(struct automaton *a, uint32_t start, uint32_t accept)
{
    uint32_t first = a->n, last = a->n + 1, i = 0;
    if (add_edge(a, first, start, nothing) < 0 || add_edge(a, accept, last, nothing) < 0)
        return NULL;
    /* straight runs in written order, in one pass */
    for (i = 0; i < a->n && !a->failed; i++)
        if ((uint64_t)count_in(&a->states[i]) * count_out(&a->states[i]) <= 1)
            take_away(a, i);
    while (!a->failed && cheapest(a, &i)) {
        if (budget_spend(a->g, 1, 0, NULL) < 0)
            return NULL;
        take_away(a, i);
    }
    if (a->failed)
        return NULL;
    count_out(&a->states[first]);
    const struct edge *e = a->states[first].out;
    return e ? arena_strndup(&a->g->arena, e->label.s, e->label.n) : "[]";
}
