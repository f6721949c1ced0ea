/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Path bounds: the folders in which an operation could be allowed, or could be denied. For every
 * node of the graph, from the decisions upwards:
 *
 *   bound(wanted decision) = everywhere     bound(its opposite) = nowhere
 *   bound(test)  = (region(test) ∩ bound(match)) ∪ bound(unmatch)
 *
 * The region of a path test is the smallest folder (or file) that contains what it matches; of any
 * other test, everywhere. Edges lead to smaller indices, so one pass in order suffices.
 *
 * For a query about one folder, a test that every path in it passes, or none, leaves one branch.
 */

#include <string.h>

#include "graph/regex/regex.h"
#include "kernel/plan/plan-int.h"

enum { BOUND_MAX = 256 }; /* folders in one set; beyond it, everywhere */

struct region_set {
    bool everywhere;
    uint32_t n;
    struct bound_path *list;
};

/* A query on a graph. */
struct question {
    const struct graph *g;
    bool denied;                     /* where is it denied (or reported), rather than allowed? */
    bool unreported;                 /* of that: a report alone does not count */
    bool unprotected;                /* nor does a rule about protected names */
    const struct bound_path *within; /* only in this folder; NULL: anywhere */
    int type;                        /* BOUND_… */
    const char *layer;               /* the extension of layers that counts as granted, or NULL */
    struct bound_memory *memory;     /* cached knowledge of its tests; NULL: computed each time */
    struct arena *arena;
};

/* Most paths share a long beginning and differ later: the mark at the folder's end rules out most
 * of them. */
static bool is_beneath(const char *path, uint32_t n, const char *folder, uint32_t m)
{
    if (m == 1)
        return n > 0; /* everything is beneath "/" */
    return n >= m && (n == m || path[m] == '/') && path[m - 1] == folder[m - 1] &&
           memcmp(path, folder, m) == 0;
}

bool bound_covers(const struct bound_path *a, const struct bound_path *b)
{
    if (a->exact)
        return b->exact && a->len == b->len && memcmp(a->path, b->path, a->len) == 0;
    return is_beneath(b->path, b->len, a->path, a->len);
}

/* Every region is compared with every other. The marks rule out most pairs without a look at the
 * paths, because nothing of the inner path ends where the outer path does. */
static inline bool may_cover(const struct bound_path *a, const struct bound_path *b)
{
    return b->ends >> (a->len & 63) & 1;
}

static inline bool covers(const struct bound_path *a, const struct bound_path *b)
{
    return may_cover(a, b) && bound_covers(a, b);
}

static struct bound_path with_ends(struct bound_path p)
{
    p.ends = UINT64_C(1) << 1 | UINT64_C(1) << (p.len & 63); /* "/" is in all of them */
    for (uint32_t i = 1; i < p.len; i++)
        p.ends |= (uint64_t)(p.path[i] == '/') << (i & 63);
    return p;
}

static struct bound_path folder_of(const char *s, size_t n, uint32_t rule)
{
    while (n > 0 && s[n - 1] != '/')
        n--;
    while (n > 1 && s[n - 1] == '/')
        n--;
    return (struct bound_path){s, (uint32_t)n, false, rule, 0};
}

static bool find_region(const struct graph_test *t, uint32_t rule, struct arena *arena,
                        struct bound_path *out)
{
    if (t->filter != FILTER_PATH || t->len == 0 || t->str[0] == '\0')
        return false;
    if (t->how == GRAPH_LITERAL || t->how == GRAPH_SUBPATH) {
        *out = (struct bound_path){t->str, t->len, t->how == GRAPH_LITERAL, rule, 0};
        return t->str[0] == '/';
    }
    if (t->how == GRAPH_PREFIX) {
        *out = folder_of(t->str, t->len, rule);
        return t->str[0] == '/';
    }
    if (!memchr(t->str, '^', t->len))
        return false; /* it begins anywhere, as most do: parsing it gains nothing */
    char *prefix = arena_alloc(arena, t->len + 1);
    bool exact = false;
    size_t n = prefix ? regex_literal_prefix(t->str, t->len, prefix, t->len, &exact) : 0;
    if (n == 0 || prefix[0] != '/')
        return false;
    *out = exact ? (struct bound_path){prefix, (uint32_t)n, true, rule, 0}
                 : folder_of(prefix, n, rule);
    return out->len > 1 || exact;
}

/* The region of a node's test. Returns false if it is everywhere. */
static bool region_of(const struct question *q, const struct graph_node *node,
                      struct bound_path *out)
{
    enum { UNKNOWN, EVERYWHERE, BOUNDED };
    struct bound_memory *m = q->memory;
    if (!m || m->known[node->test] == UNKNOWN) {
        bool bounded = find_region(graph_test_at(q->g, node->test), node->rule, q->arena, out);
        if (bounded)
            *out = with_ends(*out);
        if (m) {
            m->known[node->test] = bounded ? BOUNDED : EVERYWHERE;
            m->regions[node->test] = *out;
        }
        return bounded;
    }
    *out = m->regions[node->test];
    out->rule = node->rule;
    return m->known[node->test] == BOUNDED;
}

/* Adds one region and drops those that it covers, including an equal one: the latest rule is the
 * reason. Entries never cover each other, so if one covers the new region, nothing has been dropped
 * for it. */
static void add_region(struct region_set *s, const struct bound_path *p)
{
    uint32_t kept = 0;
    if (s->everywhere)
        return;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct bound_path *old = &s->list[i];
        if (may_cover(p, old) && bound_covers(p, old))
            continue;
        if (may_cover(old, p) && bound_covers(old, p))
            return;
        if (kept < i)
            s->list[kept] = s->list[i];
        kept++;
    }
    s->n = kept;
    if (s->n == BOUND_MAX)
        s->everywhere = true;
    else
        s->list[s->n++] = *p;
}

/* Entries of one set do not cover each other, so only those of different sets are compared. In a
 * long chain of rules one of the sets is small. */
static void unite(struct region_set *s, const struct region_set *with)
{
    uint32_t before = s->n, kept = 0;
    s->everywhere |= with->everywhere;
    for (uint32_t i = 0; i < with->n && !s->everywhere; i++) {
        bool covered = false;
        for (uint32_t k = 0; k < before && !covered; k++)
            covered = covers(&s->list[k], &with->list[i]);
        if (!covered && s->n == BOUND_MAX)
            s->everywhere = true;
        else if (!covered)
            s->list[s->n++] = with->list[i];
    }
    for (uint32_t i = 0; i < s->n && before > 0; i++) {
        bool covered = false;
        for (uint32_t k = before; i < before && k < s->n && !covered; k++)
            covered = covers(&s->list[k], &s->list[i]);
        if (!covered)
            s->list[kept++] = s->list[i];
    }
    s->n = before > 0 ? kept : s->n;
}

static void intersect(struct region_set *s, const struct bound_path *p,
                      const struct region_set *with)
{
    if (with->everywhere)
        add_region(s, p);
    for (uint32_t i = 0; i < with->n && !with->everywhere; i++) {
        if (covers(p, &with->list[i]))
            add_region(s, &with->list[i]);
        else if (covers(&with->list[i], p))
            add_region(s, p);
    }
}

/* A set trimmed to its size, so that a large graph does not need BOUND_MAX entries per node. */
static struct region_set trim_set(const struct region_set *s, struct arena *arena)
{
    struct region_set out = {.everywhere = s->everywhere, .n = s->everywhere ? 0 : s->n};
    out.list = arena_dup(arena, s->list, out.n * sizeof(*s->list));
    if (!out.list)
        out.everywhere = true;
    return out;
}

/* Allowed, and not reported. */
static bool is_silent_allow(const struct graph_node *d)
{
    return d->allow && d->flags == 0 && d->nmods == 0;
}

/* Whether the queried type decides a test. */
static bool decides_type(const struct question *q, const struct graph_test *t, bool *holds)
{
    if (t->filter != FILTER_VNODE_TYPE || t->how != GRAPH_INT || q->type == BOUND_ANY)
        return false;
    *holds = q->type == t->num;
    return q->type != BOUND_FILES || t->num == BOUND_BLOCKS || t->num == BOUND_CHARACTERS;
}

/* What only a layer allows is bounded apart (plan-layers.c): where there is no layer, no wall opens
 * for one. */
static bool decides_layer(const struct question *q, const struct graph_test *t, bool *holds)
{
    if ((q->denied && !q->layer) || !plan_is_layer_test(t))
        return false;
    *holds = q->layer && strcmp(q->layer, t->str) == 0;
    return true;
}

/* Whether the query itself decides a test. */
static bool decides(const struct question *q, const struct graph_test *t, bool *holds)
{
    return decides_type(q, t, holds) || decides_layer(q, t, holds);
}

enum outcome { ALWAYS, NEVER, EITHER };

/* The outcome of a test for the paths of a folder. */
static enum outcome outcome_within(const struct graph_test *t, const struct bound_path *region,
                                   const struct bound_path *folder)
{
    if (!covers(region, folder) && !covers(folder, region))
        return NEVER;
    if (t->how == GRAPH_SUBPATH && covers(region, folder))
        return ALWAYS;
    bool begins = folder->len >= t->len && memcmp(folder->path, t->str, t->len) == 0;
    return t->how == GRAPH_PREFIX && begins ? ALWAYS : EITHER;
}

/* The outcome of a test for the queried folder or type, and its region if that is not everywhere.
 */
static enum outcome outcome_of(const struct question *q, const struct graph_node *node,
                               struct bound_path *region, bool *bounded)
{
    const struct graph_test *t = graph_test_at(q->g, node->test);
    bool holds;
    *bounded = false;
    if (decides(q, t, &holds))
        return holds ? ALWAYS : NEVER;
    *bounded = region_of(q, node, region);
    return *bounded && q->within ? outcome_within(t, region, q->within) : EITHER;
}

/* The result may be in scratch. */
static struct region_set bound_node(const struct question *q, const struct graph_node *node,
                                    const struct region_set *sets, struct bound_path *scratch)
{
    struct region_set s = {.list = scratch};
    struct bound_path p;
    bool bounded;
    if (node->kind == GRAPH_NODE_DECISION) {
        s.everywhere = !q->denied      ? node->allow
                       : q->unreported ? !node->allow
                                       : !is_silent_allow(node);
        s.everywhere &= !(q->unprotected && graph_denies_protected(q->g, node));
        return s;
    }
    const struct region_set *match = &sets[node->match], *unmatch = &sets[node->unmatch];
    enum outcome o = outcome_of(q, node, &p, &bounded);
    if (o != EITHER)
        return o == ALWAYS ? *match : *unmatch;
    if (bounded)
        intersect(&s, &p, match);
    else
        unite(&s, match);
    unite(&s, unmatch);
    return s;
}

static void reverse(struct region_set *s)
{
    for (uint32_t i = 0; i < s->n / 2; i++) {
        struct bound_path one = s->list[i];
        s->list[i] = s->list[s->n - 1 - i];
        s->list[s->n - 1 - i] = one;
    }
}

/* The set of the previous node, while only the next node needs it. A list of names is a long chain
 * of nodes, each with one more entry, so copying each set would be wasteful. The newest entry comes
 * last. */
struct running {
    bool is;
    uint32_t node;
    struct region_set set;
};

/* Appends a node to the chain if it only adds its region to the previous one. */
static bool extend_chain(struct running *run, const struct question *q, uint32_t i,
                         struct region_set *sets, const uint8_t *wanted)
{
    const struct graph_node *node = graph_node_at(q->g, i);
    struct bound_path p;
    bool holds;
    if (!run->is || q->within || node->kind != GRAPH_NODE_FILTER || node->unmatch != run->node ||
        node->match == run->node || wanted[run->node] != 1 ||
        decides(q, graph_test_at(q->g, node->test), &holds))
        return false;
    const struct region_set *match = &sets[node->match];
    bool nothing = !match->everywhere && match->n == 0;
    if (!nothing && (!match->everywhere || !region_of(q, node, &p)))
        return false;
    sets[run->node].everywhere = run->set.everywhere; /* all that later queries need of it */
    if (!nothing)
        add_region(&run->set, &p);
    run->node = i;
    return true;
}

static void close_chain(struct running *run, struct region_set *sets, struct arena *arena)
{
    if (!run->is)
        return;
    reverse(&run->set);
    sets[run->node] = trim_set(&run->set, arena);
    run->is = false;
}

/* How many others refer to each node (2 is many). Within one folder, most tests leave one branch
 * and most nodes are unreachable. */
static void find_wanted(const struct question *q, uint32_t entry, uint8_t *wanted)
{
    wanted[entry] = 1;
    for (uint32_t i = entry + 1; i-- > 0;) {
        const struct graph_node *node = graph_node_at(q->g, i);
        struct bound_path p;
        bool bounded;
        if (!wanted[i] || node->kind != GRAPH_NODE_FILTER)
            continue;
        enum outcome o = q->within ? outcome_of(q, node, &p, &bounded) : EITHER;
        if (o != NEVER)
            wanted[node->match] += wanted[node->match] < 2;
        if (o != ALWAYS)
            wanted[node->unmatch] += wanted[node->unmatch] < 2;
    }
}

/* The sets of all nodes that op can reach; NULL if nothing is known. */
static struct region_set *bound_all(const struct question *q, enum vocab_op op)
{
    uint32_t entry = graph_entry(q->g, op);
    struct bound_path scratch[BOUND_MAX];
    struct region_set *sets = arena_array(q->arena, (size_t)entry + 1, sizeof(*sets));
    uint8_t *wanted = arena_alloc(q->arena, (size_t)entry + 1);
    struct running run = {.is = false};
    /* without regard to case the policy's paths differ from those on disk */
    if (!sets || !wanted || graph_options_of(q->g)->fold_case)
        return NULL;
    find_wanted(q, entry, wanted);
    for (uint32_t i = 0; i <= entry; i++) {
        if (!wanted[i] || extend_chain(&run, q, i, sets, wanted))
            continue;
        close_chain(&run, sets, q->arena);
        sets[i] = bound_node(q, graph_node_at(q->g, i), sets, scratch);
        if (sets[i].list != scratch)
            continue; /* another node's */
        run = (struct running){true, i, sets[i]};
        reverse(&run.set);
    }
    close_chain(&run, sets, q->arena);
    return sets;
}

static size_t copy_set(const struct region_set *s, struct bound_path *list, size_t cap,
                       bool *everywhere)
{
    *everywhere = s->everywhere || s->n > cap;
    if (*everywhere)
        return 0;
    memcpy(list, s->list, s->n * sizeof(*list));
    return s->n;
}

size_t plan_bound(const struct graph *g, enum vocab_op op, struct bound_path *list, size_t cap,
                  bool *everywhere, struct arena *arena)
{
    return plan_bound_of(g, op, BOUND_ANY, list, cap, everywhere, arena);
}

size_t plan_bound_of(const struct graph *g, enum vocab_op op, enum bound_type type,
                     struct bound_path *list, size_t cap, bool *everywhere, struct arena *arena)
{
    struct question q = {.g = g, .type = type, .arena = arena};
    const struct region_set *sets = bound_all(&q, op);
    *everywhere = true;
    return sets ? copy_set(&sets[graph_entry(g, op)], list, cap, everywhere) : 0;
}

size_t plan_bound_layers(const struct graph *g, enum vocab_op op, const char *extension,
                         struct bound_path *list, size_t cap, bool *everywhere, struct arena *arena)
{
    struct question q = {.g = g, .layer = extension, .arena = arena};
    const struct region_set *sets = bound_all(&q, op);
    *everywhere = true;
    return sets ? copy_set(&sets[graph_entry(g, op)], list, cap, everywhere) : 0;
}

int bound_remember(struct bound_memory *m, const struct graph *g, struct arena *arena)
{
    uint32_t n = graph_test_count(g) + 1;
    m->known = arena_alloc(arena, n);
    m->regions = arena_array(arena, n, sizeof(*m->regions));
    m->wanted = arena_alloc(arena, graph_node_count(g) + 1);
    return m->known && m->regions && m->wanted ? 0 : -1;
}

/* The first rule that names a folder denies most of the queried folders. */
static bool leads_to_allow(const struct question *q, uint32_t entry)
{
    uint8_t *wanted = q->memory->wanted;
    bool allows = false;
    memset(wanted, 0, (size_t)entry + 1);
    find_wanted(q, entry, wanted);
    for (uint32_t i = 0; i <= entry && !allows; i++) {
        const struct graph_node *node = graph_node_at(q->g, i);
        allows = wanted[i] && node->kind == GRAPH_NODE_DECISION && node->allow;
    }
    return allows || graph_options_of(q->g)->fold_case;
}

bool plan_allows_within(const struct graph *g, enum vocab_op op, const struct bound_path *within,
                        struct bound_memory *memory, struct arena *arena)
{
    struct bound_path in = with_ends(*within);
    struct question q = {.g = g, .within = &in, .memory = memory, .arena = arena};
    if (!leads_to_allow(&q, graph_entry(g, op)))
        return false;
    const struct region_set *sets = bound_all(&q, op);
    struct bound_path scratch[BOUND_MAX];
    struct region_set inside = {.list = scratch};
    if (!sets)
        return true;
    intersect(&inside, &in, &sets[graph_entry(g, op)]);
    return inside.everywhere || inside.n > 0;
}

/* The newest test that keeps denials from being bounded: its rule is the reason. */
static uint32_t unbounded_rule(const struct question *q, enum vocab_op op,
                               const struct region_set *sets)
{
    uint32_t at = graph_entry(q->g, op);
    for (;;) {
        const struct graph_node *node = graph_node_at(q->g, at);
        struct bound_path p;
        if (node->kind == GRAPH_NODE_DECISION)
            return node->rule;
        const struct region_set *match = &sets[node->match];
        bool holds;
        if (decides(q, graph_test_at(q->g, node->test), &holds)) {
            at = holds ? node->match : node->unmatch;
            continue;
        }
        bool bounded = region_of(q, node, &p);
        if (!bounded && (match->everywhere || match->n))
            return node->rule;
        at = sets[node->unmatch].everywhere ? node->unmatch : node->match;
    }
}

static size_t find_denied(struct question *q, enum vocab_op op, const struct bound_path *within,
                          struct bound_path *list, size_t cap, bool *everywhere, uint32_t *rule)
{
    const struct graph *g = q->g;
    struct bound_path in = within ? with_ends(*within) : (struct bound_path){0};
    q->within = within ? &in : NULL;
    const struct region_set *sets = bound_all(q, op);
    struct bound_path scratch[BOUND_MAX];
    struct region_set inside = {.list = scratch};
    *everywhere = true;
    *rule = GRAPH_NO_RULE;
    if (!sets)
        return 0;
    const struct region_set *s = &sets[graph_entry(g, op)];
    if (s->everywhere)
        *rule = unbounded_rule(q, op, sets);
    if (!within)
        return copy_set(s, list, cap, everywhere);
    intersect(&inside, &in, s);
    for (uint32_t i = 0; i < inside.n; i++)
        inside.everywhere |= covers(&inside.list[i], &in);
    return copy_set(&inside, list, cap, everywhere);
}

size_t plan_denied(const struct graph *g, enum vocab_op op, enum bound_type type,
                   const struct bound_path *within, struct bound_path *list, size_t cap,
                   bool *everywhere, uint32_t *rule, struct arena *arena)
{
    struct question q = {.g = g, .denied = true, .type = type, .arena = arena};
    return find_denied(&q, op, within, list, cap, everywhere, rule);
}

size_t plan_forbidden(const struct graph *g, enum vocab_op op, const struct bound_path *within,
                      struct bound_path *list, size_t cap, bool *everywhere, struct arena *arena)
{
    struct question q = {
        .g = g, .denied = true, .unreported = true, .type = BOUND_FILES, .arena = arena};
    uint32_t rule;
    return find_denied(&q, op, within, list, cap, everywhere, &rule);
}

size_t plan_denied_in_layer(const struct graph *g, enum vocab_op op, const char *extension,
                            const struct bound_path *within, struct bound_path *list, size_t cap,
                            bool *everywhere, struct arena *arena)
{
    struct question q = {.g = g,
                         .denied = true,
                         .unprotected = true,
                         .type = BOUND_FILES,
                         .layer = extension,
                         .arena = arena};
    uint32_t rule;
    return find_denied(&q, op, within, list, cap, everywhere, &rule);
}
