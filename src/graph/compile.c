/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Rules → nodes. Each operation's entry starts as its tail: its last unfiltered rule, else the
 * vocabulary's tail, else the parent's entry. Then every filtered rule, in source order, goes in
 * front:
 *
 *     entry = compile(condition, match = the rule's decision, unmatch = entry)
 *
 * compile() passes the two outcomes down: NOT swaps them; ALL replaces the match outcome with the
 * operand to its right, ANY the unmatch outcome. Parents come before children, so that a child can
 * use its parent's entry. Operands are visited right to left, which is how flattened conditions
 * read backwards.
 */

#include <stdlib.h>
#include <string.h>

#include "graph/build-int.h"
#include "graph/graph-int.h"

/* Items compiled per graph. A rule may name every operation, so work is items × operations; because
 * equal nodes are shared, the memory limit does not bound it. */
enum { MAX_WORK = 16 << 20 };

struct pending {
    uint32_t kind, left; /* operator, operands still to come */
    uint32_t match, unmatch;
};

struct compiler {
    struct graph_build *b;
    struct pending *stack;
    uint32_t depth, cap;
    uint32_t *entries;    /* of the current policy, by operation */
    uint32_t *tails;      /* unfiltered rule by operation, or GRAPH_NO_RULE */
    uint32_t *lists;      /* filtered rules, grouped by operation, in source order */
    uint32_t *list_ends;  /* end of each operation's group */
    uint32_t built_in[2]; /* the rules that represent built-in tails: deny, allow */
    uint32_t no_default;  /* the rule that represents a missing default */
};

static int decision_of(struct graph_build *b, uint32_t rule, uint32_t *node, struct bk_err *err)
{
    struct graph *g = b->g;
    struct rule_body *body = &g->bodies[rule];
    if (body->decision == GRAPH_NONE) {
        if (build_room(b, &g->nodes, &b->cap_nodes, g->nnodes, sizeof(*g->nodes), err) < 0)
            return -1;
        g->nodes[g->nnodes] = (struct graph_node){.kind = GRAPH_NODE_DECISION,
                                                  .allow = g->rules[rule].allow,
                                                  .flags = body->flags,
                                                  .mods = body->mod,
                                                  .nmods = body->nmods,
                                                  .rule = rule};
        body->decision = g->nnodes++;
    }
    *node = body->decision;
    return 0;
}

static int push(struct compiler *c, struct pending p, struct bk_err *err)
{
    if (build_room(c->b, &c->stack, &c->cap, c->depth, sizeof(p), err) < 0)
        return -1;
    c->stack[c->depth++] = p;
    return 0;
}

/* The pending operand is now `node`: passes it to its operator and, if that was the last operand,
 * the operator's result to the next one up. Returns true when the whole condition is done. */
static bool settle(struct compiler *c, uint32_t *node)
{
    while (c->depth) {
        struct pending *top = &c->stack[c->depth - 1];
        if (top->kind == GRAPH_ALL)
            top->match = *node;
        else
            top->unmatch = *node;
        if (--top->left)
            return false;
        *node = top->kind == GRAPH_ALL ? top->match : top->unmatch;
        c->depth--;
    }
    return true;
}

static int compile_when(struct compiler *c, uint32_t rule, uint32_t match, uint32_t unmatch,
                        uint32_t *out, struct bk_err *err)
{
    const struct rule_body body = c->b->g->bodies[rule];
    uint32_t at = body.item + body.nitems;
    c->depth = 0;
    while (at > body.item) {
        uint32_t item = c->b->g->items[--at];
        enum graph_expr_kind kind = item_kind(item);
        uint32_t node;
        if (++c->b->work > MAX_WORK)
            return err_set(err, BK_E_LIMIT, "the policy's conditions are too large to compile");
        if (kind == GRAPH_NOT) {
            uint32_t swap = match;
            match = unmatch;
            unmatch = swap;
            continue;
        }
        if (kind == GRAPH_TEST) {
            if (intern_node(c->b, item_value(item), match, unmatch, rule, &node, err) < 0)
                return -1;
        } else if (item_value(item) == 0) {
            node = kind == GRAPH_ALL ? match : unmatch;
        } else {
            if (push(c, (struct pending){kind, item_value(item), match, unmatch}, err) < 0)
                return -1;
            continue;
        }
        if (settle(c, &node)) {
            *out = node;
            return 0;
        }
        match = c->stack[c->depth - 1].match;
        unmatch = c->stack[c->depth - 1].unmatch;
    }
    return err_set(err, BK_E_BUG, "a condition ends early");
}

/* ---- rules that are not written ---- */

static int add_placeholder(struct compiler *c, bool allow, const char *text, uint32_t *rule,
                           struct bk_err *err)
{
    struct graph_build *b = c->b;
    static const uint16_t any = OP_DEFAULT;
    struct graph_rule r = {.ops = &any,
                           .nops = 1,
                           .allow = allow,
                           .flags = allow ? 0 : VOCAB_FLAG_REPORT,
                           .origin = {.text = text}};
    if (build_rule_add(b, &r, err) < 0)
        return -1;
    *rule = b->g->nrules - 1;
    b->g->rules[*rule].is_default = true;
    b->g->rules[*rule].nops = 0;
    return 0;
}

static int built_in_tail(struct compiler *c, enum vocab_tail tail, uint32_t *rule,
                         struct bk_err *err)
{
    bool allow = tail == TAIL_ALLOW;
    uint32_t *known = &c->built_in[allow];
    if (*known == GRAPH_NO_RULE &&
        add_placeholder(c, allow, allow ? "built-in allow" : "built-in deny", known, err) < 0)
        return -1;
    *rule = *known;
    return 0;
}

static int missing_default(struct compiler *c, uint32_t *rule, struct bk_err *err)
{
    if (c->no_default == GRAPH_NO_RULE &&
        add_placeholder(c, false, "(deny default)", &c->no_default, err) < 0)
        return -1;
    *rule = c->no_default;
    return 0;
}

/* ---- entries ---- */

static int tail_of(struct compiler *c, uint32_t op, uint32_t *node, struct bk_err *err)
{
    const struct vocab_op_info *info = &vocab_ops[op];
    uint32_t rule = c->tails[op];
    enum vocab_tail tail = (enum vocab_tail)info->tail[c->b->g->opt.version - 1];
    if (rule == GRAPH_NO_RULE && info->parent == OP_NONE && tail != TAIL_ALLOW) {
        if (missing_default(c, &rule, err) < 0)
            return -1;
    } else if (rule == GRAPH_NO_RULE && tail != TAIL_PARENT) {
        if (built_in_tail(c, tail, &rule, err) < 0)
            return -1;
    }
    if (rule != GRAPH_NO_RULE)
        return decision_of(c->b, rule, node, err);
    *node = c->entries[info->parent];
    return 0;
}

/* Puts a rule in front of a list. Rules that name many operations meet the same list repeatedly, so
 * the last result is cached. */
static int put_in_front(struct compiler *c, uint32_t rule, uint32_t *entry, struct bk_err *err)
{
    uint32_t match, list = *entry;
    const struct rule_body *known = &c->b->g->bodies[rule];
    if (known->list == list) {
        *entry = known->with_list;
        return 0;
    }
    if (decision_of(c->b, rule, &match, err) < 0 ||
        compile_when(c, rule, match, list, entry, err) < 0)
        return -1;
    c->b->g->bodies[rule].list = list;
    c->b->g->bodies[rule].with_list = *entry;
    return 0;
}

/* A rule that others for the same operation imply is asked before them, as Apple's compiler has
 * it. The last rule of a list is asked first. */
static void advance_inferred(struct compiler *c, uint32_t first, uint32_t end)
{
    const struct graph *g = c->b->g;
    if (first == end || !g->rules[c->lists[first]].inferred)
        return;
    uint32_t rule = c->lists[first];
    memmove(c->lists + first, c->lists + first + 1, (end - first - 1) * sizeof(*c->lists));
    c->lists[end - 1] = rule;
}

static int compile_op(struct compiler *c, uint32_t op, struct bk_err *err)
{
    uint32_t entry, first = op ? c->list_ends[op - 1] : 0;
    if (tail_of(c, op, &entry, err) < 0)
        return -1;
    advance_inferred(c, first, c->list_ends[op]);
    for (uint32_t i = first; i < c->list_ends[op]; i++)
        if (put_in_front(c, c->lists[i], &entry, err) < 0)
            return -1;
    c->entries[op] = entry;
    return 0;
}

/* Parents before children. The vocabulary is a forest, so following parents terminates. */
static int compile_with_parents(struct compiler *c, uint32_t op, struct bk_err *err)
{
    uint16_t path[OP_COUNT];
    uint32_t n = 0;
    for (uint32_t at = op; at != OP_NONE && c->entries[at] == GRAPH_NONE && n < OP_COUNT;
         at = vocab_ops[at].parent)
        path[n++] = (uint16_t)at;
    while (n)
        if (compile_op(c, path[--n], err) < 0)
            return -1;
    return 0;
}

static void enlist(struct compiler *c, uint32_t rule)
{
    const struct graph_rule_info *r = &c->b->g->rules[rule];
    for (uint32_t k = 0; k < r->nops; k++)
        if (r->filtered)
            c->lists[c->list_ends[r->ops[k]]++] = rule;
        else
            c->tails[r->ops[k]] = rule;
}

/* Groups the policy's filtered rules by operation (a counting sort) and finds its tails. */
static int sort_rules(struct compiler *c, uint32_t policy, uint32_t first, uint32_t end,
                      struct bk_err *err)
{
    const struct graph *g = c->b->g;
    uint32_t counts[OP_COUNT] = {0}, total = 0;
    for (uint32_t i = first; i < end; i++)
        for (uint32_t k = 0; g->rules[i].policy == policy && k < g->rules[i].nops; k++)
            counts[g->rules[i].ops[k]] += g->rules[i].filtered;
    for (uint32_t op = 0; op < OP_COUNT; op++) {
        c->tails[op] = GRAPH_NO_RULE;
        c->list_ends[op] = total;
        total += counts[op];
    }
    free(c->lists);
    c->lists = malloc(sizeof(*c->lists) * (total ? total : 1));
    if (!c->lists)
        return err_nomem(err);
    for (int written = 0; written < 2; written++) /* implicit rules come last */
        for (uint32_t i = first; i < end; i++)
            if (g->rules[i].implicit != written && g->rules[i].policy == policy)
                enlist(c, i);
    return 0;
}

/* The rules of policy number `policy` are among first … end - 1. */
static int compile_policy(struct compiler *c, uint32_t policy, uint32_t first, uint32_t end,
                          struct bk_err *err)
{
    if (sort_rules(c, policy, first, end, err) < 0)
        return -1;
    c->b->policy = policy;
    c->no_default = c->built_in[0] = c->built_in[1] = GRAPH_NO_RULE;
    for (uint32_t op = 0; op < OP_COUNT; op++)
        c->entries[op] = GRAPH_NONE;
    for (uint32_t op = 0; op < OP_COUNT; op++)
        if (compile_with_parents(c, op, err) < 0)
            return -1;
    uint32_t *nodes = c->b->g->entry_nodes + (size_t)policy * OP_COUNT;
    memcpy(nodes, c->entries, OP_COUNT * sizeof(*nodes));
    return 0;
}

static int compile_all(struct compiler *c, struct bk_err *err)
{
    const struct graph *g = c->b->g;
    if (build_infer(c->b, err) < 0)
        return -1;
    uint32_t nrules = g->nrules; /* placeholder rules added on the way are not sorted */
    if (compile_policy(c, 0, 0, nrules, err) < 0)
        return -1;
    /* A nested policy's rules were added between its begin and end, so they are contiguous. */
    for (uint32_t p = 1, at = 0; p <= g->npolicies; p++) {
        while (at < nrules && g->rules[at].policy < p)
            at++;
        uint32_t end = at;
        while (end < nrules && g->rules[end].policy == p)
            end++;
        if (compile_policy(c, p, at, end, err) < 0)
            return -1;
        at = end;
    }
    return 0;
}

int graph_compile(struct graph_build *b, struct bk_err *err)
{
    uint32_t entries[OP_COUNT], tails[OP_COUNT], list_ends[OP_COUNT];
    struct compiler c = {.b = b, .entries = entries, .tails = tails, .list_ends = list_ends};
    struct graph *g = b->g;
    size_t n = ((size_t)g->npolicies + 1) * OP_COUNT;
    g->entry_nodes = arena_array(&g->arena, n, sizeof(*g->entry_nodes));
    if (g->entry_nodes && b->given)
        return nodes_enter(b, err);
    int r = g->entry_nodes ? compile_all(&c, err) : build_exhausted(b, err);
    free(c.stack);
    free(c.lists);
    return r;
}
