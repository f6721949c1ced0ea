/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A copy of the graph in which equal decisions are merged: a frozen graph keeps one decision per
 * rule, so that it can name the line. Nodes that become equal are merged too, and tests that no
 * longer make a difference disappear.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/decompile-int.h"

enum { MAX_WORK = 1 << 28, FIRST_CAP = 256 };

int dc_room(struct dc *c, void *array, uint32_t *cap, uint32_t want, size_t size)
{
    void **p = array;
    if (want < *cap)
        return 0;
    uint32_t more = *cap ? *cap : FIRST_CAP;
    while (more <= want && more < UINT32_MAX / 4)
        more *= 2;
    void *q = more > want ? arena_array(&c->arena, more, size) : NULL;
    if (!q)
        return err_set(c->err, BK_E_LIMIT, "decompiling needs more than %zu MiB of memory",
                       c->arena.limit >> 20);
    if (*p)
        memcpy(q, *p, (size_t)*cap * size);
    *p = q;
    *cap = more;
    return 0;
}

int dc_spend(struct dc *c, uint64_t work)
{
    c->work += work;
    if (c->work <= MAX_WORK)
        return 0;
    err_set(c->err, BK_E_LIMIT, "the graph of %s is too entangled to be written as rules",
            vocab_ops[c->op].name);
    err_hint(c->err, "`buckle graph` shows it");
    return -1;
}

/* ---- tables ---- */

static uint32_t mix(uint32_t a, uint32_t b, uint32_t d)
{
    uint64_t h = (a ^ UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ b ^ h >> 31) * UINT64_C(0xc4ceb9fe1a85ec53);
    h = (h ^ d ^ h >> 29) * UINT64_C(0x9fb21c651e98df25);
    return (uint32_t)(h >> 32);
}

static uint32_t hash_node(const struct dc *c, uint32_t number)
{
    const struct dc_node *n = &c->nodes[number];
    return mix(n->test, n->match, n->unmatch);
}

int dc_table_grow(struct dc *c, struct dc_table *t, dc_hash_fn *hash)
{
    if (t->slots && t->count < (t->mask + 1) / 2)
        return 0;
    uint32_t size = t->slots ? (t->mask + 1) * 2 : 1024;
    uint32_t *slots = arena_array(&c->arena, size, sizeof(*slots));
    if (!slots)
        return err_set(c->err, BK_E_LIMIT, "decompiling needs more than %zu MiB of memory",
                       c->arena.limit >> 20);
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t k = hash(c, i) & (size - 1);
        while (slots[k])
            k = (k + 1) & (size - 1);
        slots[k] = i + 1;
    }
    t->slots = slots;
    t->mask = size - 1;
    return 0;
}

static int intern(struct dc *c, struct dc_node n, uint32_t *node)
{
    if (dc_table_grow(c, &c->node_table, hash_node) < 0 || dc_spend(c, 1) < 0)
        return -1;
    struct dc_table *t = &c->node_table;
    uint32_t k = mix(n.test, n.match, n.unmatch) & t->mask;
    for (uint32_t at; (at = t->slots[k]) != 0; k = (k + 1) & t->mask)
        if (memcmp(&c->nodes[at - 1], &n, sizeof(n)) == 0) {
            *node = at - 1;
            return 0;
        }
    if (dc_room(c, &c->nodes, &c->cap_nodes, c->nnodes, sizeof(n)) < 0)
        return -1;
    c->nodes[c->nnodes++] = n;
    t->slots[k] = c->nnodes;
    t->count++;
    *node = c->nnodes - 1;
    return 0;
}

int dc_filter(struct dc *c, uint32_t test, uint32_t match, uint32_t unmatch, uint32_t *node)
{
    if (c->nodes[match].test == test) /* a repeated test: the result is known */
        match = c->nodes[match].match;
    if (c->nodes[unmatch].test == test)
        unmatch = c->nodes[unmatch].unmatch;
    if (match == unmatch) {
        *node = match;
        return 0;
    }
    return intern(c, (struct dc_node){test, match, unmatch}, node);
}

/* ---- decisions ---- */

static bool same_mods(const struct dc_leaf *a, const struct dc_leaf *b)
{
    if (a->nmods != b->nmods)
        return false;
    for (uint32_t i = 0; i < a->nmods; i++) {
        const struct graph_mod *x = &a->mods[i], *y = &b->mods[i];
        if (x->id != y->id || x->num != y->num ||
            strcmp(x->str ? x->str : "", y->str ? y->str : "") != 0 || !x->str != !y->str)
            return false;
    }
    return true;
}

/* There are few kinds of decision, about one per combination of modifiers. */
int dc_leaf(struct dc *c, const struct dc_leaf *leaf, uint32_t *node)
{
    uint32_t i = 0;
    while (i < c->nleaves &&
           (c->leaves[i].allow != leaf->allow || c->leaves[i].flags != leaf->flags ||
            c->leaves[i].policy != leaf->policy || !same_mods(&c->leaves[i], leaf)))
        i++;
    if (dc_spend(c, i) < 0)
        return -1;
    if (i == c->nleaves) {
        if (dc_room(c, &c->leaves, &c->cap_leaves, i, sizeof(*leaf)) < 0)
            return -1;
        c->leaves[c->nleaves++] = *leaf;
    }
    return intern(c, (struct dc_node){DC_NONE, i, 0}, node);
}

int dc_plain(struct dc *c, bool allow, uint32_t *node)
{
    struct dc_leaf leaf = {.allow = allow,
                           .flags = allow ? 0 : VOCAB_FLAG_DENY | VOCAB_FLAG_REPORT};
    return dc_leaf(c, &leaf, node);
}

static int leaf_of(struct dc *c, const struct graph_node *n, bool nested, uint32_t *node)
{
    struct dc_leaf leaf = {.allow = n->allow, .flags = n->flags};
    struct graph_mod *mods = arena_array(&c->arena, n->nmods + 1u, sizeof(*mods));
    if (!mods)
        return err_set(c->err, BK_E_LIMIT, "decompiling needs too much memory");
    for (uint32_t i = 0; i < n->nmods; i++) {
        const struct graph_mod *m = graph_mod_at(c->g, n->mods + i);
        if (m->id != MOD_MESSAGE_FILTER) {
            mods[leaf.nmods++] = *m;
            continue;
        }
        if (nested || leaf.policy)
            return err_set(c->err, BK_E_INPUT, "a message filter %s cannot be written as SBPL",
                           nested ? "inside a message filter" : "beside another");
        leaf.policy = c->policy_of[m->num];
    }
    leaf.mods = mods;
    return dc_leaf(c, &leaf, node);
}

/* ---- the graph's nodes ---- */

static int take_node(struct dc *c, uint32_t node, bool nested)
{
    const struct graph_node *n = graph_node_at(c->g, node);
    uint32_t *out = &c->node_of[node];
    if (*out != DC_NONE)
        return 0;
    if (n->kind == GRAPH_NODE_DECISION)
        return leaf_of(c, n, nested, out);
    return dc_filter(c, n->test, c->node_of[n->match], c->node_of[n->unmatch], out);
}

/* Nodes that message filters reach come first, because a decision may refer to one of them. */
static int take_nested(struct dc *c, bool *reached)
{
    uint32_t n = graph_node_count(c->g), npolicies = graph_policy_count(c->g);
    for (uint32_t p = 1; p <= npolicies; p++)
        for (uint32_t op = 0; op < OP_COUNT; op++)
            if (vocab_ops[op].message_filter)
                reached[graph_policy_entry(c->g, p, (enum vocab_op)op)] = true;
    for (uint32_t i = n; i-- > 0;) {
        const struct graph_node *at = graph_node_at(c->g, i);
        if (reached[i] && at->kind == GRAPH_NODE_FILTER)
            reached[at->match] = reached[at->unmatch] = true;
    }
    for (uint32_t i = 0; i < n; i++)
        if (reached[i] && take_node(c, i, true) < 0)
            return -1;
    return 0;
}

static bool same_policy(const struct dc *c, uint32_t a, uint32_t b)
{
    for (uint32_t op = 0; op < OP_COUNT; op++)
        if (vocab_ops[op].message_filter &&
            c->node_of[graph_policy_entry(c->g, a, (enum vocab_op)op)] !=
                c->node_of[graph_policy_entry(c->g, b, (enum vocab_op)op)])
            return false;
    return true;
}

static int number_policies(struct dc *c)
{
    for (uint32_t p = 1; p <= graph_policy_count(c->g); p++) {
        uint32_t first = 1;
        while (first < p && (c->policy_of[first] != first || !same_policy(c, first, p)))
            first++;
        c->policy_of[p] = first;
        if (dc_spend(c, (uint64_t)first * 8) < 0)
            return -1;
    }
    return 0;
}

int dc_dag_make(struct dc *c)
{
    uint32_t n = graph_node_count(c->g);
    c->node_of = arena_array(&c->arena, n, sizeof(*c->node_of));
    c->policy_of = arena_array(&c->arena, graph_policy_count(c->g) + 1u, sizeof(*c->policy_of));
    bool *reached = arena_array(&c->arena, n, sizeof(*reached));
    if (!c->node_of || !c->policy_of || !reached)
        return err_set(c->err, BK_E_LIMIT, "decompiling needs too much memory");
    memset(c->node_of, 0xff, n * sizeof(*c->node_of));
    for (uint32_t i = 0; i < graph_test_count(c->g); i++) {
        if (dc_room(c, &c->tests, &c->cap_tests, c->ntests, sizeof(struct graph_test *)) < 0)
            return -1;
        c->tests[c->ntests++] = graph_test_at(c->g, i);
    }
    /* ends of conditions; nothing else has such leaf numbers */
    if (intern(c, (struct dc_node){DC_NONE, DC_NONE, 0}, &c->no) < 0 ||
        intern(c, (struct dc_node){DC_NONE, DC_NONE, 1}, &c->yes) < 0 ||
        take_nested(c, reached) < 0 || number_policies(c) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        if (take_node(c, i, false) < 0)
            return -1;
    return 0;
}

int dc_test(struct dc *c, const struct graph_test *t, uint32_t *test)
{
    for (uint32_t i = 0; i < c->ntests; i++)
        if (graph_test_same(c->tests[i], t)) {
            *test = i;
            return 0;
        }
    if (dc_spend(c, c->ntests) < 0 ||
        dc_room(c, &c->tests, &c->cap_tests, c->ntests, sizeof(struct graph_test *)) < 0)
        return -1;
    c->tests[c->ntests] = t;
    *test = c->ntests++;
    return 0;
}

/* ---- walks ---- */

int dc_walk_begin(struct dc *c)
{
    uint32_t had = c->cap_mark, heap = c->cap_heap;
    uint32_t cap = had;
    if (dc_room(c, &c->mark, &c->cap_mark, c->nnodes, sizeof(*c->mark)) < 0 ||
        dc_room(c, &c->map, &cap, c->nnodes, sizeof(*c->map)) < 0 ||
        dc_room(c, &c->heap, &heap, c->nnodes + 1, sizeof(*c->heap)) < 0)
        return -1;
    c->cap_heap = heap;
    c->nheap = 0;
    c->stamp++;
    return 0;
}

void dc_heap_push(struct dc *c, uint32_t node)
{
    uint32_t i = c->nheap++;
    while (i && c->heap[(i - 1) / 2] < node) {
        c->heap[i] = c->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    c->heap[i] = node;
}

uint32_t dc_heap_pop(struct dc *c)
{
    uint32_t top = c->heap[0], last = c->heap[--c->nheap], i = 0;
    for (;;) {
        uint32_t kid = 2 * i + 1;
        if (kid >= c->nheap)
            break;
        if (kid + 1 < c->nheap && c->heap[kid + 1] > c->heap[kid])
            kid++;
        if (c->heap[kid] <= last)
            break;
        c->heap[i] = c->heap[kid];
        i = kid;
    }
    c->heap[i] = last;
    return top;
}

bool dc_reaches(struct dc *c, uint32_t from, uint32_t to)
{
    return dc_reaches_with(c, from, to, DC_NONE);
}

bool dc_reaches_with(struct dc *c, uint32_t from, uint32_t to, uint32_t holds)
{
    if (dc_walk_begin(c) < 0)
        return false;
    c->mark[from] = c->stamp;
    dc_heap_push(c, from);
    while (c->nheap) {
        uint32_t at = dc_heap_pop(c);
        if (at == to)
            return true;
        if (at < to || dc_is_leaf(c, at) || dc_spend(c, 1) < 0)
            continue;
        const uint32_t kids[2] = {c->nodes[at].match, c->nodes[at].unmatch};
        for (int k = 0; k < (c->nodes[at].test == holds ? 1 : 2); k++)
            if (c->mark[kids[k]] != c->stamp) {
                c->mark[kids[k]] = c->stamp;
                dc_heap_push(c, kids[k]);
            }
    }
    return false;
}
