/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Regexes → compiled regexes. The tree becomes a row of instructions, in the order of Apple's
 * version 3 compiler: x* is `split out, x, back`, x+ is `x, split out, back`. Version 3 writes the
 * row as a program, version 1 as nodes that name their successors.
 */

#include <string.h>

#include "format/encode-int.h"
#include "format/format-int.h"
#include "graph/regex/ast.h"
#include "graph/regex/regex.h"

enum { DEPTH_MAX = 600, CODE_MAX = AUTOMATON_STATES_MAX - 8, RANGES_MAX = 15 };

enum instr_kind { IN_BYTE, IN_RANGES, IN_ANY, IN_BEGIN, IN_END, IN_SPLIT, IN_JUMP };

struct instr {
    uint8_t kind;
    uint8_t byte;
    uint8_t nranges;
    uint8_t ranges[2 * RANGES_MAX];
    uint32_t to; /* SPLIT, JUMP */
};

struct coder {
    struct ast_parse parse;
    struct byteset_pool pool;
    struct instr *at;
    uint32_t n;
    bool lower;
};

static struct instr *add_instr(struct coder *c, enum instr_kind kind)
{
    if (c->n == CODE_MAX)
        return NULL;
    struct instr *i = &c->at[c->n++];
    *i = (struct instr){.kind = (uint8_t)kind};
    return i;
}

/* Stores its number, so that its target can be set later. */
static bool add_branch(struct coder *c, enum instr_kind kind, uint32_t to, uint32_t *index)
{
    struct instr *i = add_instr(c, kind);
    if (!i)
        return false;
    i->to = to;
    if (index)
        *index = c->n - 1;
    return true;
}

/* ---- classes ---- */

struct ranges {
    uint8_t lo[130], hi[130];
    unsigned n;
};

/* Runs of bytes, ascending; one that wraps from 255 to 0 comes last and ends below its start. */
static void find_ranges(const struct byteset *s, struct ranges *r)
{
    r->n = 0;
    for (unsigned b = 0; b < 256; b++) {
        if (!byteset_has(s, b))
            continue;
        unsigned end = b;
        while (end < 255 && byteset_has(s, end + 1))
            end++;
        r->lo[r->n] = (uint8_t)b;
        r->hi[r->n++] = (uint8_t)end;
        b = end;
    }
    if (r->n > 1 && r->lo[0] == 0 && r->hi[r->n - 1] == 255) {
        r->hi[r->n - 1] = r->hi[0];
        r->n--;
        memmove(r->lo, r->lo + 1, r->n);
        memmove(r->hi, r->hi + 1, r->n);
    }
}

static void set_bit(struct byteset *s, unsigned b, bool on)
{
    uint64_t bit = UINT64_C(1) << (b & 63);
    s->w[b >> 6] = on ? s->w[b >> 6] | bit : s->w[b >> 6] & ~bit;
}

/* When case is ignored, capitals in the set make no difference, and no string contains a NUL:
 * chooses what takes fewer ranges. */
static void fewest_ranges(const struct coder *c, const struct byteset *given, struct ranges *r)
{
    struct byteset s = *given, other = s;
    set_bit(&s, 0, byteset_has(&s, 255) && byteset_has(&s, 1));
    find_ranges(&s, r);
    if (!c->lower)
        return;
    other = s;
    for (unsigned b = 'A'; b <= 'Z'; b++)
        set_bit(&other, b, false);
    struct ranges fewer;
    find_ranges(&other, &fewer);
    if (fewer.n <= r->n)
        *r = fewer;
}

static bool add_ranges(struct coder *c, const struct ranges *r, unsigned from, unsigned n)
{
    struct instr *i = add_instr(c, IN_RANGES);
    if (!i)
        return false;
    i->nranges = (uint8_t)n;
    for (unsigned k = 0; k < n; k++) {
        i->ranges[2 * k] = r->lo[from + k];
        i->ranges[2 * k + 1] = r->hi[from + k];
    }
    return true;
}

/* More ranges than one instruction holds become alternatives. */
static bool add_class(struct coder *c, const struct ranges *r)
{
    uint32_t ends[16], nends = 0;
    for (unsigned from = 0; from < r->n; from += RANGES_MAX) {
        unsigned n = r->n - from < RANGES_MAX ? r->n - from : RANGES_MAX;
        bool last = from + n == r->n;
        uint32_t split = 0;
        if (!last && !add_branch(c, IN_SPLIT, 0, &split))
            return false;
        if (!add_ranges(c, r, from, n))
            return false;
        if (last)
            break;
        if (!add_branch(c, IN_JUMP, 0, &ends[nends++]))
            return false;
        c->at[split].to = c->n;
    }
    while (nends)
        c->at[ends[--nends]].to = c->n;
    return true;
}

static bool add_byte(struct coder *c, unsigned byte)
{
    struct instr *i = add_instr(c, IN_BYTE);
    if (i)
        i->byte = (uint8_t)byte;
    return i != NULL;
}

static bool is_everything(const struct byteset *s)
{
    for (unsigned b = 1; b < 256; b++)
        if (!byteset_has(s, b))
            return false;
    return true;
}

static bool add_set(struct coder *c, const struct byteset *s)
{
    if (is_everything(s))
        return add_instr(c, IN_ANY) != NULL;
    struct ranges r;
    fewest_ranges(c, s, &r);
    if (!r.n) /* nothing matches: a byte after the end */
        return add_instr(c, IN_END) && add_byte(c, 1);
    return r.n == 1 && r.lo[0] == r.hi[0] ? add_byte(c, r.lo[0]) : add_class(c, &r);
}

/* ---- the tree ---- */

static bool put_tree(struct coder *c, uint32_t node, unsigned depth);

/* Children are linked from the last to the first. */
static bool put_row(struct coder *c, uint32_t last, unsigned depth)
{
    uint32_t n = 0;
    for (uint32_t i = last; i; i = c->parse.nodes[i].prev)
        n++;
    uint32_t *items = arena_array(c->parse.arena, n + 1u, sizeof(*items));
    if (!items)
        return false;
    for (uint32_t i = last, k = n; i; i = c->parse.nodes[i].prev)
        items[--k] = i;
    for (uint32_t k = 0; k < n; k++)
        if (!put_tree(c, items[k], depth))
            return false;
    return true;
}

static bool put_choice(struct coder *c, uint32_t last, unsigned depth)
{
    uint32_t n = 0, nends = 0;
    for (uint32_t i = last; i; i = c->parse.nodes[i].prev)
        n++;
    uint32_t *items = arena_array(c->parse.arena, n + 1u, sizeof(*items));
    uint32_t *ends = arena_array(c->parse.arena, n + 1u, sizeof(*ends));
    if (!items || !ends)
        return false;
    for (uint32_t i = last, k = n; i; i = c->parse.nodes[i].prev)
        items[--k] = i;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t split = 0;
        bool final = k + 1 == n;
        if ((!final && !add_branch(c, IN_SPLIT, 0, &split)) || !put_tree(c, items[k], depth) ||
            (!final && !add_branch(c, IN_JUMP, 0, &ends[nends++])))
            return false;
        if (!final)
            c->at[split].to = c->n;
    }
    while (nends)
        c->at[ends[--nends]].to = c->n;
    return true;
}

static bool put_star(struct coder *c, uint32_t node, unsigned depth)
{
    uint32_t split, start = c->n;
    if (!add_branch(c, IN_SPLIT, 0, &split) || !put_tree(c, node, depth) ||
        !add_branch(c, IN_JUMP, start, NULL))
        return false;
    c->at[split].to = c->n;
    return true;
}

static bool put_plus(struct coder *c, uint32_t node, unsigned depth)
{
    uint32_t split, start = c->n;
    if (!put_tree(c, node, depth) || !add_branch(c, IN_SPLIT, 0, &split) ||
        !add_branch(c, IN_JUMP, start, NULL))
        return false;
    c->at[split].to = c->n;
    return true;
}

/* x{2,4} is x x (x (x)?)?, and every option exits to the same end. */
static bool put_options(struct coder *c, uint32_t node, uint32_t count, unsigned depth)
{
    uint32_t *splits = arena_array(c->parse.arena, count + 1u, sizeof(*splits));
    if (!splits)
        return false;
    for (uint32_t k = 0; k < count; k++)
        if (!add_branch(c, IN_SPLIT, 0, &splits[k]) || !put_tree(c, node, depth))
            return false;
    for (uint32_t k = 0; k < count; k++)
        c->at[splits[k]].to = c->n;
    return true;
}

static bool put_repeat(struct coder *c, const struct ast *t, unsigned depth)
{
    bool forever = t->max == AST_FOREVER;
    uint32_t plain = forever && t->min ? t->min - 1 : t->min;
    for (uint32_t k = 0; k < plain; k++)
        if (!put_tree(c, t->arg, depth))
            return false;
    if (!forever)
        return put_options(c, t->arg, t->max - t->min, depth);
    return t->min ? put_plus(c, t->arg, depth) : put_star(c, t->arg, depth);
}

static bool put_tree(struct coder *c, uint32_t node, unsigned depth)
{
    const struct ast t = c->parse.nodes[node];
    if (depth > DEPTH_MAX)
        return false;
    switch ((enum ast_kind)t.kind) {
    case AST_BYTE:
        return t.arg && add_byte(c, t.arg);
    case AST_SET:
        return add_set(c, &c->pool.sets[t.arg]);
    case AST_BEGIN:
        return add_instr(c, IN_BEGIN) != NULL;
    case AST_END:
        return add_instr(c, IN_END) != NULL;
    case AST_CAT:
        return put_row(c, t.arg, depth + 1);
    case AST_ALT:
        return put_choice(c, t.arg, depth + 1);
    case AST_REP:
        return put_repeat(c, &t, depth + 1);
    }
    return false;
}

static int code(struct coder *c, struct arena *arena, const struct graph_test *t, bool lower,
                struct bk_err *err)
{
    *c = (struct coder){.lower = lower};
    c->pool.arena = c->parse.arena = arena;
    c->parse.pool = &c->pool;
    c->parse.fold = lower;
    ast_parse_limits(&c->parse, NULL);
    c->at = arena_array(arena, CODE_MAX + 1, sizeof(*c->at));
    if (!c->at)
        return err_nomem(err);
    if (ast_parse(&c->parse, t->str, t->len, err) < 0)
        return -1;
    if (!put_tree(c, c->parse.root, 0))
        return err_set(err, BK_E_LIMIT, "the regex is too large to compile: %.60s", t->str);
    return 0;
}

/* ---- version 3 ---- */

static unsigned length_v3(const struct instr *i)
{
    static const uint8_t lengths[] = {[IN_BYTE] = 2, [IN_RANGES] = 1, [IN_ANY] = 1, [IN_BEGIN] = 1,
                                      [IN_END] = 1,  [IN_SPLIT] = 3,  [IN_JUMP] = 3};
    return lengths[i->kind] + 2u * i->nranges;
}

static void put_v3(const struct instr *i, const uint16_t *place, struct buf *out)
{
    static const uint8_t ops[] = {
        [IN_BYTE] = 0x02, [IN_RANGES] = 0x0b, [IN_ANY] = 0x09, [IN_BEGIN] = 0x19,
        [IN_END] = 0x29,  [IN_SPLIT] = 0x2f,  [IN_JUMP] = 0x0a};
    put8(out, ops[i->kind] | (unsigned)i->nranges << 4);
    if (i->kind == IN_BYTE)
        put8(out, i->byte);
    for (unsigned k = 0; k < 2u * i->nranges; k++)
        put8(out, i->ranges[k]);
    if (i->kind == IN_SPLIT || i->kind == IN_JUMP)
        put16(out, place[i->to]);
}

int regex_code_v3(struct arena *arena, const struct graph_test *t, bool lower, struct buf *out,
                  struct bk_err *err)
{
    struct coder c;
    if (code(&c, arena, t, lower, err) < 0)
        return -1;
    uint16_t *place = arena_array(arena, c.n + 1u, sizeof(*place));
    if (!place)
        return err_nomem(err);
    unsigned at = 0; /* at most CODE_MAX instructions of 31 bytes, which fits into 16 bits */
    for (uint32_t i = 0; i < c.n; i++) {
        place[i] = (uint16_t)at;
        at += length_v3(&c.at[i]);
    }
    place[c.n] = (uint16_t)at;
    put32_big(out, 3);
    put16(out, at + 2);
    for (uint32_t i = 0; i < c.n; i++)
        put_v3(&c.at[i], place, out);
    put16(out, 0x0015);
    return buf_ok(out) ? 0 : err_nomem(err);
}

/* ---- version 1 ---- */

static void put_node_v1(struct buf *out, uint32_t kind, uint32_t next, uint32_t arg)
{
    put32_big(out, kind);
    put32_big(out, next);
    put32_big(out, arg);
}

/* The instructions are followed by the end of the whole match, its beginning, and the accept. */
static void put_v1(const struct instr *i, uint32_t self, uint32_t *classes, struct buf *out)
{
    const uint32_t none = 0xffffffffu;
    switch ((enum instr_kind)i->kind) {
    case IN_BYTE:
        put_node_v1(out, 0x10, self + 1, 0xffffff00u | i->byte);
        break;
    case IN_RANGES:
        put_node_v1(out, 0x34, self + 1, (*classes)++);
        break;
    case IN_ANY:
        put_node_v1(out, 0x30, self + 1, none);
        break;
    case IN_BEGIN:
        put_node_v1(out, 0x32, self + 1, none);
        break;
    case IN_END:
        put_node_v1(out, 0x33, self + 1, none);
        break;
    case IN_SPLIT:
        put_node_v1(out, 0x25, self + 1, i->to);
        break;
    case IN_JUMP:
        put_node_v1(out, 0x31, i->to, none);
        break;
    }
}

/* Ranges, none of which wraps. */
static void put_class_v1(const struct instr *i, struct buf *out)
{
    unsigned last = 2u * i->nranges - 2;
    bool round = i->ranges[last] > i->ranges[last + 1];
    put32_big(out, 2u * i->nranges + (round ? 2 : 0));
    for (unsigned k = 0; k < (round ? last : last + 2); k++)
        put32_big(out, i->ranges[k]);
    if (round) {
        put32_big(out, i->ranges[last]);
        put32_big(out, 255);
        put32_big(out, 0);
        put32_big(out, i->ranges[last + 1]);
    }
}

int regex_code_v1(struct arena *arena, const struct graph_test *t, struct buf *out,
                  struct bk_err *err)
{
    struct coder c;
    if (code(&c, arena, t, false, err) < 0)
        return -1;
    uint32_t close = c.n, open = c.n + 1, accept = c.n + 2, classes = 0, nclasses = 0;
    for (uint32_t i = 0; i < c.n; i++)
        nclasses += c.at[i].kind == IN_RANGES;
    put32_big(out, 1);
    put32_big(out, accept + 1);
    put32_big(out, open);
    put32_big(out, accept);
    put32_big(out, nclasses);
    put32_big(out, 1);
    for (uint32_t i = 0; i < c.n; i++)
        put_v1(&c.at[i], i, &classes, out);
    put_node_v1(out, 0x23, accept, 0);
    put_node_v1(out, 0x24, c.n ? 0 : close, 0);
    put_node_v1(out, 0x22, 0xffffffffu, 1);
    for (uint32_t i = 0; i < c.n; i++)
        if (c.at[i].kind == IN_RANGES)
            put_class_v1(&c.at[i], out);
    return buf_ok(out) ? 0 : err_nomem(err);
}
