/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A graph → a compiled profile, in the manner of Apple's compiler: equal nodes are merged before
 * neighbouring alternatives are joined, and not again afterwards. Operations are written in the
 * order of their ids, children before parents, match before unmatch. The file has the nodes in
 * reverse order.
 */

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "format/encode-int.h"

enum { ARENA_BASE = 16 << 20, ARENA_PER_NODE = 64 << 10, NODES_MAX = 65535 };

/* ---- equal nodes ---- */

bool encode_is_plain_allow(const struct graph_node *n)
{
    return n->kind == GRAPH_NODE_DECISION && n->allow && !n->flags && !n->nmods;
}

static bool same_decision(const struct graph *g, uint32_t a, uint32_t b)
{
    const struct graph_node *x = graph_node_at(g, a), *y = graph_node_at(g, b);
    if (x->allow != y->allow || x->flags != y->flags || x->nmods != y->nmods)
        return false;
    for (uint32_t i = 0; i < x->nmods; i++) {
        const struct graph_mod *m = graph_mod_at(g, x->mods + i), *k = graph_mod_at(g, y->mods + i);
        if (m->id != k->id || m->num != k->num || !m->str != !k->str ||
            (m->str && strcmp(m->str, k->str) != 0))
            return false;
    }
    return true;
}

struct cons {
    uint32_t *slots; /* node + 1 */
    uint32_t mask;
    uint32_t *decisions;
    uint32_t ndecisions;
};

static uint32_t cons_decision(const struct encoder *e, struct cons *c, uint32_t node)
{
    for (uint32_t i = 0; i < c->ndecisions; i++)
        if (same_decision(e->g, c->decisions[i], node))
            return c->decisions[i];
    c->decisions[c->ndecisions++] = node;
    return node;
}

static uint32_t cons_filter(const struct encoder *e, struct cons *c, uint32_t node)
{
    const struct graph_node *n = graph_node_at(e->g, node);
    uint32_t match = e->canon[n->match], unmatch = e->canon[n->unmatch];
    if (match == unmatch)
        return match;
    uint32_t words[] = {n->test, match, unmatch};
    uint32_t k = encode_hash((const uint8_t *)words, sizeof(words)) & c->mask;
    for (; c->slots[k]; k = (k + 1) & c->mask) {
        const struct graph_node *o = graph_node_at(e->g, c->slots[k] - 1);
        if (o->test == n->test && e->canon[o->match] == match && e->canon[o->unmatch] == unmatch)
            return c->slots[k] - 1;
    }
    c->slots[k] = node + 1;
    return node;
}

/* A compiled profile's nodes are not merged. */
static bool was_compiled(const struct graph *g)
{
    return graph_rule_count(g) && graph_rule_at(g, 0)->compiled;
}

static int find_equal(struct encoder *e, struct bk_err *err)
{
    uint32_t n = graph_node_count(e->g), size = 64;
    while (size < 2 * n)
        size *= 2;
    struct cons c = {.mask = size - 1};
    c.slots = arena_array(&e->arena, size, sizeof(*c.slots));
    c.decisions = arena_array(&e->arena, n + 1u, sizeof(*c.decisions));
    if (!c.slots || !c.decisions)
        return encode_nomem(e, err);
    memset(c.slots, 0, size * sizeof(*c.slots));
    bool apart = was_compiled(e->g);
    for (uint32_t i = 0; i < n; i++) {
        const struct graph_node *node = graph_node_at(e->g, i);
        if (apart)
            e->canon[i] =
                node->kind == GRAPH_NODE_FILTER && e->canon[node->match] == e->canon[node->unmatch]
                    ? e->canon[node->match]
                    : i;
        else
            e->canon[i] =
                node->kind == GRAPH_NODE_FILTER ? cons_filter(e, &c, i) : cons_decision(e, &c, i);
        e->placed[i] = NOT_PLACED;
    }
    return 0;
}

/* ---- message filters ---- */

static bool has_op(const struct encoder *e, uint16_t op)
{
    return blob_version_op(e->version, op) >= 0;
}

/* Which operations of a message filter do more than allow. */
static uint32_t filtered_ops(const struct encoder *e, uint32_t policy, uint16_t *op,
                             uint32_t *entry)
{
    uint32_t n = 0;
    for (uint16_t m = 0; m < OP_COUNT; m++) {
        if (!vocab_ops[m].message_filter || !has_op(e, m))
            continue;
        uint32_t at = e->canon[graph_policy_entry(e->g, policy, (enum vocab_op)m)];
        if (encode_is_plain_allow(node_of(e, at)))
            continue;
        n++;
        *op = (uint16_t)blob_version_op(e->version, m);
        *entry = at;
    }
    return n;
}

const struct policy *encode_policy(const struct encoder *e, const struct graph_node *n,
                                   uint32_t *index)
{
    for (uint32_t i = 0; i < n->nmods; i++) {
        const struct graph_mod *m = graph_mod_at(e->g, n->mods + i);
        for (uint32_t k = 0; m->id == MOD_MESSAGE_FILTER && k < e->npolicies; k++)
            if (e->policies[k].from == m->num) {
                *index = k;
                return &e->policies[k];
            }
    }
    return NULL;
}

/* Adds the decision's message filter to the table, unless it only allows. */
static int enter_policy(struct encoder *e, const struct graph_node *n, struct bk_err *err)
{
    uint32_t index;
    for (uint32_t i = 0; i < n->nmods; i++) {
        const struct graph_mod *m = graph_mod_at(e->g, n->mods + i);
        struct policy p = {0};
        if (m->id != MOD_MESSAGE_FILTER || encode_policy(e, n, &index))
            continue;
        p.from = (uint32_t)m->num;
        uint32_t count = filtered_ops(e, p.from, &p.op, &p.entry);
        if (count > 1)
            return err_set(err, BK_E_INPUT,
                           "a message filter for %u operations: how they are written together is "
                           "not established",
                           count);
        if (!count)
            continue;
        struct policy *all =
            encode_room(e, e->policies, e->npolicies, &e->cap_policies, sizeof(*all));
        if (!all)
            return encode_nomem(e, err);
        e->policies = all;
        e->policies[e->npolicies++] = p;
    }
    return 0;
}

/* ---- making nodes ---- */

int encode_new_node(struct encoder *e, const struct out_node *n, uint32_t *number,
                    struct bk_err *err)
{
    struct out_node *all = encode_room(e, e->nodes, e->nnodes, &e->cap_nodes, sizeof(*all));
    if (!all)
        return encode_nomem(e, err);
    if (e->nnodes == NODES_MAX)
        return err_set(err, BK_E_LIMIT, "the policy takes more than %d nodes", NODES_MAX);
    e->nodes = all;
    e->nodes[e->nnodes] = *n;
    *number = e->nnodes++;
    return 0;
}

int encode_new_filter(struct encoder *e, struct wire w, uint32_t match, uint32_t unmatch,
                      uint32_t *number, struct bk_err *err)
{
    struct out_node n = {
        .bytes = {0, w.filter, (uint8_t)w.arg, (uint8_t)(w.arg >> 8)},
        .refers = w.refers,
        .match = match,
        .unmatch = unmatch,
    };
    return encode_new_node(e, &n, number, err);
}

static int place_decision(struct encoder *e, uint32_t canon, struct bk_err *err)
{
    struct out_node n = {.terminal = true, .bytes = {1}};
    if (e->era->decision(e, node_of(e, canon), &n, err) < 0)
        return -1;
    return encode_new_node(e, &n, &e->placed[canon], err);
}

/* Alternatives: nodes linked by unmatch edges whose match edges lead to the same node. */
static uint32_t row_end(const struct encoder *e, uint32_t canon)
{
    uint32_t match = match_of(e, canon), at = unmatch_of(e, canon);
    while (is_filter(e, at) && match_of(e, at) == match &&
           !(e->frugal && e->placed[at] != NOT_PLACED))
        at = unmatch_of(e, at);
    return at;
}

/* A row's tests, each once, with their rules. */
struct row {
    struct row_test {
        const struct graph_test *test;
        uint32_t rule, at;
    } * tests;
    uint32_t n;
};

static int by_rule(const void *a, const void *b)
{
    const struct row_test *x = a, *y = b;
    return x->rule != y->rule ? (x->rule < y->rule ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

/* Numbers of one filter that several rules name come in the order of the rules, although a later
 * rule is asked first. */
static void sort_numbers(struct row *r)
{
    for (uint32_t i = 0, k; i < r->n; i = k) {
        for (k = i + 1; k < r->n && r->tests[i].test->how == GRAPH_INT &&
                        r->tests[k].test->how == GRAPH_INT &&
                        r->tests[k].test->filter == r->tests[i].test->filter;)
            k++;
        qsort(r->tests + i, k - i, sizeof(*r->tests), by_rule);
    }
}

static int read_row(struct encoder *e, uint32_t canon, uint32_t end, struct row *r,
                    struct bk_err *err)
{
    uint32_t n = 0;
    for (uint32_t at = canon; at != end; at = unmatch_of(e, at))
        n++;
    *r = (struct row){.tests = arena_array(&e->arena, n, sizeof(*r->tests))};
    if (!r->tests)
        return encode_nomem(e, err);
    e->row++;
    for (uint32_t at = canon; at != end; at = unmatch_of(e, at)) {
        uint32_t test = node_of(e, at)->test;
        if (e->asked[test] == e->row) /* a child repeats its parent's test */
            continue;
        e->asked[test] = e->row;
        r->tests[r->n] = (struct row_test){graph_test_at(e->g, test), node_of(e, at)->rule, r->n};
        r->n++;
    }
    if (!was_compiled(e->g))
        sort_numbers(r);
    return 0;
}

/* Makes the nodes of a row: match and *number are nodes, *number the one behind the row. */
static int make_row(struct encoder *e, uint32_t canon, uint32_t end, uint32_t match,
                    uint32_t *number, struct bk_err *err)
{
    struct row r;
    struct wires w = {0};
    if (read_row(e, canon, end, &r, err) < 0)
        return -1;
    const struct graph_test **tests = arena_array(&e->arena, r.n, sizeof(*tests));
    if (!tests)
        return encode_nomem(e, err);
    for (uint32_t i = 0; i < r.n; i++)
        tests[i] = r.tests[i].test;
    if (e->era->tests(e, tests, r.n, &w, err) < 0)
        return -1;
    uint32_t past = *number;
    for (uint32_t i = w.n; i-- > 0;) {
        uint32_t yes = w.at[i].names ? *number : match, no = w.at[i].names ? past : *number;
        past = no;
        if (encode_new_filter(e, w.at[i], yes, no, number, err) < 0)
            return -1;
    }
    return 0;
}

static bool row_is_of(const struct encoder *e, uint32_t canon, uint32_t end, bool paths)
{
    for (; canon != end; canon = unmatch_of(e, canon)) {
        uint16_t filter = graph_test_at(e->g, node_of(e, canon)->test)->filter;
        if (paths ? vocab_filters[filter].arg != ARG_PATH : filter != FILTER_VNODE_TYPE)
            return false;
    }
    return true;
}

/* Whether a row of paths leads to one about the kind of file, both of which must hold: the kind is
 * asked first, because that is cheaper. */
static bool asks_kind_first(const struct encoder *e, uint32_t canon, uint32_t end)
{
    uint32_t kind = match_of(e, canon);
    return e->era->lists && !e->frugal && !was_compiled(e->g) && is_filter(e, kind) &&
           row_end(e, kind) == end && row_is_of(e, canon, end, true) &&
           row_is_of(e, kind, end, false);
}

static int place_row(struct encoder *e, uint32_t canon, uint32_t end, struct bk_err *err)
{
    uint32_t kind = match_of(e, canon), number = e->placed[end];
    if (!asks_kind_first(e, canon, end)) {
        if (make_row(e, canon, end, e->placed[kind], &number, err) < 0)
            return -1;
    } else {
        uint32_t paths = number;
        if (make_row(e, canon, end, e->placed[match_of(e, kind)], &paths, err) < 0 ||
            make_row(e, kind, end, paths, &number, err) < 0)
            return -1;
    }
    e->placed[canon] = number;
    return 0;
}

/* Returns what must be placed before this node, or NOT_PLACED. */
static int waits_for(struct encoder *e, uint32_t canon, uint32_t *first, struct bk_err *err)
{
    const struct graph_node *n = node_of(e, canon);
    uint32_t index;
    *first = NOT_PLACED;
    if (n->kind == GRAPH_NODE_DECISION) {
        if (enter_policy(e, n, err) < 0)
            return -1;
        const struct policy *p = encode_policy(e, n, &index);
        if (p && e->placed[p->entry] == NOT_PLACED)
            *first = p->entry;
        return 0;
    }
    uint32_t match = match_of(e, canon), end = row_end(e, canon);
    if (asks_kind_first(e, canon, end))
        match = match_of(e, match);
    *first = e->placed[match] == NOT_PLACED ? match
             : e->placed[end] == NOT_PLACED ? end
                                            : NOT_PLACED;
    return 0;
}

int encode_place(struct encoder *e, uint32_t canon, struct bk_err *err)
{
    uint32_t depth = 0, first;
    if (e->placed[canon] == NOT_PLACED)
        e->stack[depth++] = canon;
    while (depth) {
        uint32_t at = e->stack[depth - 1];
        if (waits_for(e, at, &first, err) < 0)
            return -1;
        if (first != NOT_PLACED) {
            if (depth == graph_node_count(e->g))
                return err_set(err, BK_E_BUG, "a message filter contains itself");
            e->stack[depth++] = first;
            continue;
        }
        int r =
            is_filter(e, at) ? place_row(e, at, row_end(e, at), err) : place_decision(e, at, err);
        if (r < 0)
            return -1;
        depth--;
    }
    return 0;
}

/* ---- operations ---- */

/* Whether a rule about the operation is kept: in its own entry, or in that of a descendant, which
 * starts with the parent's decision. */
static bool is_kept(const struct encoder *e, uint16_t op)
{
    for (uint16_t k = 0; k < OP_COUNT; k++)
        if (has_op(e, k) && vocab_op_is_within((enum vocab_op)k, (enum vocab_op)op))
            return true;
    return false;
}

/* A rule about an operation that the version lacks would be lost silently. */
static int lost_operation(const struct encoder *e, enum vocab_op op, struct bk_err *err)
{
    return err_set(err, BK_E_INPUT, "operation %s does not exist in %s", vocab_ops[op].name,
                   e->version->name);
}

/* Names that 14.4.1 still accepts, for operations that it no longer has. */
static bool is_gone(uint16_t op)
{
    return op == OP_MACH_PER_USER_LOOKUP || op == OP_IPC_POSIX_SHM_READ_METADATA ||
           op == OP_SYSTEM_CHUD || op == OP_QTN_DOWNLOAD;
}

static int check_rules(const struct encoder *e, struct bk_err *err)
{
    for (uint32_t i = 0; i < graph_rule_count(e->g); i++) {
        const struct graph_rule_info *r = graph_rule_at(e->g, i);
        for (uint32_t k = 0; !r->implicit && !r->is_default && k < r->nops; k++)
            if (!is_kept(e, r->ops[k]) && !is_gone(r->ops[k]))
                return lost_operation(e, (enum vocab_op)r->ops[k], err);
    }
    /* a compiled profile has no rules, and nothing is added to it */
    for (uint16_t op = 0; was_compiled(e->g) && op < OP_COUNT; op++) {
        uint16_t up = vocab_ops[op].parent;
        if (up != OP_NONE && !vocab_ops[op].message_filter && !has_op(e, op) &&
            e->canon[graph_entry(e->g, (enum vocab_op)op)] !=
                e->canon[graph_entry(e->g, (enum vocab_op)up)])
            return lost_operation(e, (enum vocab_op)op, err);
    }
    return 0;
}

static int place_ops(struct encoder *e, struct bk_err *err)
{
    for (uint32_t id = 0; id < e->version->nops; id++) {
        uint16_t op = OP_DEFAULT;
        for (uint16_t k = 0; k < OP_COUNT; k++)
            if (blob_version_op(e->version, k) == (int)id)
                op = k;
        uint32_t canon = e->canon[graph_entry(e->g, (enum vocab_op)op)];
        bool done = false;
        if (encode_numbers(e, canon, &done, err) < 0 ||
            (!done && encode_place(e, canon, err) < 0)) {
            if (err && !err->hint[0])
                err_hint(err, "in the rules for %s", vocab_ops[op].name);
            return -1;
        }
        e->ops[id] = e->placed[canon];
    }
    return 0;
}

void encode_nodes(const struct encoder *e, uint32_t first, struct buf *out)
{
    for (uint32_t i = e->nnodes; i-- > 0;) {
        const struct out_node *n = &e->nodes[i];
        buf_add(out, (const char *)n->bytes, n->terminal ? 8 : 4);
        if (n->terminal)
            continue;
        put16(out, first + e->nnodes - 1 - n->match);
        put16(out, first + e->nnodes - 1 - n->unmatch);
    }
}

static int encode(struct encoder *e, struct buf *out, struct bk_err *err)
{
    uint32_t n = graph_node_count(e->g);
    e->canon = arena_array(&e->arena, n + 1u, sizeof(*e->canon));
    e->placed = arena_array(&e->arena, n + 1u, sizeof(*e->placed));
    e->stack = arena_array(&e->arena, n + 1u, sizeof(*e->stack));
    e->asked = arena_array(&e->arena, graph_test_count(e->g) + 1u, sizeof(*e->asked));
    if (!e->canon || !e->placed || !e->stack || !e->asked)
        return encode_nomem(e, err);
    memset(e->asked, 0, (graph_test_count(e->g) + 1u) * sizeof(*e->asked));
    if (find_equal(e, err) < 0 || check_rules(e, err) < 0 || place_ops(e, err) < 0)
        return -1;
    return e->era->write(e, out, err);
}

int blob_encode(const struct graph *g, const struct blob_version *version, struct buf *out,
                struct bk_err *err)
{
    int r = -1;
    struct bk_err mine = {0};
    for (int frugal = 0; frugal < 2; frugal++) {
        struct encoder e = {.g = g, .version = version, .frugal = frugal};
        e.era = version->era == BLOB_A ? &encode_era_a : &encode_era_e;
        arena_init(&e.arena, ARENA_BASE + (size_t)graph_node_count(g) * ARENA_PER_NODE);
        mine = (struct bk_err){0};
        r = encode(&e, out, &mine);
        buf_free(&e.pool.bytes);
        arena_free(&e.arena);
        if (r == 0 || mine.code != BK_E_LIMIT)
            break;
    }
    if (r < 0 && err)
        *err = mine;
    return r;
}
