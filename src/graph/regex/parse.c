/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Pattern text → tree. One pass over the text with a stack of open groups, without recursion. A
 * frame holds a group's state: finished alternatives, the items of the current one, and the newest
 * atom, which waits because a quantifier may follow. Every node knows how many automaton nodes it
 * will need, so a repeat that would blow up is rejected where it is written, before anything is
 * built.
 *
 * Three simplifications keep later stages linear: the empty string is never an item, a group that
 * is not repeated dissolves into its surroundings, and stacked quantifiers such as a+*?
 * collapse.
 */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/regex/ast.h"
#include "graph/regex/regex.h"

enum { DEFAULT_MAX_NODES = 200000, DEFAULT_MAX_REPEAT = 1000, TEXT_MAX = 1 << 28 };

struct ast_frame {
    uint32_t open;       /* position of the group's parenthesis */
    uint32_t start;      /* start of the current alternative */
    uint32_t atom;       /* newest atom, not yet an item */
    uint32_t first_item; /* of the current alternative */
    uint32_t last_item;
    uint64_t items_size;
    uint32_t last_alt;
    uint64_t alts_size;
};

void ast_parse_limits(struct ast_parse *p, const struct regex_limits *limits)
{
    p->max_nodes = limits && limits->max_nodes ? limits->max_nodes : DEFAULT_MAX_NODES;
    p->max_repeat = limits && limits->max_repeat ? limits->max_repeat : DEFAULT_MAX_REPEAT;
}

int ast_fail(struct ast_parse *p, enum bk_code code, uint32_t at, const char *fmt, ...)
{
    char msg[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    err_set(p->err, code, "%s", msg);
    if (p->err)
        p->err->col = at + 1;
    return -1;
}

static int fail_size(struct ast_parse *p, uint32_t at)
{
    return ast_fail(p, BK_E_LIMIT, at, "the pattern needs more than %u states", p->max_nodes);
}

static struct ast_frame *top(struct ast_parse *p)
{
    return &p->frames[p->depth - 1];
}

/* Returns AST_NONE on failure. */
static uint32_t new_node(struct ast_parse *p, enum ast_kind kind, uint32_t arg, uint32_t off)
{
    /* A text has fewer tree nodes than four times its automaton nodes, so past that it will exceed
     * the limit. */
    if (p->n / 4 > p->max_nodes) {
        fail_size(p, off);
        return AST_NONE;
    }
    struct ast *nodes = p->nodes;
    if (!nodes || p->n == p->cap)
        nodes = regex_grow(p->arena, p->nodes, p->n, &p->cap, (uint64_t)p->n + 1, sizeof(*nodes));
    if (!nodes) {
        err_nomem(p->err);
        return AST_NONE;
    }
    p->nodes = nodes;
    nodes[p->n] = (struct ast){.kind = (uint8_t)kind, .arg = arg, .off = off, .end = p->at};
    if (kind <= AST_END)
        nodes[p->n].size = 1;
    return p->n++;
}

/* Turns the waiting atom into an item of the current alternative. */
static int flush_atom(struct ast_parse *p)
{
    struct ast_frame *f = top(p);
    if (!f->atom)
        return 0;
    struct ast *a = &p->nodes[f->atom];
    if (a->size) {
        bool dissolve = a->kind == AST_CAT;
        uint32_t first = dissolve ? a->first : f->atom;
        p->nodes[first].prev = f->last_item;
        f->last_item = dissolve ? a->arg : f->atom;
        if (!f->first_item)
            f->first_item = first;
        f->items_size += a->size;
        if (f->items_size > p->max_nodes)
            return fail_size(p, a->off);
    }
    f->atom = AST_NONE;
    return 0;
}

static int set_atom(struct ast_parse *p, uint32_t node)
{
    if (node == AST_NONE || flush_atom(p) < 0)
        return -1;
    top(p)->atom = node;
    return 0;
}

/* Ends the current alternative: its items become one node, or the only item itself. */
static uint32_t finish_items(struct ast_parse *p)
{
    if (flush_atom(p) < 0)
        return AST_NONE;
    struct ast_frame *f = top(p);
    uint32_t node = f->last_item;
    if (!node || f->first_item != f->last_item) {
        node = new_node(p, AST_CAT, f->last_item, f->start);
        if (!node)
            return AST_NONE;
        p->nodes[node].first = f->first_item;
        p->nodes[node].size = (uint32_t)f->items_size;
    }
    f->first_item = f->last_item = AST_NONE;
    f->items_size = 0;
    return node;
}

static int finish_alternative(struct ast_parse *p)
{
    uint32_t node = finish_items(p);
    if (!node)
        return -1;
    struct ast_frame *f = top(p);
    p->nodes[node].prev = f->last_alt;
    f->alts_size += p->nodes[node].size + (f->last_alt ? 1 : 0);
    if (f->alts_size > p->max_nodes)
        return fail_size(p, f->start);
    f->last_alt = node;
    f->start = p->at + 1;
    return 0;
}

/* Ends the frame: its alternatives become one node. */
static uint32_t finish_frame(struct ast_parse *p)
{
    struct ast_frame *f = top(p);
    bool single = !f->last_alt;
    if (single) {
        uint32_t node = finish_items(p);
        p->depth--;
        return node;
    }
    if (finish_alternative(p) < 0)
        return AST_NONE;
    uint32_t node = new_node(p, AST_ALT, f->last_alt, f->open);
    if (!node)
        return AST_NONE;
    p->nodes[node].size = (uint32_t)f->alts_size;
    p->depth--;
    return node;
}

static int push_frame(struct ast_parse *p, uint32_t open)
{
    if (p->depth == REGEX_DEPTH)
        return ast_fail(p, BK_E_LIMIT, open, "groups are nested more than %d deep", REGEX_DEPTH);
    struct ast_frame *frames = regex_grow(p->arena, p->frames, p->depth, &p->frames_cap,
                                          (uint64_t)p->depth + 1, sizeof(*frames));
    if (!frames)
        return err_nomem(p->err);
    p->frames = frames;
    frames[p->depth++] = (struct ast_frame){.open = open, .start = p->at};
    return 0;
}

static int open_group(struct ast_parse *p)
{
    uint32_t open = p->at++;
    if (p->at < p->len && p->text[p->at] == '?') {
        ast_fail(p, BK_E_INPUT, open, "(?…) is not part of this dialect");
        err_hint(p->err, "a plain group, (…), never captures anything here");
        return -1;
    }
    return push_frame(p, open);
}

static int close_group(struct ast_parse *p)
{
    if (p->depth == 1) {
        ast_fail(p, BK_E_INPUT, p->at, "this parenthesis closes nothing");
        err_hint(p->err, "write \\) for the character itself");
        return -1;
    }
    uint32_t open = top(p)->open;
    uint32_t node = finish_frame(p);
    if (!node)
        return -1;
    p->at++;
    p->nodes[node].prev = AST_NONE;
    /* An item's text is its identity, so it must include the parentheses; a group that dissolves
     * keeps its own text. */
    if (p->nodes[node].kind == AST_ALT) {
        p->nodes[node].off = open;
        p->nodes[node].end = p->at;
    }
    return set_atom(p, node);
}

/* Reads a number at p->at; -1 when there is none. Numbers that are too large stay above the
 * limit. */
static int64_t parse_number(struct ast_parse *p)
{
    if (p->at >= p->len || p->text[p->at] < '0' || p->text[p->at] > '9')
        return -1;
    int64_t v = 0;
    for (; p->at < p->len && p->text[p->at] >= '0' && p->text[p->at] <= '9'; p->at++)
        if (v <= UINT32_MAX)
            v = v * 10 + (p->text[p->at] - '0');
    return v;
}

static int parse_braces(struct ast_parse *p, uint32_t *min, uint32_t *max)
{
    uint32_t open = p->at++;
    int64_t lo = parse_number(p), hi = lo;
    bool forever = false;
    if (p->at < p->len && p->text[p->at] == ',') {
        p->at++;
        hi = parse_number(p);
        forever = hi < 0;
    }
    if (p->at >= p->len || p->text[p->at] != '}') {
        ast_fail(p, BK_E_INPUT, open, "this is not a repeat count");
        err_hint(p->err, "write {2}, {2,} or {2,5}, or \\{ for the character itself");
        return -1;
    }
    p->at++;
    if (lo > p->max_repeat || hi > (int64_t)p->max_repeat)
        return ast_fail(p, BK_E_LIMIT, open, "repeat counts go up to %u", p->max_repeat);
    if (!forever && hi < lo)
        return ast_fail(p, BK_E_INPUT, open, "this repeat count is reversed");
    *min = (uint32_t)lo;
    *max = forever ? AST_FOREVER : (uint32_t)hi;
    return 0;
}

static uint64_t repeat_size(uint64_t body, uint32_t min, uint32_t max)
{
    if (max == AST_FOREVER)
        return body * (min ? min : 1) + 1;
    return body * max + (max - min);
}

/* x+, x*, x? and x{1} stacked on each other reduce to one of these. */
static bool is_plain(uint32_t min, uint32_t max)
{
    return min <= 1 && (max == 1 || max == AST_FOREVER);
}

static int repeat_atom(struct ast_parse *p, uint32_t at, uint32_t min, uint32_t max)
{
    struct ast_frame *f = top(p);
    struct ast *a = &p->nodes[f->atom];
    if (a->kind == AST_REP && is_plain(min, max) && is_plain(a->min, a->max)) {
        min *= a->min;
        max = max == AST_FOREVER || a->max == AST_FOREVER ? AST_FOREVER : 1;
        a->min = min;
        a->max = max;
        a->size = (uint32_t)repeat_size(p->nodes[a->arg].size, min, max);
        a->end = p->at;
        return 0;
    }
    uint64_t size = a->size == 0 || max == 0 ? 0 : repeat_size(a->size, min, max);
    if (size > p->max_nodes)
        return fail_size(p, at);
    uint32_t off = a->off;
    uint32_t node = new_node(p, size ? AST_REP : AST_CAT, size ? f->atom : AST_NONE, off);
    if (!node)
        return -1;
    p->nodes[node].min = min;
    p->nodes[node].max = max;
    p->nodes[node].size = (uint32_t)size;
    f->atom = node;
    return 0;
}

static int quantify(struct ast_parse *p)
{
    uint32_t at = p->at;
    uint32_t min = p->text[at] == '+', max = p->text[at] == '?' ? 1 : AST_FOREVER;
    if (!top(p)->atom) {
        ast_fail(p, BK_E_INPUT, at, "there is nothing to repeat before this %c", p->text[at]);
        err_hint(p->err, "write \\%c for the character itself", p->text[at]);
        return -1;
    }
    if (p->text[at] != '{')
        p->at++;
    else if (parse_braces(p, &min, &max) < 0)
        return -1;
    return repeat_atom(p, at, min, max);
}

/* With folding, the lower-case letter represents both: they share a class. */
static int add_byte(struct ast_parse *p, unsigned char b, uint32_t off)
{
    if (p->fold && b >= 'A' && b <= 'Z')
        b = (unsigned char)(b - 'A' + 'a');
    return set_atom(p, new_node(p, AST_BYTE, b, off));
}

static int add_set(struct ast_parse *p, const struct byteset *s, uint32_t off)
{
    if (byteset_count(s) == 1)
        for (unsigned b = 0; b < 256; b++)
            if (byteset_has(s, b))
                return set_atom(p, new_node(p, AST_BYTE, b, off));
    uint32_t set;
    if (byteset_intern(p->pool, s, &set) < 0)
        return err_nomem(p->err);
    return set_atom(p, new_node(p, AST_SET, set, off));
}

static int parse_dot(struct ast_parse *p)
{
    struct byteset all = {{0}};
    byteset_invert(&all);
    p->at++;
    return add_set(p, &all, p->at - 1);
}

static int parse_class(struct ast_parse *p)
{
    uint32_t off = p->at++;
    struct byteset s;
    if (ast_parse_bracket(p, &s) < 0)
        return -1;
    return add_set(p, &s, off);
}

static int parse_anchor(struct ast_parse *p)
{
    uint32_t off = p->at++;
    return set_atom(p, new_node(p, p->text[off] == '^' ? AST_BEGIN : AST_END, 0, off));
}

static int parse_byte(struct ast_parse *p)
{
    uint32_t off = p->at++;
    if (p->text[off] == '\\') {
        if (p->at == p->len)
            return ast_fail(p, BK_E_INPUT, off, "a backslash at the end quotes nothing");
        p->at++;
    }
    return add_byte(p, (unsigned char)p->text[p->at - 1], off);
}

/* A brace that no digit follows is an ordinary character. */
static int parse_brace(struct ast_parse *p)
{
    bool count = p->at + 1 < p->len && p->text[p->at + 1] >= '0' && p->text[p->at + 1] <= '9';
    return count ? quantify(p) : parse_byte(p);
}

typedef int (*parse_fn)(struct ast_parse *p);

static const parse_fn special[256] = {
    ['('] = open_group,   [')'] = close_group,  ['*'] = quantify,  ['+'] = quantify,
    ['?'] = quantify,     ['{'] = parse_brace,  ['.'] = parse_dot, ['['] = parse_class,
    ['^'] = parse_anchor, ['$'] = parse_anchor,
};

static int parse_next(struct ast_parse *p)
{
    unsigned char c = (unsigned char)p->text[p->at];
    if (c == '|') {
        int r = finish_alternative(p);
        p->at++;
        return r;
    }
    return special[c] ? special[c](p) : parse_byte(p);
}

static int parse_all(struct ast_parse *p)
{
    if (!new_node(p, AST_CAT, AST_NONE, 0) && p->n == 0)
        return -1;
    if (push_frame(p, 0) < 0)
        return -1;
    while (p->at < p->len)
        if (parse_next(p) < 0)
            return -1;
    if (p->depth > 1) {
        ast_fail(p, BK_E_INPUT, top(p)->open, "this group is never closed");
        err_hint(p->err, "close it with ), or write \\( for the character itself");
        return -1;
    }
    p->root = finish_frame(p);
    return p->root ? 0 : -1;
}

int ast_parse(struct ast_parse *p, const char *pattern, size_t n, struct bk_err *err)
{
    p->n = 0;
    p->text = pattern;
    p->len = (uint32_t)n;
    p->at = 0;
    p->depth = 0;
    p->err = err;
    if (n > TEXT_MAX)
        return ast_fail(p, BK_E_LIMIT, 0, "the pattern is longer than %d bytes", TEXT_MAX);
    uint32_t sets = p->pool->n;
    if (parse_all(p) == 0)
        return 0;
    byteset_rollback(p->pool, sets);
    return -1;
}

bool ast_is_any_star(const struct ast_parse *p, uint32_t node)
{
    const struct ast *rep = &p->nodes[node];
    if (rep->kind != AST_REP || rep->min != 0 || rep->max != AST_FOREVER)
        return false;
    const struct ast *body = &p->nodes[rep->arg];
    return body->kind == AST_SET && byteset_count(&p->pool->sets[body->arg]) == 256;
}
