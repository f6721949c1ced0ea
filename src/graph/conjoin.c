/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Two policies as one: what both allow. A copy of the first graph leads into the second wherever it
 * allows, operation by operation:
 *
 *   entry[op] ──▶ tests of the first ──▶ deny: the first's rule
 *                        └────────────▶ allow ──▶ second's entry[op] ──▶ …
 *
 * So the evaluator, the planner and the gate read one graph as always, and no path through it
 * allows what one of the two denies. If the first is for some commands only, tests of these come
 * before it, and the second's entry follows where none holds.
 *
 * The same copying gives a process extensions for good: each test for one becomes a test for what
 * it was issued for.
 */

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "graph/build-int.h"
#include "graph/graph-int.h"

/* Filter nodes copied for one result. Memory is bounded elsewhere; equal nodes are shared. */
enum { MAX_COPIES = 16 << 20 };

struct joiner {
    struct graph_build *b;
    const struct graph *from; /* the graph that is being copied */
    uint32_t base;            /* where its rules begin */
    uint32_t *map;            /* its nodes in the result; GRAPH_NONE: not copied */
    uint32_t work;
    const struct graph_extension *held; /* extensions that become tests of what they are for */
    size_t nheld;
    enum vocab_filter subject; /* of the operation whose nodes are copied */
};

/* Message filters exist on macOS only. */
static size_t copy_mods(const struct graph *g, const struct rule_body *body, struct graph_mod *out,
                        size_t cap)
{
    size_t n = 0;
    for (uint32_t i = 0; i < body->nmods && n < cap; i++)
        if (g->mods[body->mod + i].id != MOD_MESSAGE_FILTER)
            out[n++] = g->mods[body->mod + i];
    return n;
}

static int copy_rules(struct graph_build *b, const struct graph *from, struct bk_err *err)
{
    static const uint16_t any = OP_DEFAULT;
    for (uint32_t i = 0; i < from->nrules; i++) {
        const struct graph_rule_info *r = &from->rules[i];
        struct graph_mod mods[MOD_COUNT];
        struct graph_rule rule = {.ops = r->nops ? r->ops : &any,
                                  .nops = r->nops ? r->nops : 1,
                                  .allow = r->allow,
                                  .flags = from->bodies[i].flags,
                                  .mods = mods,
                                  .origin = r->origin};
        rule.nmods = copy_mods(from, &from->bodies[i], mods, MOD_COUNT);
        if (build_rule_add(b, &rule, err) < 0)
            return -1;
        struct graph_rule_info *copy = &b->g->rules[b->g->nrules - 1];
        copy->filtered = r->filtered;
        copy->implicit = r->implicit;
        copy->inferred = r->inferred;
        copy->is_default = r->is_default;
        copy->compiled = r->compiled;
        copy->nops = r->nops;
    }
    return 0;
}

static int copy_decision(struct joiner *j, const struct graph_node *n, uint32_t *out,
                         struct bk_err *err)
{
    struct graph *g = j->b->g;
    uint32_t rule = j->base + n->rule;
    if (n->rule >= j->from->nrules)
        return err_set(err, BK_E_BUG, "a decision without a rule");
    struct rule_body *body = &g->bodies[rule];
    if (body->decision == GRAPH_NONE) {
        if (build_room(j->b, &g->nodes, &j->b->cap_nodes, g->nnodes, sizeof(*g->nodes), err) < 0)
            return -1;
        g->nodes[g->nnodes] = (struct graph_node){.kind = GRAPH_NODE_DECISION,
                                                  .allow = n->allow,
                                                  .flags = n->flags,
                                                  .mods = body->mod,
                                                  .nmods = body->nmods,
                                                  .rule = rule};
        body->decision = g->nnodes++;
    }
    *out = body->decision;
    return 0;
}

/* ---- extensions ---- */

static bool is_for(const struct graph_extension *e, const struct graph_test *t)
{
    return t->filter == FILTER_EXTENSION && t->how == GRAPH_LITERAL && t->len == strlen(e->kind) &&
           memcmp(t->str, e->kind, t->len) == 0;
}

/* What an extension is for, as a test of the operation's subject; false if it is for something
 * else. */
static bool subject_test(const struct joiner *j, const struct graph_extension *e,
                         struct graph_test *out)
{
    bool path = e->value[0] == '/', paths = j->subject == FILTER_PATH;
    size_t n = strlen(e->value);
    while (path && n > 1 && e->value[n - 1] == '/')
        n--;
    if (j->subject >= FILTER_COUNT || path != paths ||
        (!paths && vocab_filters[j->subject].arg != ARG_STRING))
        return false;
    *out = (struct graph_test){.filter = (uint16_t)j->subject,
                               .how = path ? GRAPH_SUBPATH : GRAPH_LITERAL,
                               .str = e->value,
                               .len = (uint32_t)n};
    return true;
}

/* A test for an extension that the process holds: in its place, one for what it was issued for. */
static int copy_held(struct joiner *j, const struct graph_node *n, bool *done, uint32_t *out,
                     struct bk_err *err)
{
    const struct graph_test *t = &j->from->tests[n->test];
    uint32_t match = j->map[n->match], at = j->map[n->unmatch], test;
    uint32_t rule = n->rule < j->from->nrules ? j->base + n->rule : (uint32_t)GRAPH_NO_RULE;
    *done = false;
    for (size_t i = 0; i < j->nheld; i++) {
        struct graph_test issued;
        if (!is_for(&j->held[i], t))
            continue;
        *done = true;
        if (!j->held[i].value)
            at = match;
        else if (subject_test(j, &j->held[i], &issued) && at != match &&
                 (intern_test(j->b, &issued, &test, err) < 0 ||
                  intern_node(j->b, test, match, at, rule, &at, err) < 0))
            return -1;
    }
    *out = at;
    return 0;
}

static int copy_filter(struct joiner *j, const struct graph_node *n, uint32_t *out,
                       struct bk_err *err)
{
    uint32_t test;
    if (++j->work > MAX_COPIES)
        return err_set(err, BK_E_LIMIT, "the policies are too large to combine");
    bool held = false;
    if (j->nheld && copy_held(j, n, &held, out, err) < 0)
        return -1;
    if (held)
        return 0;
    if (intern_test(j->b, &j->from->tests[n->test], &test, err) < 0)
        return -1;
    uint32_t rule = n->rule < j->from->nrules ? j->base + n->rule : (uint32_t)GRAPH_NO_RULE;
    return intern_node(j->b, test, j->map[n->match], j->map[n->unmatch], rule, out, err);
}

/* Copies what is below a node. allow: what its allowing decisions become, or GRAPH_NONE to keep
 * them. Edges lead to smaller numbers: one pass down finds the nodes, one pass up copies them. */
static int copy_below(struct joiner *j, uint32_t node, uint32_t allow, uint32_t *out,
                      struct bk_err *err)
{
    const struct graph *from = j->from;
    enum { WANTED = GRAPH_NONE - 1 };
    for (uint32_t i = 0; i < node; i++)
        j->map[i] = GRAPH_NONE;
    j->map[node] = WANTED;
    for (uint32_t i = node + 1; i-- > 0;)
        if (j->map[i] == WANTED && from->nodes[i].kind == GRAPH_NODE_FILTER)
            j->map[from->nodes[i].match] = j->map[from->nodes[i].unmatch] = WANTED;
    for (uint32_t i = 0; i <= node; i++) {
        const struct graph_node *n = &from->nodes[i];
        if (j->map[i] != WANTED)
            continue;
        if (n->kind == GRAPH_NODE_DECISION && n->allow && allow != GRAPH_NONE)
            j->map[i] = allow;
        else if ((n->kind == GRAPH_NODE_DECISION ? copy_decision : copy_filter)(j, n, &j->map[i],
                                                                                err) < 0)
            return -1;
    }
    *out = j->map[node];
    return 0;
}

/* Copies the graph's operations. entries: those that its allowing decisions lead to, or NULL; then
 * those of the result. Operations that agree in both are copied once. */
static int copy_entries(struct joiner *j, uint32_t *entries, bool leads_on, struct bk_err *err)
{
    uint32_t before[OP_COUNT];
    memcpy(before, entries, sizeof(before));
    for (uint32_t op = 0; op < OP_COUNT; op++) {
        uint32_t node = j->from->entry_nodes[op], same = 0;
        j->subject = vocab_op_subject((enum vocab_op)op);
        while (same < op &&
               (j->from->entry_nodes[same] != node || (leads_on && before[same] != before[op]) ||
                (j->nheld && vocab_op_subject((enum vocab_op)same) != j->subject)))
            same++;
        if (same < op)
            entries[op] = entries[same];
        else if (copy_below(j, node, leads_on ? before[op] : (uint32_t)GRAPH_NONE, &entries[op],
                            err) < 0)
            return -1;
    }
    return 0;
}

/* Where none of the tests holds, the first policy does not count. */
static int add_condition(struct graph_build *b, const struct graph_test *tests, size_t n,
                         const uint32_t *plain, uint32_t *entries, struct bk_err *err)
{
    for (size_t i = n; i-- > 0;) {
        uint32_t test;
        if (intern_test(b, &tests[i], &test, err) < 0)
            return -1;
        for (uint32_t op = 0; op < OP_COUNT; op++) {
            uint32_t otherwise = i + 1 == n ? plain[op] : entries[op + OP_COUNT];
            if (intern_node(b, test, entries[op], otherwise, GRAPH_NO_RULE, &entries[op + OP_COUNT],
                            err) < 0)
                return -1;
        }
    }
    return 0;
}

/* n tests: the first policy counts only where one of them holds. */
static int join(struct graph_build *b, const struct graph *first, const struct graph *second,
                const struct graph_test *tests, size_t n, struct bk_err *err)
{
    uint32_t most = first->nnodes > second->nnodes ? first->nnodes : second->nnodes;
    uint32_t entries[2 * OP_COUNT] = {0}, plain[OP_COUNT]; /* then those with the condition */
    OWN(mem) uint32_t *map = calloc(most ? most : 1, sizeof(*map));
    struct joiner j = {.b = b, .map = map};
    if (!map)
        return err_nomem(err);
    if (copy_rules(b, first, err) < 0 || copy_rules(b, second, err) < 0)
        return -1;
    j.from = second;
    j.base = first->nrules;
    if (copy_entries(&j, entries, false, err) < 0)
        return -1;
    memcpy(plain, entries, sizeof(plain));
    j.from = first;
    j.base = 0;
    if (copy_entries(&j, entries, true, err) < 0 ||
        add_condition(b, tests, n, plain, entries, err) < 0)
        return -1;
    return graph_build_entries(b, 0, n ? entries + OP_COUNT : entries, err);
}

/* A builder for what both graphs have in common with the result. */
static struct graph_build *begin(const struct graph *first, const struct graph *second,
                                 struct bk_err *err)
{
    struct graph_options opt = second->opt;
    opt.no_implicit = opt.no_inferred = true; /* the graphs have theirs */
    opt.checked = first->opt.checked && second->opt.checked;
    opt.apart = false;
    return graph_build_new(&opt, err);
}

static struct graph *join_where(const struct graph *first, const struct graph *second,
                                const struct graph_test *tests, size_t n, struct bk_err *err)
{
    struct graph_build *b = begin(first, second, err);
    if (!b)
        return NULL;
    if (first->opt.fold_case != second->opt.fold_case ? err_set(err, BK_E_BUG, "%s", "case differs")
                                                      : join(b, first, second, tests, n, err) < 0) {
        graph_build_free(b);
        return NULL;
    }
    return graph_freeze(b, err);
}

struct graph *graph_conjoin(const struct graph *first, const struct graph *second,
                            struct bk_err *err)
{
    return join_where(first, second, NULL, 0, err);
}

struct graph *graph_narrow(const struct graph *by, const struct graph *policy,
                           const struct graph_test *tests, size_t n, struct bk_err *err)
{
    return join_where(by, policy, tests, n, err);
}

static int extend(struct graph_build *b, const struct graph *g, const struct graph_extension *held,
                  size_t n, struct bk_err *err)
{
    uint32_t entries[OP_COUNT] = {0};
    OWN(mem) uint32_t *map = calloc(g->nnodes + 1u, sizeof(*map));
    struct joiner j = {.b = b, .from = g, .map = map, .held = held, .nheld = n};
    if (!map)
        return err_nomem(err);
    if (copy_rules(b, g, err) < 0 || copy_entries(&j, entries, false, err) < 0)
        return -1;
    return graph_build_entries(b, 0, entries, err);
}

struct graph *graph_extend(const struct graph *g, const struct graph_extension *held, size_t n,
                           struct bk_err *err)
{
    struct graph_build *b = begin(g, g, err);
    if (!b)
        return NULL;
    if (extend(b, g, held, n, err) < 0) {
        graph_build_free(b);
        return NULL;
    }
    return graph_freeze(b, err);
}
