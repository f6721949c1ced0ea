/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Compiled regexes, converted back to text via their automaton. Versions 1 and 2 are rows of nodes
 * (regex-old.c). Version 3 is a byte program, addressed from after its six-byte header; only what
 * the start reaches is read.
 */

#include <string.h>

#include "format/format-int.h"
#include "graph/regex/regex.h"

enum { V3_HEADER = 6 };

enum v3_op {
    V3_CHAR = 0x02,
    V3_DOT = 0x09,
    V3_CARET = 0x19,
    V3_DOLLAR = 0x29,
    V3_SPLIT = 0x2f,
    /* by the low half of the byte */
    V3_END = 0x5,
    V3_JUMP = 0xa,
    V3_CLASS = 0xb,
};

const uint8_t regex_every_byte[32] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                      255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                      255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

int regex_add_byte(struct automaton *a, uint32_t from, uint32_t to, uint8_t byte)
{
    uint8_t set[32] = {0};
    set[byte / 8] = (uint8_t)(1 << (byte % 8));
    return automaton_bytes(a, from, to, set);
}

int regex_too_large(size_t offset, struct bk_err *err)
{
    return err_set(err, BK_E_LIMIT, "offset 0x%zx: a regex has more than %d states", offset,
                   AUTOMATON_STATES_MAX);
}

int regex_finish(struct automaton *a, uint32_t start, uint32_t accept, size_t offset,
                 struct graph_test *out, struct bk_err *err)
{
    const char *text = automaton_text(a, start, accept);
    if (!text)
        return budget_exhausted(offset, err);
    out->how = GRAPH_REGEX;
    out->str = text;
    out->len = (uint32_t)strlen(text);
    return 0;
}

/* ---- version 3 ---- */

struct v3 {
    struct budget *g;
    struct span s; /* the program */
    struct automaton *a;
    uint16_t *state; /* by position, + 1 */
    uint16_t *todo;
    uint32_t n, ntodo;
    uint32_t accept;
};

static int v3_state(struct v3 *v, size_t at, uint32_t *out, struct bk_err *err)
{
    if (at >= v->s.n)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: a jump leaves the regex", v->s.offset + at);
    if (!v->state[at]) {
        if (v->n == AUTOMATON_STATES_MAX)
            return regex_too_large(v->s.offset, err);
        v->state[at] = (uint16_t)++v->n;
        v->todo[v->ntodo++] = (uint16_t)at;
    }
    *out = v->state[at] - 1u;
    return 0;
}

/* Ranges of bytes. Only the last may wrap through 255 and 0; it does if it ends below the start of
 * the first, as in a negated class. Any other range that ends below its start is between two
 * excluded neighbours, and empty. */
static void v3_class(const uint8_t *p, unsigned n, uint8_t set[32])
{
    bool round = p[0] > p[2 * n - 1];
    for (unsigned i = 0; i < n; i++) {
        unsigned end = p[2 * i + 1] + (round && i + 1 == n ? 256u : 0u);
        for (unsigned c = p[2 * i]; c <= end; c++)
            set[(c & 0xff) / 8] |= (uint8_t)(1 << (c % 8));
    }
}

static size_t v3_length(uint8_t op)
{
    if (op == V3_CHAR)
        return 2;
    if (op == V3_SPLIT || (op & 15) == V3_JUMP)
        return 3;
    return (op & 15) == V3_CLASS ? 1 + 2 * (size_t)(op >> 4) : 1;
}

static int v3_step(struct v3 *v, size_t at, struct bk_err *err)
{
    const uint8_t *p = v->s.p + at;
    uint32_t from = v->state[at] - 1u, next, other;
    size_t length = v3_length(p[0]), place = v->s.offset + at;
    int r = 0;
    if (length > v->s.n - at)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: a regex ends early", place);
    if ((p[0] & 15) == V3_END)
        return automaton_empty(v->a, from, v->accept) < 0 ? budget_exhausted(place, err) : 0;
    if ((p[0] & 15) == V3_JUMP) {
        if (v3_state(v, get16(p + 1), &other, err) < 0)
            return -1;
        return automaton_empty(v->a, from, other) < 0 ? budget_exhausted(place, err) : 0;
    }
    if (v3_state(v, at + length, &next, err) < 0)
        return -1;
    if (p[0] == V3_CHAR && p[1]) {
        r = regex_add_byte(v->a, from, next, p[1]);
    } else if (p[0] == V3_DOT) {
        r = automaton_bytes(v->a, from, next, regex_every_byte);
    } else if (p[0] == V3_CARET || p[0] == V3_DOLLAR) {
        r = automaton_anchor(v->a, from, next, p[0] == V3_CARET ? '^' : '$');
    } else if (p[0] == V3_SPLIT) {
        if (v3_state(v, get16(p + 1), &other, err) < 0)
            return -1;
        r = automaton_empty(v->a, from, next) < 0 ? -1 : automaton_empty(v->a, from, other);
    } else if ((p[0] & 15) == V3_CLASS && p[0] >> 4) {
        uint8_t set[32] = {0};
        v3_class(p + 1, p[0] >> 4, set);
        r = automaton_bytes(v->a, from, next, set);
    } else {
        return err_set(err, BK_E_INPUT, "offset 0x%zx: unknown regex byte 0x%02x", place, p[0]);
    }
    return r < 0 ? budget_exhausted(place, err) : 0;
}

static int v3_text(struct budget *g, struct span s, struct graph_test *out, struct bk_err *err)
{
    if (s.n < V3_HEADER || get32_big(s.p) != 3 || get16(s.p + 4) != s.n - V3_HEADER)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: not a regex of version 3", s.offset);
    struct v3 v = {.g = g, .s = {s.p + V3_HEADER, s.n - V3_HEADER, s.offset + V3_HEADER}};
    v.accept = v.s.n < AUTOMATON_STATES_MAX ? (uint32_t)v.s.n : AUTOMATON_STATES_MAX;
    v.state = arena_array(&g->arena, v.s.n + 1, sizeof(*v.state));
    v.todo = arena_array(&g->arena, v.accept + 1, sizeof(*v.todo));
    v.a = automaton_new(g, v.accept + 1);
    if (!v.state || !v.todo || !v.a)
        return budget_exhausted(s.offset, err);
    uint32_t start = 0;
    if (v3_state(&v, 0, &start, err) < 0)
        return -1;
    while (v.ntodo)
        if (v3_step(&v, v.todo[--v.ntodo], err) < 0)
            return -1;
    return regex_finish(v.a, start, v.accept, s.offset, out, err);
}

void regex_note_key(const struct graph_test *t, uint32_t version, struct buf *out)
{
    buf_fmt(out, "regex %u ", version);
    buf_add(out, t->str, t->len);
}

int regex_span(const struct blob *b, uint16_t index, struct span *s, struct bk_err *err)
{
    if (index >= b->nregexes)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: no regex %u: there are %u", b->regexes,
                       index, b->nregexes);
    uint16_t entry = get16(b->data + b->regexes + 2 * (size_t)index);
    return blob_record(b, entry, s, err);
}

int regex_text(const struct blob *b, struct budget *g, uint16_t index, struct graph_test *out,
               struct bk_err *err)
{
    struct span s;
    if (regex_span(b, index, &s, err) < 0 || budget_spend(g, s.n, s.offset, err) < 0)
        return -1;
    uint32_t version = s.n < 4 ? 0 : get32_big(s.p);
    int r = version == 1   ? regex_v1_text(g, s, out, err)
            : version == 2 ? regex_v2_text(g, s, out, err)
                           : v3_text(g, s, out, err);
    if (r < 0)
        return -1;
    if (b->era != BLOB_A)
        return 0;
    /* Era A's compiler turns literals into regexes; turn them back. */
    bool exact;
    char *literal = arena_alloc(&g->arena, out->len + 1);
    if (!literal)
        return budget_exhausted(s.offset, err);
    size_t n = regex_literal_prefix(out->str, out->len, literal, out->len, &exact);
    if (exact && n) {
        out->how = GRAPH_LITERAL;
        out->str = literal;
        out->len = (uint32_t)n;
    }
    return 0;
}
