/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Inspects a pattern without building an automaton: whether it is well-formed, and which bytes
 * every match starts with. The prefix comes from the tree: the single bytes after a leading `^`, as
 * far as all top-level alternatives share them.
 */

#include <string.h>

#include "graph/regex/ast.h"
#include "graph/regex/regex.h"

enum { SCRATCH_MAX = 256 << 20 };

struct parsed {
    struct arena arena;
    struct byteset_pool pool;
    struct ast_parse parse;
};

static int parse_pattern(struct parsed *l, const char *pattern, size_t n, struct bk_err *err)
{
    memset(l, 0, sizeof(*l));
    arena_init(&l->arena, SCRATCH_MAX);
    l->pool.arena = &l->arena;
    l->parse.arena = &l->arena;
    l->parse.pool = &l->pool;
    ast_parse_limits(&l->parse, NULL);
    return ast_parse(&l->parse, pattern, n, err);
}

int regex_check(const char *pattern, size_t n, struct bk_err *err)
{
    struct parsed l;
    int r = parse_pattern(&l, pattern, n, err);
    arena_free(&l.arena);
    return r;
}

/* Stores the items of a branch in written order in `items`; returns their count. */
static uint32_t list_items(const struct ast_parse *p, uint32_t node, uint32_t *items)
{
    bool cat = p->nodes[node].kind == AST_CAT;
    uint32_t n = 0;
    for (uint32_t i = cat ? p->nodes[node].arg : node; i; i = cat ? p->nodes[i].prev : AST_NONE)
        items[n++] = i;
    for (uint32_t i = 0; i < n / 2; i++) {
        uint32_t t = items[i];
        items[i] = items[n - 1 - i];
        items[n - 1 - i] = t;
    }
    return n;
}

/* How often an item certainly repeats one single byte at its start; 0 when it may start
 * otherwise. */
static uint32_t sure_bytes(const struct ast_parse *p, uint32_t item, char *byte, bool *only)
{
    const struct ast *t = &p->nodes[item];
    uint32_t times = 1;
    *only = true;
    if (t->kind == AST_REP) {
        times = t->min;
        *only = t->min == t->max;
        t = &p->nodes[t->arg];
    }
    if (t->kind != AST_BYTE)
        return 0;
    *byte = (char)t->arg;
    return times;
}

/* The prefix of one branch, at most cap bytes. */
static size_t branch_prefix(const struct ast_parse *p, const uint32_t *items, uint32_t n, char *out,
                            size_t cap, bool *exact)
{
    *exact = false;
    if (n == 0 || p->nodes[items[0]].kind != AST_BEGIN)
        return 0;
    size_t len = 0;
    bool only = true;
    uint32_t i = 1;
    for (; i < n && only; i++) {
        char byte = 0;
        uint32_t times = sure_bytes(p, items[i], &byte, &only);
        size_t fits = times < cap - len ? times : cap - len;
        memset(out + len, byte, fits);
        len += fits;
        if (times == 0 || fits < times)
            break;
    }
    *exact = only && i + 1 == n && p->nodes[items[i]].kind == AST_END;
    return len;
}

static size_t common_prefix(const struct parsed *l, uint32_t *items, char *out, char *other,
                            size_t cap, bool *exact)
{
    const struct ast_parse *p = &l->parse;
    bool alt = p->nodes[p->root].kind == AST_ALT;
    uint32_t branch = alt ? p->nodes[p->root].arg : p->root;
    size_t len = branch_prefix(p, items, list_items(p, branch, items), out, cap, exact);
    while (alt && len && (branch = p->nodes[branch].prev)) {
        size_t n = branch_prefix(p, items, list_items(p, branch, items), other, cap, exact);
        size_t same = 0;
        while (same < n && same < len && out[same] == other[same])
            same++;
        len = same;
    }
    *exact = *exact && !alt;
    return len;
}

size_t regex_literal_prefix(const char *pattern, size_t n, char *out, size_t cap, bool *exact)
{
    struct parsed l;
    size_t len = 0;
    *exact = false;
    if (parse_pattern(&l, pattern, n, NULL) == 0) {
        /* No prefix is longer than the tree can hold. */
        size_t most = cap < l.parse.max_nodes ? cap : l.parse.max_nodes;
        uint32_t *items = arena_array(&l.arena, (size_t)l.parse.n + 1, sizeof(*items));
        char *mine = arena_alloc(&l.arena, most), *other = arena_alloc(&l.arena, most);
        if (items && mine && other)
            len = common_prefix(&l, items, mine, other, most, exact);
        if (len)
            memcpy(out, mine, len);
    }
    arena_free(&l.arena);
    return len;
}

void regex_quote(const char *s, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        if (strchr(REGEX_SPECIAL, s[i]))
            buf_chr(out, '\\');
        buf_chr(out, s[i]);
    }
}
