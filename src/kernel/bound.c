/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Upper bounds: the folders in which an operation could be allowed. For every node of the graph,
 * from the decisions upwards:
 *
 *   bound(allow) = everywhere          bound(deny) = nowhere
 *   bound(test)  = (region(test) ∩ bound(match)) ∪ bound(unmatch)
 *
 * where the region of a path test is the smallest folder (or file) that contains what it matches,
 * and of any other test everywhere. Edges lead to smaller indices, so one pass in order suffices.
 */

#include <string.h>

#include "graph/regex/regex.h"
#include "kernel/plan.h"

enum { BOUND_MAX = 128 }; /* folders in one set; beyond it, everywhere */

struct region_set {
    bool everywhere;
    uint32_t n;
    struct bound_path *list;
};

static bool is_beneath(const char *path, uint32_t n, const char *folder, uint32_t m)
{
    if (m == 1)
        return n > 0; /* everything lies beneath "/" */
    return n >= m && memcmp(path, folder, m) == 0 && (n == m || path[m] == '/');
}

/* Whether a contains every path of b. */
static bool covers(const struct bound_path *a, const struct bound_path *b)
{
    if (a->exact)
        return b->exact && a->len == b->len && memcmp(a->path, b->path, a->len) == 0;
    return is_beneath(b->path, b->len, a->path, a->len);
}

static struct bound_path folder_of(const char *s, size_t n, uint32_t rule)
{
    while (n > 0 && s[n - 1] != '/')
        n--;
    while (n > 1 && s[n - 1] == '/')
        n--;
    return (struct bound_path){s, (uint32_t)n, false, rule};
}

/* The region of a test; false when it is everywhere. */
static bool region_of(const struct graph_test *t, uint32_t rule, struct arena *arena,
                      struct bound_path *out)
{
    if (t->filter != FILTER_PATH || t->len == 0 || t->str[0] == '\0')
        return false;
    if (t->how == GRAPH_LITERAL || t->how == GRAPH_SUBPATH) {
        *out = (struct bound_path){t->str, t->len, t->how == GRAPH_LITERAL, rule};
        return t->str[0] == '/';
    }
    if (t->how == GRAPH_PREFIX) {
        *out = folder_of(t->str, t->len, rule);
        return t->str[0] == '/';
    }
    char *prefix = arena_alloc(arena, t->len + 1);
    bool exact = false;
    size_t n = prefix ? regex_literal_prefix(t->str, t->len, prefix, t->len, &exact) : 0;
    if (n == 0 || prefix[0] != '/')
        return false;
    *out =
        exact ? (struct bound_path){prefix, (uint32_t)n, true, rule} : folder_of(prefix, n, rule);
    return out->len > 1 || exact;
}

/* Adds one region, dropping what it covers. */
static void add(struct region_set *s, const struct bound_path *p)
{
    uint32_t kept = 0;
    if (s->everywhere)
        return;
    for (uint32_t i = 0; i < s->n; i++)
        if (covers(&s->list[i], p))
            return;
    for (uint32_t i = 0; i < s->n; i++)
        if (!covers(p, &s->list[i]))
            s->list[kept++] = s->list[i];
    s->n = kept;
    if (s->n == BOUND_MAX)
        s->everywhere = true;
    else
        s->list[s->n++] = *p;
}

static void unite(struct region_set *s, const struct region_set *with)
{
    if (with->everywhere)
        s->everywhere = true;
    for (uint32_t i = 0; i < with->n && !s->everywhere; i++)
        add(s, &with->list[i]);
}

static void intersect(struct region_set *s, const struct bound_path *p,
                      const struct region_set *with)
{
    if (with->everywhere)
        add(s, p);
    for (uint32_t i = 0; i < with->n && !with->everywhere; i++) {
        if (covers(p, &with->list[i]))
            add(s, &with->list[i]);
        else if (covers(&with->list[i], p))
            add(s, p);
    }
}

/* A set trimmed to its size, so that a large graph does not need BOUND_MAX entries a node. */
static struct region_set settle(const struct region_set *s, struct arena *arena)
{
    struct region_set out = {.everywhere = s->everywhere, .n = s->everywhere ? 0 : s->n};
    out.list = arena_dup(arena, s->list, out.n * sizeof(*s->list));
    if (!out.list)
        out.everywhere = true;
    return out;
}

static struct region_set bound_node(const struct graph *g, const struct graph_node *node,
                                    const struct region_set *sets, struct bound_path *scratch,
                                    struct arena *arena)
{
    struct region_set s = {.list = scratch};
    struct bound_path p;
    if (node->kind == GRAPH_NODE_DECISION) {
        s.everywhere = node->allow;
        return s;
    }
    const struct region_set *match = &sets[node->match];
    if (region_of(graph_test_at(g, node->test), node->rule, arena, &p))
        intersect(&s, &p, match);
    else
        unite(&s, match);
    unite(&s, &sets[node->unmatch]);
    return settle(&s, arena);
}

size_t plan_bound(const struct graph *g, enum vocab_op op, struct bound_path *list, size_t cap,
                  bool *everywhere, struct arena *arena)
{
    uint32_t entry = graph_entry(g, op);
    struct bound_path scratch[BOUND_MAX];
    struct region_set *sets = arena_array(arena, (size_t)entry + 1, sizeof(*sets));
    uint8_t *reached = arena_alloc(arena, (size_t)entry + 1);
    *everywhere = true;
    /* without regard to case the policy's paths are not the ones on disk */
    if (!sets || !reached || graph_options_of(g)->fold_case)
        return 0;
    reached[entry] = 1;
    for (uint32_t i = entry + 1; i-- > 0;) {
        const struct graph_node *node = graph_node_at(g, i);
        if (reached[i] && node->kind == GRAPH_NODE_FILTER)
            reached[node->match] = reached[node->unmatch] = 1;
    }
    for (uint32_t i = 0; i <= entry; i++)
        if (reached[i])
            sets[i] = bound_node(g, graph_node_at(g, i), sets, scratch, arena);
    const struct region_set *s = &sets[entry];
    *everywhere = s->everywhere || s->n > cap;
    if (*everywhere)
        return 0;
    memcpy(list, s->list, s->n * sizeof(*list));
    return s->n;
}
