/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* From operations' lists to rules: rules shared by several operations of a family are written
 * once. */

#include <string.h>

#include "analyze/decompile-int.h"
#include "graph/build.h"

enum { MAX_ALIGNED = 2048 };

/* Merges neighbours with the same decision into one rule. */
static int join_neighbours(struct dc *c, struct dc_list *l)
{
    uint32_t n = 0, *kids = arena_array(&c->arena, l->n + 1u, sizeof(*kids));
    if (!kids)
        return err_nomem(c->err);
    for (uint32_t i = 0; i < l->n;) {
        uint32_t end = i, k = 0;
        while (end < l->n && l->steps[end].leaf == l->steps[i].leaf &&
               l->steps[end].when != DC_NONE)
            end++;
        if (end == i) {
            l->steps[n++] = l->steps[i++];
            continue;
        }
        for (uint32_t at = i; at < end; at++)
            kids[k++] = l->steps[at].when;
        struct dc_step joined = l->steps[i];
        if (dc_expr_make(c, GRAPH_ANY, kids, k, &joined.when) < 0)
            return -1;
        l->steps[n++] = joined;
        i = end;
    }
    l->n = n;
    return 0;
}

static uint16_t family_of(uint32_t op)
{
    while (vocab_ops[op].parent != OP_NONE && vocab_ops[vocab_ops[op].parent].parent != OP_NONE)
        op = vocab_ops[op].parent;
    return (uint16_t)op;
}

static bool same_step(struct dc_step a, struct dc_step b)
{
    return a.leaf == b.leaf && a.when == b.when;
}

static int insert_rule(struct dc *c, struct dc_rules *rules, uint32_t at, uint32_t op,
                       struct dc_step step)
{
    uint16_t *ops = arena_array(&c->arena, OP_COUNT, sizeof(*ops));
    if (!ops)
        return err_nomem(c->err);
    if (dc_room(c, &rules->at, &rules->cap, rules->n, sizeof(*rules->at)) < 0)
        return -1;
    memmove(rules->at + at + 1, rules->at + at, (rules->n - at) * sizeof(*rules->at));
    ops[0] = (uint16_t)op;
    rules->at[at] = (struct dc_rule){.ops = ops, .nops = 1, .step = step, .family = family_of(op)};
    rules->n++;
    return dc_spend(c, rules->n - at);
}

/* Returns the first rule from `at` on that equals one of the operation's steps below i, else the
 * end: what comes before that step belongs in front of it. */
static uint32_t place_before(const struct dc_rules *rules, const struct dc_list *l, uint32_t i,
                             uint32_t at)
{
    for (; at < rules->n; at++)
        for (uint32_t k = i; k-- > 0;)
            if (same_step(rules->at[at].step, l->steps[k]))
                return at;
    return at;
}

/* The order of rules for different operations does not matter, so an operation joins equal rules of
 * its family as long as its own order is kept. */
static int align(struct dc *c, const struct dc_list *l, struct dc_rules *rules, uint32_t family,
                 uint32_t op)
{
    uint32_t at = family;
    for (uint32_t i = l->n; i-- > 0;) {
        uint32_t found = at;
        while (found < rules->n && !same_step(rules->at[found].step, l->steps[i]))
            found++;
        if (dc_spend(c, found - at) < 0)
            return -1;
        if (found < rules->n && found - at < MAX_ALIGNED) {
            rules->at[found].ops[rules->at[found].nops++] = (uint16_t)op;
            at = found + 1;
            continue;
        }
        at = place_before(rules, l, i, at);
        if (dc_spend(c, (uint64_t)(rules->n - at) * i) < 0 ||
            insert_rule(c, rules, at++, op, l->steps[i]) < 0)
            return -1;
    }
    return 0;
}

int dc_rules_join(struct dc *c, struct dc_list lists[OP_COUNT], struct dc_rules *out)
{
    for (uint32_t head = 0; head < OP_COUNT; head++) {
        uint32_t first = out->n;
        if (family_of(head) != head)
            continue;
        for (uint32_t op = 0; op < OP_COUNT; op++)
            if (family_of(op) == head &&
                (join_neighbours(c, &lists[op]) < 0 || align(c, &lists[op], out, first, op) < 0))
                return -1;
    }
    return 0;
}
