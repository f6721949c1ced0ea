/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What to write for each operation. The compiler starts an operation's list with a base (the
 * parent's list, a built-in tail, or an unfiltered rule, with implicit rules in front) and puts
 * written rules in front. So the operation's graph is read from its entry towards its base:
 *
 *     entry ─▶ piece ─▶ X ─▶ piece ─▶ … ─▶ base
 *                └──▶ decisions
 *
 * Each piece ends in decisions or in one node X below it, and becomes one rule per decision.
 * Without a base, one of the decisions is the unfiltered rule, and implicit rules are overridden.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/decompile-int.h"
#include "vocab/implied.h"

enum {
    MAX_LEAVES = 4096,
    MAX_WAIT = 4096, /* nodes of a last rule that is read as one */
    MAX_SPLITS = 4,
};

struct reading {
    struct dc *c;
    uint32_t policy;
    const bool *ops;
    uint32_t result[OP_COUNT];            /* each operation's entry once compiled again */
    struct dc_list lists[OP_COUNT];       /* evaluated first comes first */
    bool overridden[OP_COUNT];            /* its implicit rules had to be overridden */
    bool allowed[OP_COUNT];               /* rules so far allow it */
    bool lacks_own;                       /* a rule that its own rules imply is not there */
    uint32_t leaves[MAX_LEAVES], nleaves; /* of one piece */
};

/* ---- bases ---- */

static bool has_version(uint8_t versions, int version)
{
    return versions >> (version - 1) & 1;
}

/* Whether another operation's rules imply that rule. What its own imply comes in front of them. */
static bool is_inferred(const struct reading *r, const struct vocab_inferred *i)
{
    bool call = i->op == OP_SYSCALL_UNIX || i->op == OP_SYSCALL_MACH;
    return has_version(i->versions, r->c->version) && !r->c->no_inferred &&
           !(call && r->c->no_inference) && i->cause != i->op && r->allowed[i->cause];
}

/* Calls each for the tests of op's implicit and inferred rules, in the order they are put in
 * front. */
typedef int unwritten_fn(struct reading *r, const struct graph_test *t, void *arg);

static int each_unwritten(struct reading *r, uint32_t op, unwritten_fn *each, void *arg)
{
    if (r->policy)
        return 0;
    for (const struct vocab_implicit *i = vocab_implicit_rules; i->op != OP_NONE; i++) {
        struct graph_test t = {.filter = i->filter, .how = GRAPH_INT, .num = i->value};
        if (i->op == op && has_version(i->versions, r->c->version) && each(r, &t, arg) < 0)
            return -1;
    }
    for (const struct vocab_inferred *i = vocab_inferred_rules; i->op != OP_NONE; i++) {
        if (i->op != op || !is_inferred(r, i))
            continue;
        struct graph_test t = graph_test_inferred(i);
        if (each(r, &t, arg) < 0)
            return -1;
    }
    return 0;
}

static int filter_number(struct reading *r, const struct graph_test *t, uint32_t *test)
{
    struct graph_test *copy = arena_dup(&r->c->arena, t, sizeof(*t));
    return copy ? dc_test(r->c, copy, test) : err_nomem(r->c->err);
}

static int put_in_front(struct reading *r, const struct graph_test *t, void *arg)
{
    uint32_t *node = arg, test, allow;
    if (filter_number(r, t, &test) < 0 || dc_plain(r->c, true, &allow) < 0)
        return -1;
    return dc_filter(r->c, test, allow, *node, node);
}

/* The entry of op when no rule is written for it. */
static int tail_by_itself(struct reading *r, uint32_t op, uint32_t *node)
{
    const struct vocab_op_info *info = &vocab_ops[op];
    enum vocab_tail tail = (enum vocab_tail)info->tail[r->c->version - 1];
    if (tail == TAIL_PARENT && info->parent != OP_NONE) {
        *node = r->result[info->parent];
        return 0;
    }
    return dc_plain(r->c, tail == TAIL_ALLOW, node);
}

static int base_of(struct reading *r, uint32_t op, uint32_t tail, uint32_t *node)
{
    *node = tail;
    return each_unwritten(r, op, put_in_front, node);
}

/* Operations without written rules start where the compiler puts them. Parents come first. */
static int find_result(struct reading *r, uint32_t op)
{
    uint16_t path[OP_COUNT];
    uint32_t n = 0;
    for (uint32_t at = op; at != OP_NONE && r->result[at] == DC_NONE; at = vocab_ops[at].parent)
        path[n++] = (uint16_t)at;
    while (n) {
        uint16_t at = path[--n];
        if (!r->ops || r->ops[at]) {
            uint32_t entry = graph_policy_entry(r->c->g, r->policy, (enum vocab_op)at);
            r->result[at] = r->c->node_of[entry];
            continue;
        }
        uint32_t tail;
        if (tail_by_itself(r, at, &tail) < 0 || base_of(r, at, tail, &r->result[at]) < 0)
            return -1;
    }
    return 0;
}

/* ---- pieces ---- */

static int note_leaf(struct reading *r, uint32_t leaf)
{
    for (uint32_t i = 0; i < r->nleaves; i++)
        if (r->leaves[i] == leaf)
            return dc_spend(r->c, i);
    if (r->nleaves == MAX_LEAVES)
        return err_set(r->c->err, BK_E_LIMIT, "%s has more than %d kinds of decision",
                       vocab_ops[r->c->op].name, MAX_LEAVES);
    r->leaves[r->nleaves++] = leaf;
    return 0;
}

static uint32_t last_resort(const struct dc *c, uint32_t n)
{
    while (!dc_is_leaf(c, n))
        n = c->nodes[n].unmatch;
    return n;
}

/* Finds the node below n that everything passes through unless it ends in a decision: base or
 * another. DC_NONE: everything ends in decisions. A test that fails may lead to `wait` early, which
 * then is not a decision but the end of everything; DC_NONE: none does. */
static int walk_piece(struct reading *r, uint32_t n, uint32_t base, uint32_t wait, uint32_t *rest)
{
    struct dc *c = r->c;
    bool met_base = false;
    uint32_t walked = 0;
    r->nleaves = 0;
    *rest = DC_NONE;
    if (dc_walk_begin(c) < 0)
        return -1;
    for (uint32_t at = n;;) {
        const uint32_t kids[2] = {c->nodes[at].match, c->nodes[at].unmatch};
        for (int k = 0; k < 2; k++) {
            if (kids[k] == base || (k == 1 && kids[k] == wait)) {
                met_base = true;
            } else if (dc_is_leaf(c, kids[k])) {
                if (note_leaf(r, kids[k]) < 0)
                    return -1;
            } else if (c->mark[kids[k]] != c->stamp) {
                c->mark[kids[k]] = c->stamp;
                dc_heap_push(c, kids[k]);
            }
        }
        if (dc_spend(c, 1) < 0)
            return -1;
        if (c->nheap + met_base <= 1) {
            if (!met_base || wait == DC_NONE)
                *rest = met_base ? base : c->nheap ? c->heap[0] : DC_NONE;
            return 0;
        }
        if (wait != DC_NONE && ++walked > MAX_WAIT) {
            r->nleaves = 0;
            return 0;
        }
        at = dc_heap_pop(c);
    }
}

/* Reads the last rule as one, (allow op (require-all a b)), rather than as a deny for not-a in
 * front of an allow for b. */
static int find_piece(struct reading *r, uint32_t n, uint32_t base, uint32_t *rest)
{
    uint32_t wait = base == DC_NONE ? last_resort(r->c, n) : DC_NONE;
    if (wait != DC_NONE && walk_piece(r, n, base, wait, rest) < 0)
        return -1;
    uint32_t others = 0;
    for (uint32_t i = 0; wait != DC_NONE && i < r->nleaves; i++)
        others += r->leaves[i] != wait;
    if (wait != DC_NONE && (*rest != DC_NONE || others == 1))
        return 0;
    return walk_piece(r, n, base, DC_NONE, rest);
}

static int add_step(struct reading *r, struct dc_list *l, uint32_t leaf, uint32_t when)
{
    if (dc_room(r->c, &l->steps, &l->cap, l->n, sizeof(*l->steps)) < 0)
        return -1;
    l->steps[l->n++] = (struct dc_step){leaf, when};
    return 0;
}

/* Adds a rule for each decision of the piece above rest. A condition may overlap earlier ones,
 * because those are evaluated first: so conditions stay short. */
static int add_piece(struct reading *r, uint32_t n, uint32_t rest, struct dc_list *l)
{
    struct dc *c = r->c;
    uint32_t *ends = arena_array(&c->arena, r->nleaves + 1u, sizeof(*ends));
    bool *is_yes = arena_array(&c->arena, r->nleaves + 1u, sizeof(*is_yes));
    uint32_t nends = 0;
    if (!ends || !is_yes)
        return err_nomem(c->err);
    for (uint32_t i = 0; i < r->nleaves; i++)
        if (r->leaves[i] != rest)
            ends[nends++] = r->leaves[i];
    ends[nends] = rest;
    for (uint32_t i = 0; i < nends; i++) {
        uint32_t top, when;
        is_yes[i] = true;
        int made = nends == 1 ? dc_condition(c, n, ends[0], rest, 0, &when)
                              : dc_two_ends(c, n, ends, is_yes, nends + 1, &top);
        if (made == 0 && nends > 1)
            made = dc_condition(c, top, c->yes, c->no, 0, &when);
        if (made < 0 || add_step(r, l, ends[i], when) < 0)
            return -1;
    }
    return 0;
}

/* Reads rules from n down to base (DC_NONE: to a decision, which becomes *tail). */
static int read_rules(struct reading *r, uint32_t n, uint32_t base, struct dc_list *l,
                      uint32_t *tail)
{
    struct dc *c = r->c;
    while (n != base && !dc_is_leaf(c, n)) {
        uint32_t rest;
        if (find_piece(r, n, base, &rest) < 0)
            return -1;
        if (rest == DC_NONE)
            rest = last_resort(c, n);
        if (add_piece(r, n, rest, l) < 0)
            return -1;
        n = rest;
    }
    *tail = n == base ? DC_NONE : n;
    return 0;
}

/* ---- cases ---- */

static int read_case(struct reading *r, uint32_t entry, unsigned depth, struct dc_list *l,
                     uint32_t *tail);

static bool is_repeated(const struct dc_case *cases, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (cases[k].entry == cases[i].entry)
            return true;
    return false;
}

/* The tests of all cases that are the same as case i. */
static int any_of(struct reading *r, const struct dc_case *cases, uint32_t i, uint32_t n,
                  uint32_t *when)
{
    uint32_t *tests = arena_array(&r->c->arena, n, sizeof(*tests)), count = 0;
    if (!tests)
        return err_nomem(r->c->err);
    for (uint32_t k = i; k + 1 < n; k++)
        if (cases[k].entry == cases[i].entry &&
            dc_expr_test(r->c, cases[k].test, &tests[count++]) < 0)
            return -1;
    return dc_spend(r->c, n) < 0 ? -1 : dc_expr_make(r->c, GRAPH_ANY, tests, count, when);
}

/* Adds the rules of one case, under its condition. */
static int add_case(struct reading *r, uint32_t entry, uint32_t when, unsigned depth,
                    struct dc_list *l)
{
    struct dc_list inner = {0};
    uint32_t tail;
    if (read_case(r, entry, depth, &inner, &tail) < 0)
        return -1;
    for (uint32_t i = 0; i < inner.n; i++) {
        const uint32_t both[] = {when, inner.steps[i].when};
        uint32_t all;
        if (dc_expr_make(r->c, GRAPH_ALL, both, 2, &all) < 0 ||
            add_step(r, l, inner.steps[i].leaf, all) < 0)
            return -1;
    }
    return add_step(r, l, tail, when);
}

/* Splits a graph that cannot be read as it is by the values of the filter that it tests most. */
static int split(struct reading *r, uint32_t entry, unsigned depth, struct dc_list *l,
                 uint32_t *tail)
{
    struct dc_case *cases;
    uint32_t n, when;
    if (dc_cases(r->c, entry, &cases, &n) < 0)
        return -1;
    if (n < 2)
        return err_set(r->c->err, BK_E_LIMIT, "the graph of %s is too entangled to be written",
                       vocab_ops[r->c->op].name);
    for (uint32_t i = 0; i + 1 < n; i++)
        if (!is_repeated(cases, i) && (any_of(r, cases, i, n, &when) < 0 ||
                                       add_case(r, cases[i].entry, when, depth + 1, l) < 0))
            return -1;
    return read_case(r, cases[n - 1].entry, depth + 1, l, tail);
}

static int read_case(struct reading *r, uint32_t entry, unsigned depth, struct dc_list *l,
                     uint32_t *tail)
{
    uint32_t had = l->n, plain;
    r->c->nparts = 0;
    if (dc_undo_shortcuts(r->c, entry, DC_NONE, &plain) == 0 &&
        read_rules(r, plain, DC_NONE, l, tail) == 0)
        return 0;
    if (depth == MAX_SPLITS || r->c->err->code != BK_E_LIMIT)
        return -1;
    l->n = had;
    return split(r, entry, depth, l, tail);
}

/* ---- operations ---- */

/* Where the final run of allow rules starts. */
static uint32_t last_run(const struct dc_list *l, uint32_t end, uint32_t allow)
{
    while (end && l->steps[end - 1].leaf == allow)
        end--;
    return end;
}

struct override {
    struct dc_list *list;
    uint32_t entry, leaf;     /* the operation's, and its tail */
    uint32_t allow, run, end; /* steps that allow, right before the tail */
};

/* An implicit rule would be evaluated before the tail. If it could decide, the tail's decision goes
 * before it, unless the last rules already cover it. */
static int override(struct reading *r, const struct graph_test *t, void *arg)
{
    const struct override *o = arg;
    uint32_t test, when;
    if (filter_number(r, t, &test) < 0 || dc_expr_test(r->c, test, &when) < 0)
        return -1;
    for (uint32_t i = o->run; i < o->end; i++)
        if (o->list->steps[i].when == when)
            return 0;
    if (!dc_reaches_with(r->c, o->entry, o->leaf, test))
        return 0;
    return add_step(r, o->list, o->leaf, when);
}

/* Omits a final rule that the compiler adds anyway. */
static int leave_out(struct reading *r, const struct graph_test *t, void *arg)
{
    struct override *o = arg;
    struct dc_list *l = o->list;
    uint32_t test, when, n = o->run;
    if (filter_number(r, t, &test) < 0 || dc_expr_test(r->c, test, &when) < 0)
        return -1;
    for (uint32_t i = o->run; i < l->n; i++)
        if (l->steps[i].when != when)
            l->steps[n++] = l->steps[i];
    l->n = n;
    return dc_spend(r->c, n - o->run);
}

static int read_unbased(struct reading *r, uint32_t op, uint32_t entry, bool by_cases,
                        struct dc_list *l, uint32_t *tail)
{
    struct override o = {.list = l, .entry = entry};
    int done = by_cases ? split(r, o.entry, 0, l, tail) : read_rules(r, o.entry, DC_NONE, l, tail);
    if (done < 0 || dc_plain(r->c, true, &o.allow) < 0)
        return -1;
    o.leaf = *tail;
    o.end = l->n;
    o.run = last_run(l, l->n, o.allow);
    if (*tail != o.allow && each_unwritten(r, op, override, &o) < 0)
        return -1;
    r->overridden[op] = l->n > o.end;
    return l->n == o.end ? each_unwritten(r, op, leave_out, &o) : 0;
}

/* Finds the base that ends op's rules (DC_NONE: none), and its unfiltered decision, if any. */
static int find_base(struct reading *r, uint32_t op, uint32_t itself, uint32_t *base,
                     uint32_t *tail)
{
    struct dc *c = r->c;
    uint32_t entry = r->result[op];
    bool root = op == OP_DEFAULT && r->policy == 0;
    *tail = DC_NONE;
    if (base_of(r, op, itself, base) < 0)
        return -1;
    if (!root && (*base == entry || !dc_is_leaf(c, *base)) && dc_reaches(c, entry, *base))
        return 0;
    /* an unfiltered rule, possibly with implicit ones in front */
    *tail = last_resort(c, entry);
    if (base_of(r, op, *tail, base) < 0)
        return -1;
    if (dc_is_leaf(c, *base) || !dc_reaches(c, entry, *base))
        *base = DC_NONE;
    return 0;
}

/* How hard to try: as it is, without shortcuts above the base, without any and without base, or by
 * cases. */
enum effort { AS_IS, ABOVE_BASE, WHOLE, BY_CASES, EFFORTS };

static int read_op(struct reading *r, uint32_t op, enum effort effort, struct dc_list *l)
{
    struct dc *c = r->c;
    uint32_t entry = r->result[op], itself, base, tail, end;
    bool root = op == OP_DEFAULT && r->policy == 0;
    l->n = 0;
    r->overridden[op] = false;
    if (tail_by_itself(r, op, &itself) < 0 || find_base(r, op, itself, &base, &tail) < 0)
        return -1;
    if (effort >= WHOLE && base != DC_NONE) {
        tail = last_resort(c, entry);
        base = DC_NONE;
    }
    if (effort != AS_IS && effort != BY_CASES && dc_undo_shortcuts(c, entry, base, &entry) < 0)
        return -1;
    int done = base != DC_NONE ? read_rules(r, entry, base, l, &end)
                               : read_unbased(r, op, entry, effort == BY_CASES, l, &tail);
    if (done < 0)
        return -1;
    return tail != DC_NONE && (tail != itself || root) ? add_step(r, l, tail, DC_NONE) : 0;
}

/* Tries again if a condition gets too long. */
static int read_somehow(struct reading *r, uint32_t op, struct dc_list *l)
{
    int done = -1;
    uint64_t work = r->c->work;
    for (int effort = AS_IS; effort < EFFORTS && done < 0; effort++) {
        r->c->work = work;
        r->c->nparts = 0;
        done = read_op(r, op, (enum effort)effort, l);
        if (done < 0 && r->c->err->code != BK_E_LIMIT)
            return -1;
    }
    return done;
}

static bool allows(const struct reading *r, const struct dc_list *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (dc_leaf_at(r->c, l->steps[i].leaf)->allow)
            return true;
    return false;
}

/* Whether other operations' rules imply rules for op. */
static bool brought_along(const struct reading *r, uint32_t op)
{
    for (const struct vocab_inferred *i = vocab_inferred_rules; i->op != OP_NONE; i++)
        if (i->op == op && r->policy == 0 && i->cause != op &&
            has_version(i->versions, r->c->version))
            return true;
    return false;
}

/* The compiler puts a rule that op's own rules imply in front of them. So it must decide whenever
 * its test holds, and need not be written. */
static int leave_out_own(struct reading *r, uint32_t op, const struct vocab_inferred *i)
{
    struct dc_list *l = &r->lists[op];
    struct graph_test t = graph_test_inferred(i);
    uint32_t test, when, allow, others = 0, n = 0;
    if (filter_number(r, &t, &test) < 0 || dc_expr_test(r->c, test, &when) < 0 ||
        dc_plain(r->c, true, &allow) < 0 || dc_spend(r->c, l->n) < 0)
        return -1;
    for (uint32_t k = 0; k < l->n; k++)
        others += l->steps[k].when != DC_NONE && l->steps[k].when != when;
    if (!others)
        return 0;
    for (uint32_t leaf = 0; leaf < r->c->nnodes && !r->lacks_own; leaf++)
        r->lacks_own = dc_is_leaf(r->c, leaf) && leaf != allow &&
                       dc_reaches_with(r->c, r->result[op], leaf, test);
    for (uint32_t k = 0; k < l->n && !r->lacks_own; k++)
        if (l->steps[k].when != when)
            l->steps[n++] = l->steps[k];
    l->n = r->lacks_own ? l->n : n;
    return 0;
}

static int write_op(struct reading *r, uint32_t op)
{
    r->c->op = (enum vocab_op)op;
    if (r->ops && !r->ops[op])
        return 0;
    if (read_somehow(r, op, &r->lists[op]) < 0)
        return -1;
    for (const struct vocab_inferred *i = vocab_inferred_rules; i->op != OP_NONE; i++)
        if (i->op == op && i->cause == op && r->policy == 0 && !r->c->no_inferred &&
            has_version(i->versions, r->c->version) && leave_out_own(r, op, i) < 0)
            return -1;
    r->allowed[op] = allows(r, &r->lists[op]);
    return 0;
}

/* ---- all operations ---- */

static bool is_here(const struct reading *r, uint32_t op)
{
    return vocab_ops[op].message_filter == (r->policy > 0);
}

static int read_all(struct reading *r)
{
    for (uint32_t op = 0; op < OP_COUNT; op++)
        r->result[op] = DC_NONE;
    for (uint32_t op = 0; op < OP_COUNT; op++)
        if (find_result(r, op) < 0)
            return -1;
    /* those that other operations' rules imply come last */
    for (int late = 0; late < 2; late++)
        for (uint32_t op = 0; op < OP_COUNT; op++)
            if (is_here(r, op) && brought_along(r, op) == late && write_op(r, op) < 0)
                return -1;
    return 0;
}

/* Whether the inferred rules are there. */
static bool inference_fits(const struct reading *r)
{
    for (uint32_t op = 0; op < OP_COUNT; op++)
        if (r->overridden[op] && brought_along(r, op))
            return false;
    return true;
}

int dc_rules_make(struct dc *c, uint32_t policy, const bool *ops, struct dc_rules *out)
{
    struct reading *r = calloc(1, sizeof(*r));
    if (!r)
        return err_nomem(c->err);
    *r = (struct reading){.c = c, .policy = policy, .ops = policy ? NULL : ops};
    int made = read_all(r);
    if (made == 0 && r->lacks_own) {
        c->no_inferred = true;
        made = read_all(r);
    } else if (made == 0 && !inference_fits(r)) {
        c->no_inference = true;
        made = read_all(r);
    }
    if (made == 0)
        made = dc_rules_join(c, r->lists, out);
    free(r);
    return made;
}

/* ---- versions ---- */

int dc_version_guess(struct dc *c, const bool *ops)
{
    struct reading *r = calloc(1, sizeof(*r));
    uint32_t best = 0, fewest = UINT32_MAX;
    if (!r)
        return err_nomem(c->err);
    *r = (struct reading){.c = c, .ops = ops};
    int failed = 0;
    for (int v = 1; v <= VOCAB_PROFILE_VERSIONS && !failed; v++) {
        uint32_t differ = 0;
        c->version = v;
        for (uint32_t op = 0; op < OP_COUNT; op++)
            r->result[op] = DC_NONE;
        for (uint32_t op = 0; op < OP_COUNT && !failed; op++) {
            uint32_t tail = 0, base = 0;
            failed = find_result(r, op) < 0 || tail_by_itself(r, op, &tail) < 0 ||
                     base_of(r, op, tail, &base) < 0;
            differ += !failed && !vocab_ops[op].message_filter && base != r->result[op];
        }
        if (differ < fewest) {
            fewest = differ;
            best = (uint32_t)v;
        }
    }
    c->version = (int)best;
    free(r);
    return failed ? -1 : 0;
}
