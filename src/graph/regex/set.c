/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Adding patterns to a set. A pattern is one or more branches (separated by top-level bars), a
 * branch is a row of items, and rows are inserted into the set's tree of items, so that a thousand
 * patterns below one folder walk through that folder's name once.
 *
 * Because a pattern may match anywhere and anything may follow unless `$` ends it, much of what
 * people write is redundant. Leaving it out lets a pattern be decided early:
 *   P x*      is P            x* P      is P
 *   P .* $    is P            ^ .* P    is P
 *   P (Q.*)?$ is P Q | P $
 *
 * Adding is a transaction: parse, check the limit, reserve all memory, then insert, which cannot
 * fail.
 */

#include <string.h>

#include "graph/regex/nfa.h"

enum { INDEX_MIN = 256 };

int nfa_reserve(struct regex_set *set, uint64_t more)
{
    struct nfa_node *nodes = regex_grow(set->arena, set->nodes, set->nnodes, &set->nodes_cap,
                                        set->nnodes + more, sizeof(*nodes));
    if (!nodes)
        return -1;
    set->nodes = nodes;
    return 0;
}

uint32_t nfa_node(struct regex_set *set, enum nfa_kind kind, uint32_t a, uint32_t b, uint32_t owner)
{
    set->nodes[set->nnodes] =
        (struct nfa_node){.kind = kind, .a = a, .b = b, .owner = owner & NFA_NODES_MAX};
    return set->nnodes++;
}

static uint32_t new_hub(struct regex_set *set, uint32_t parent)
{
    uint32_t hub = set->nhubs++;
    uint32_t node = nfa_node(set, NFA_SPLIT, 0, 0, hub);
    set->hubs[hub] = (struct nfa_hub){.node = node, .parent = parent};
    if (hub != parent)
        set->hubs[parent].kids++;
    return hub;
}

/* Makes the hub lead to one more node: fills a split with one exit, or chains to a full one. */
static void hub_lead(struct regex_set *set, uint32_t hub, uint32_t node)
{
    struct nfa_node *split = &set->nodes[set->hubs[hub].node];
    if (!split->a) {
        split->a = node;
        return;
    }
    uint32_t rest = split->b;
    split->b = nfa_node(set, NFA_SPLIT, node, rest, hub);
}

/* The slot in the index of the hub behind this item, or where it belongs. */
static uint32_t index_slot(const struct regex_set *set, uint32_t parent, const char *text,
                           uint32_t len)
{
    uint64_t h = parent * UINT64_C(0x9e3779b97f4a7c15) + len;
    for (uint32_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    h ^= h >> 29;
    uint32_t mask = set->index_cap - 1;
    for (uint32_t i = (uint32_t)h & mask;; i = (i + 1) & mask) {
        const struct nfa_hub *hub = &set->hubs[set->index[i]];
        if (!set->index[i] ||
            (hub->parent == parent && hub->len == len && memcmp(hub->text, text, len) == 0))
            return i;
    }
}

/* Keeps the index at most half full. */
static int reserve_index(struct regex_set *set, uint64_t more)
{
    uint64_t cap = set->index_cap ? set->index_cap : INDEX_MIN;
    while ((set->nhubs + more) * 2 > cap)
        cap *= 2;
    if (cap == set->index_cap)
        return 0;
    uint32_t *index = cap <= UINT32_MAX ? arena_array(set->arena, cap, sizeof(*index)) : NULL;
    if (!index)
        return -1;
    set->index = index;
    set->index_cap = (uint32_t)cap;
    for (uint32_t i = 1; i < set->nhubs; i++) {
        const struct nfa_hub *hub = &set->hubs[i];
        index[index_slot(set, hub->parent, hub->text, hub->len)] = i;
    }
    return 0;
}

/* Returns the hub behind an item that follows `from`: an existing one if another pattern has it. */
static uint32_t follow(struct regex_set *set, uint32_t from, const char *text, uint32_t item)
{
    const struct ast *t = &set->parse.nodes[item];
    uint32_t len = t->end - t->off;
    uint32_t *slot = &set->index[index_slot(set, from, text + t->off, len)];
    if (!*slot) {
        *slot = new_hub(set, from);
        struct nfa_hub *hub = &set->hubs[*slot];
        hub->text = text + t->off;
        hub->len = len;
        hub_lead(set, from, nfa_emit(set, item, hub->node, *slot));
    }
    return *slot;
}

static void end_branch(struct regex_set *set, uint32_t hub, uint32_t pattern)
{
    struct nfa_hub *h = &set->hubs[hub];
    if (h->newest == pattern + 1)
        return;
    h->newest = pattern + 1;
    h->kids++;
    uint32_t node = nfa_node(set, NFA_MATCH, pattern, 0, hub);
    hub_lead(set, hub, node);
    uint32_t first = set->matches[pattern];
    if (!first) {
        set->matches[pattern] = node;
    } else {
        set->nodes[node].b = set->nodes[first].b;
        set->nodes[first].b = node;
    }
}

/* ---- branches as rows of items ---- */

struct row {
    const struct ast_parse *p;
    uint32_t *items;
    uint32_t from, to;
};

static const struct ast *row_at(const struct row *r, uint32_t i)
{
    return &r->p->nodes[r->items[i]];
}

static bool may_skip(const struct ast *t)
{
    return t->kind == AST_REP && t->min == 0;
}

static void trim(struct row *r)
{
    for (;;) {
        uint32_t n = r->to - r->from;
        if (n >= 1 && may_skip(row_at(r, r->to - 1)))
            r->to--;
        else if (n >= 1 && may_skip(row_at(r, r->from)))
            r->from++;
        else if (n >= 2 && row_at(r, r->to - 1)->kind == AST_END &&
                 ast_is_any_star(r->p, r->items[r->to - 2]))
            r->to -= 2;
        else if (n >= 2 && row_at(r, r->from)->kind == AST_BEGIN &&
                 ast_is_any_star(r->p, r->items[r->from + 1]))
            r->from += 2;
        else
            return;
    }
}

static void insert_row(struct regex_set *set, const char *text, struct row r, uint32_t pattern)
{
    trim(&r);
    uint32_t hub = 0;
    for (uint32_t i = r.from; i < r.to; i++)
        hub = follow(set, hub, text, r.items[i]);
    end_branch(set, hub, pattern);
}

/* Appends the items of a CAT, or the single item, to r->to. */
static void append_items(struct row *r, uint32_t node)
{
    const struct ast *nodes = r->p->nodes;
    uint32_t n = 0;
    bool cat = nodes[node].kind == AST_CAT;
    for (uint32_t i = cat ? nodes[node].arg : node; i; i = cat ? nodes[i].prev : AST_NONE)
        n++;
    r->to += n;
    uint32_t at = r->to;
    for (uint32_t i = cat ? nodes[node].arg : node; n; n--, i = nodes[i].prev)
        r->items[--at] = i;
}

/* Whether the row ends in P (Q.*)? $. */
static bool ends_in_optional_rest(const struct row *r)
{
    if (r->to - r->from < 2 || row_at(r, r->to - 1)->kind != AST_END)
        return false;
    const struct ast *t = row_at(r, r->to - 2);
    if (t->kind != AST_REP || t->min != 0 || t->max != 1)
        return false;
    const struct ast *body = &r->p->nodes[t->arg];
    return body->kind == AST_CAT && ast_is_any_star(r->p, body->arg);
}

static void insert_branch(struct regex_set *set, const char *text, uint32_t node, uint32_t pattern)
{
    struct row r = {.p = &set->parse, .items = set->items};
    append_items(&r, node);
    if (ends_in_optional_rest(&r)) {
        uint32_t end = r.items[r.to - 1], optional = r.items[r.to - 2];
        struct row with = {.p = r.p, .items = r.items, .to = r.to - 2};
        append_items(&with, set->parse.nodes[optional].arg);
        insert_row(set, text, with, pattern);
        r.items[r.to - 2] = end;
        r.to--;
    }
    insert_row(set, text, r, pattern);
}

/* ---- the interface ---- */

struct regex_set *regex_set_new(struct arena *arena, bool fold, const struct regex_limits *limits)
{
    struct regex_set *set = arena_new(arena, struct regex_set);
    if (!set)
        return NULL;
    set->arena = arena;
    set->fold = fold;
    set->pool.arena = arena;
    set->parse.arena = arena;
    set->parse.pool = &set->pool;
    set->parse.fold = fold;
    ast_parse_limits(&set->parse, limits);
    set->hubs = regex_grow(arena, NULL, 0, &set->hubs_cap, 1, sizeof(*set->hubs));
    if (!set->hubs || nfa_reserve(set, 2) < 0)
        return NULL;
    nfa_node(set, NFA_SPLIT, 0, 0, 0);
    new_hub(set, 0);
    return set;
}

static int reserve(struct regex_set *set, uint64_t nodes, uint64_t items)
{
    uint32_t *matches = regex_grow(set->arena, set->matches, set->npatterns, &set->matches_cap,
                                   (uint64_t)set->npatterns + 1, sizeof(*matches));
    if (!matches)
        return -1;
    set->matches = matches;
    struct nfa_hub *hubs = regex_grow(set->arena, set->hubs, set->nhubs, &set->hubs_cap,
                                      set->nhubs + items, sizeof(*hubs));
    if (!hubs)
        return -1;
    set->hubs = hubs;
    uint32_t *scratch =
        regex_grow(set->arena, set->items, 0, &set->items_cap, items, sizeof(*scratch));
    if (!scratch)
        return -1;
    set->items = scratch;
    if (nfa_reserve(set, nodes) < 0 || nfa_emit_reserve(set) < 0)
        return -1;
    return reserve_index(set, items);
}

static void insert(struct regex_set *set, const char *text)
{
    const struct ast *nodes = set->parse.nodes;
    uint32_t root = set->parse.root;
    set->matches[set->npatterns] = 0;
    bool alt = nodes[root].kind == AST_ALT;
    for (uint32_t b = alt ? nodes[root].arg : root; b; b = alt ? nodes[b].prev : AST_NONE)
        insert_branch(set, text, b, set->npatterns);
}

int regex_set_add(struct regex_set *set, const char *pattern, size_t n, uint32_t *id,
                  struct bk_err *err)
{
    if (set->frozen)
        return err_set(err, BK_E_BUG, "the set is frozen");
    uint32_t sets = set->pool.n;
    if (ast_parse(&set->parse, pattern, n, err) < 0)
        return -1;
    uint64_t size = set->parse.nodes[set->parse.root].size;
    uint64_t max = set->parse.max_nodes < NFA_NODES_MAX ? set->parse.max_nodes : NFA_NODES_MAX;
    if (set->nnodes + size > max) {
        byteset_rollback(&set->pool, sets);
        return err_set(err, BK_E_LIMIT, "the patterns together need more than %u states",
                       (unsigned)max);
    }
    /* A tree node is at most one item and ends at most one or two branches: two nodes for a hub,
     * two for each match. */
    uint64_t items = (uint64_t)set->parse.n + 2;
    const char *text = arena_dup(set->arena, pattern, n);
    if (!text || reserve(set, size + items * 6, items) < 0) {
        byteset_rollback(&set->pool, sets);
        return err_nomem(err);
    }
    insert(set, text);
    *id = set->npatterns++;
    return 0;
}

int regex_set_freeze(struct regex_set *set, struct bk_err *err)
{
    if (set->frozen)
        return 0;
    if (nfa_finish(set) < 0)
        return err_nomem(err);
    set->parse.err = NULL; /* the last caller's */
    set->parse.text = NULL;
    set->frozen = true;
    return 0;
}

uint32_t regex_set_count(const struct regex_set *set)
{
    return set->npatterns;
}
