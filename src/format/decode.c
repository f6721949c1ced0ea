/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * From an opened blob to a policy graph. Nodes are made bottom up, in postorder; reaching a node
 * that is still being walked means a cycle. A filter node becomes one test per alternative of its
 * argument, all with the same match edge.
 *
 * Operations that the version lacks start where their parent does. Message-filter operations are in
 * nested policies: each inlined modifier 19 names one operation and one entry of the table.
 */

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "format/decode-int.h"
#include "graph/words.h"
#include "graph/regex/regex.h"

enum {
    GRAPH_BYTES_BASE = 8 << 20,
    GRAPH_BYTES_PER_BYTE = 4096,
    KEPT_MAX = 1024,
    NO_KEY = 0xffffffffu,
    UNMADE = 0xffffffffu,
    BEING_MADE = 0xfffffffeu,
};

/* ---- tests ---- */

/* A regex can be encoded in many ways, so its original bytes are kept for encoding it again. */
static int keep_program(struct decoder *d, const struct graph_test *t, const struct blob_node *n,
                        struct bk_err *err)
{
    struct span s;
    bool by_index = n->filter & BLOB_REGEX_FORM || d->b->era == BLOB_A;
    if (!d->apart || !by_index || t->how != GRAPH_REGEX || d->nkept++ >= KEPT_MAX)
        return 0;
    OWN(buf) struct buf key = {0}, value = {0};
    if (regex_span(d->b, n->arg, &s, err) < 0)
        return -1;
    regex_note_key(t, s.n < 4 ? 0 : get32_big(s.p), &key);
    for (size_t i = 0; i < s.n; i++)
        buf_fmt(&value, "%02x", s.p[i]);
    if (!buf_ok(&key) || !buf_ok(&value))
        return err_nomem(err);
    return graph_build_note(d->build, key.s, value.s, err);
}

/* ---- entitlements ---- */

static bool is_value(const struct decoder *d, const struct blob_node *n)
{
    enum vocab_filter f = n->terminal ? FILTER_NONE : blob_filter_name(d->b, n->filter);
    return f == FILTER_ENTITLEMENT_BOOLEAN || f == FILTER_ENTITLEMENT_STRING;
}

static bool is_load(const struct decoder *d, const struct blob_node *n)
{
    return !n->terminal && n->filter == BLOB_ENTITLEMENT_LOAD && d->b->era >= BLOB_B;
}

/* Finds the nodes from which a value is tested before another key is named. Edges lead to later
 * nodes in files that a compiler wrote, so that one pass is enough. */
static int find_needs(struct decoder *d, struct bk_err *err)
{
    const struct blob *b = d->b;
    for (bool changed = true; changed;) {
        changed = false;
        if (budget_spend(d->budget, b->nnodes, b->nodes, err) < 0)
            return -1;
        for (uint32_t i = b->nnodes; i-- > 0;) {
            struct blob_node n = blob_node_at(b, i);
            bool needs = is_value(d, &n) || (!n.terminal && d->needs_key[n.unmatch]) ||
                         (!n.terminal && !is_load(d, &n) && d->needs_key[n.match]);
            changed = changed || needs != d->needs_key[i];
            d->needs_key[i] = needs;
        }
    }
    return 0;
}

static struct keyed *keyed_slot(struct keyed *table, uint32_t mask, uint32_t node, uint32_t key)
{
    uint32_t k = (node * 0x9e3779b1u ^ key * 0x85ebca6bu) & mask;
    while (table[k].node != UNMADE && (table[k].node != node || table[k].key != key))
        k = (k + 1) & mask;
    return &table[k];
}

static int keyed_room(struct decoder *d, struct bk_err *err)
{
    if (d->keyed && d->nkeyed < (d->keyed_mask + 1) / 2)
        return 0;
    uint32_t size = d->keyed ? (d->keyed_mask + 1) * 2 : 256;
    struct keyed *more = arena_array(&d->budget->arena, size, sizeof(*more));
    if (!more)
        return budget_exhausted(d->b->nodes, err);
    for (uint32_t i = 0; i < size; i++)
        more[i].node = UNMADE;
    for (uint32_t i = 0; d->keyed && i <= d->keyed_mask; i++)
        if (d->keyed[i].node != UNMADE)
            *keyed_slot(more, size - 1, d->keyed[i].node, d->keyed[i].key) = d->keyed[i];
    d->keyed = more;
    d->keyed_mask = size - 1;
    return 0;
}

/* Where a node is, given the key that was named last. */
static struct place place_of(const struct decoder *d, uint32_t node, uint32_t key)
{
    return (struct place){node, d->needs_key[node] ? key : NO_KEY};
}

static uint32_t made_at(const struct decoder *d, struct place p)
{
    if (p.key == NO_KEY)
        return d->made[p.node];
    const struct keyed *k = d->keyed ? keyed_slot(d->keyed, d->keyed_mask, p.node, p.key) : NULL;
    return k && k->node != UNMADE ? k->made : UNMADE;
}

static int set_made(struct decoder *d, struct place p, uint32_t made, struct bk_err *err)
{
    if (p.key == NO_KEY) {
        d->made[p.node] = made;
        return 0;
    }
    if (keyed_room(d, err) < 0)
        return -1;
    struct keyed *k = keyed_slot(d->keyed, d->keyed_mask, p.node, p.key);
    d->nkeyed += k->node == UNMADE;
    *k = (struct keyed){p.node, p.key, made};
    return 0;
}

/* The places that a node's edges lead to. */
static void edges(const struct decoder *d, struct place p, const struct blob_node *n,
                  struct place out[2])
{
    out[0] = place_of(d, n->match, is_load(d, n) ? n->arg : p.key);
    out[1] = place_of(d, n->unmatch, is_load(d, n) ? NO_KEY : p.key);
}

/* The value of a key, as a test that names the key: KEY=VALUE. */
static int name_key(struct decoder *d, uint32_t key, const struct blob_node *n,
                    struct graph_test *t, struct bk_err *err)
{
    struct span s;
    if (key == NO_KEY)
        return err_set(err, BK_E_INPUT,
                       "offset 0x%zx: filter 0x%02x tests an entitlement that no node names",
                       n->offset, n->filter);
    if (blob_text(d->b, (uint16_t)key, &s, err) < 0)
        return -1;
    if (t->filter == FILTER_ENTITLEMENT_BOOLEAN) {
        *t = (struct graph_test){.filter = n->arg ? FILTER_ENTITLEMENT_IS_BOOL_TRUE
                                                  : FILTER_ENTITLEMENT_IS_BOOL_FALSE,
                                 .how = GRAPH_LITERAL,
                                 .str = (const char *)s.p,
                                 .len = (uint32_t)s.n};
        return 0;
    }
    bool regex = t->how == GRAPH_REGEX;
    if (t->how == GRAPH_SUBPATH || memchr(s.p, '=', s.n) ||
        (regex && (!t->len || t->str[0] != '^' || memchr(t->str, '|', t->len))))
        return err_set(err, BK_E_INPUT,
                       "offset 0x%zx: filter 0x%02x tests an entitlement in an unknown form",
                       n->offset, n->filter);
    OWN(buf) struct buf text = {0};
    if (regex)
        buf_chr(&text, '^');
    if (regex)
        regex_quote((const char *)s.p, s.n, &text);
    else
        buf_add(&text, (const char *)s.p, s.n);
    buf_chr(&text, '=');
    buf_add(&text, t->str + regex, t->len - regex);
    if (budget_spend(d->budget, text.n, n->offset, err) < 0)
        return -1;
    t->str = buf_ok(&text) ? arena_strndup(&d->budget->arena, text.s, text.n) : NULL;
    t->len = (uint32_t)text.n;
    return t->str ? 0 : budget_exhausted(n->offset, err);
}

static bool tests_key(const struct graph_test *t, const struct span *key)
{
    OWN(buf) struct buf name = {0}, value = {0};
    if (t->filter == FILTER_ENTITLEMENT_IS_BOOL_TRUE)
        return t->len == key->n && memcmp(t->str, key->p, key->n) == 0;
    if (!graph_test_is_keyed_value(t))
        return false;
    graph_entitlement_split(t, &name, &value);
    return buf_ok(&name) && name.n == key->n && memcmp(name.s, key->p, key->n) == 0;
}

/* A key that has one of these values is present. */
static bool is_implied(const struct decoder *d, const struct blob_node *n, uint32_t match,
                       uint32_t unmatch)
{
    enum { VALUES_MAX = 64 };
    struct span key;
    if (!is_load(d, n) || blob_text(d->b, n->arg, &key, NULL) < 0)
        return false;
    for (int i = 0; i < VALUES_MAX && match != unmatch; i++) {
        uint32_t next;
        const struct graph_test *t = graph_build_test(d->build, match, &next);
        if (!t || !tests_key(t, &key))
            return false;
        match = next;
    }
    return match == unmatch;
}

static int make_filter(struct decoder *d, struct place p, const struct blob_node *n,
                       struct bk_err *err)
{
    struct alternatives any = {0};
    struct place to[2];
    if (blob_tests(d->b, d->budget, n, &any, err) < 0)
        return -1;
    bool negated = blob_is_negated(d->b, n), value = is_value(d, n);
    edges(d, p, n, to);
    uint32_t match = made_at(d, to[negated]), at = made_at(d, to[!negated]);
    if (is_implied(d, n, match, at))
        return set_made(d, p, match, err);
    for (uint32_t i = any.n; i-- > 0;) {
        struct graph_test t = any.tests[i];
        if ((value && name_key(d, p.key, n, &t, err) < 0) ||
            graph_build_filter(d->build, &t, match, at, &at, err) < 0 ||
            (!value && keep_program(d, &t, n, err) < 0))
            return -1;
    }
    return set_made(d, p, at, err);
}

/* Makes a node once both its successors exist. */
static int walk_from(struct decoder *d, uint32_t root, struct bk_err *err)
{
    uint32_t depth = 0, made;
    if (d->made[root] == UNMADE)
        d->stack[depth++] = place_of(d, root, NO_KEY);
    while (depth) {
        struct place at = d->stack[depth - 1], to[2], next;
        struct blob_node n = blob_node_at(d->b, at.node);
        if (set_made(d, at, BEING_MADE, err) < 0)
            return -1;
        if (n.terminal) {
            if (decode_decision(d, at.node, &n, err) < 0)
                return -1;
            depth--;
            continue;
        }
        edges(d, at, &n, to);
        next = made_at(d, to[0]) >= BEING_MADE ? to[0] : to[1];
        made = made_at(d, next);
        if (made == BEING_MADE || (made == UNMADE && depth == d->b->nnodes))
            return err_set(err, BK_E_INPUT, "offset 0x%zx: node %u leads back to node %u", n.offset,
                           at.node, next.node);
        if (made == UNMADE) {
            d->stack[depth++] = next;
            continue;
        }
        if (make_filter(d, at, &n, err) < 0)
            return -1;
        depth--;
    }
    return 0;
}

/* Makes all nodes of a profile, or those that the chosen profile of a collection reaches. */
static int make_nodes(struct decoder *d, struct bk_err *err)
{
    const struct blob *b = d->b;
    for (uint32_t i = 0; i < b->nnodes; i++)
        d->made[i] = UNMADE;
    if (find_needs(d, err) < 0)
        return -1;
    for (uint32_t i = 0; blob_is_collection(b) && i < b->nops; i++)
        if (walk_from(d, blob_op_entry(b, i), err) < 0)
            return -1;
    for (uint32_t i = 0; !blob_is_collection(b) && i < b->nnodes; i++)
        if (!d->needs_key[i] && walk_from(d, i, err) < 0)
            return -1;
    for (uint32_t i = 0; !blob_is_collection(b) && i < b->nops; i++)
        if (walk_from(d, blob_op_entry(b, i), err) < 0)
            return -1;
    for (uint32_t i = 0; i < d->nnested; i++) /* grows as message filters are found */
        if (walk_from(d, d->nested[i].node, err) < 0)
            return -1;
    return 0;
}

/* ---- entries ---- */

/* For operations that no table of the blob decides. */
static int add_placeholder(struct decoder *d, bool allow, uint32_t *node, struct bk_err *err)
{
    struct graph_rule rule = {
        .allow = allow,
        .flags = allow ? 0 : VOCAB_FLAG_REPORT,
        .origin = {.file = d->name, .text = allow ? "allowed by default" : "denied by default"}};
    return graph_build_decision(d->build, &rule, node, err);
}

/* Operations without an entry start where their parent does. */
static void inherit(uint32_t *entries, uint32_t allow)
{
    for (uint32_t op = 0; op < OP_COUNT; op++) {
        uint32_t up = op;
        while (entries[up] == UNMADE && vocab_ops[up].parent != OP_NONE)
            up = vocab_ops[up].parent;
        entries[op] = entries[up] == UNMADE ? allow : entries[up];
    }
}

/* Rules under an unknown name would be lost silently. */
static int unnamed(const struct decoder *d, uint32_t id, struct bk_err *err)
{
    const struct blob *b = d->b;
    if (b->era != BLOB_E && d->made[blob_op_entry(b, id)] == d->made[blob_op_entry(b, 0)])
        return 0;
    err_set(err, BK_E_INPUT, "offset 0x%zx: the name of operation %u of %u is not established",
            b->ops + 2 * (size_t)id, id, b->nops);
    err_hint(err, "`buckle disasm` shows what it leads to");
    return -1;
}

static int profile_entries(struct decoder *d, uint32_t allow, struct bk_err *err)
{
    uint32_t entries[OP_COUNT];
    for (uint32_t op = 0; op < OP_COUNT; op++)
        entries[op] = UNMADE;
    for (uint32_t id = 0; id < d->b->nops; id++) {
        enum vocab_op op = blob_op_name(d->b, id);
        if (op != OP_NONE)
            entries[op] = d->made[blob_op_entry(d->b, id)];
        else if (unnamed(d, id, err) < 0)
            return -1;
    }
    inherit(entries, allow);
    return graph_build_entries(d->build, 0, entries, err);
}

static int nested_entries(struct decoder *d, uint32_t policy, uint32_t allow, uint32_t deny,
                          struct bk_err *err)
{
    const struct nested *n = &d->nested[policy - 1];
    uint32_t entries[OP_COUNT];
    for (uint32_t op = 0; op < OP_COUNT; op++)
        entries[op] = vocab_ops[op].message_filter ? UNMADE : deny;
    entries[blob_op_name(d->b, n->op)] = d->made[n->node];
    inherit(entries, allow);
    return graph_build_entries(d->build, policy, entries, err);
}

static int make_entries(struct decoder *d, struct bk_err *err)
{
    uint32_t allow, deny;
    if (add_placeholder(d, true, &allow, err) < 0 || add_placeholder(d, false, &deny, err) < 0 ||
        profile_entries(d, allow, err) < 0)
        return -1;
    for (uint32_t p = 1; p <= d->nnested; p++)
        if (nested_entries(d, p, allow, deny, err) < 0)
            return -1;
    return 0;
}

static int refuse_unknown(const struct blob *b, struct bk_err *err)
{
    if (blob_is_collection(b) && b->chosen == BLOB_NOT_CHOSEN) {
        struct blob any = *b;
        return blob_choose_name(&any, NULL, err);
    }
    if (b->era == BLOB_E && b->os == VOCAB_OS_ANY)
        return err_set(err, BK_E_INPUT,
                       "offset 0x4: the names of a version with %u operations (0x%02x) are not "
                       "established",
                       b->nops, b->nops);
    if (b->nstates && (!blob_is_collection(b) || b->npolicies))
        return err_set(err, BK_E_INPUT,
                       "offset 0x6: the table of states (0x%02x) is not "
                       "established",
                       b->data[6]);
    return 0;
}

/* Extra words of a profile in a collection: a version, or limits on its system calls. */
static int note_words(struct decoder *d, struct bk_err *err)
{
    const struct blob *b = d->b;
    if (b->chosen == BLOB_NOT_CHOSEN)
        return 0;
    OWN(buf) struct buf name = {0}, words = {0};
    if (blob_profile_name(b, b->chosen, &name, err) < 0)
        return -1;
    for (size_t at = 2; at < b->row_head; at += 2)
        buf_fmt(&words, "%s0x%04x", words.n ? " " : "",
                get16(b->data + b->rows + b->chosen * b->row + at));
    if (!buf_ok(&name) || !buf_ok(&words))
        return err_nomem(err);
    return graph_build_note(d->build, "profile", name.s ? name.s : "", err) < 0
               ? -1
               : graph_build_note(d->build, "words", words.s, err);
}

static int decode(struct decoder *d, struct graph **out, struct bk_err *err)
{
    const struct graph_options opt = {.version = 1,
                                      .fold_case = d->b->era == BLOB_E && !blob_minds_case(d->b),
                                      .no_implicit = true,
                                      .apart = d->apart,
                                      .max_bytes =
                                          GRAPH_BYTES_BASE + d->b->size * GRAPH_BYTES_PER_BYTE};
    d->build = graph_build_new(&opt, err);
    if (!d->build)
        return -1;
    if (make_nodes(d, err) < 0 || make_entries(d, err) < 0 || note_words(d, err) < 0) {
        graph_build_free(d->build);
        return -1;
    }
    struct graph *g = graph_freeze(d->build, err);
    if (!g)
        return -1;
    *out = g;
    return 0;
}

/* Adds to an error about unknown bytes how the file was read. */
static int name_layout(const struct blob *b, struct bk_err *err)
{
    OWN(buf) struct buf names = {0};
    blob_names_words(b, &names);
    if (err && err->code == BK_E_INPUT && !err->hint[0] && buf_ok(&names))
        err_hint(err, "read as era %s, %s; `buckle disasm` shows the bytes", blob_era_words(b->era),
                 names.s);
    return -1;
}

static int decode_checked(const struct blob *b, const char *name, bool apart, struct graph **out,
                          struct bk_err *err)
{
    OWN(budget) struct budget budget = {0};
    if (refuse_unknown(b, err) < 0)
        return -1;
    budget_init(&budget, b);
    struct decoder d = {.b = b, .name = name, .apart = apart, .budget = &budget};
    OWN(mem) uint32_t *made = malloc(sizeof(*made) * b->nnodes);
    OWN(mem) struct place *stack = malloc(sizeof(*stack) * b->nnodes);
    OWN(mem) bool *needs_key = calloc(b->nnodes, sizeof(*needs_key));
    d.made = made;
    d.stack = stack;
    d.needs_key = needs_key;
    int r = made && stack && needs_key ? decode(&d, out, err) : err_nomem(err);
    free(d.nested);
    return r;
}

static int decode_blob(const struct blob *b, const char *name, bool apart, struct graph **out,
                       struct bk_err *err)
{
    return decode_checked(b, name, apart, out, err) < 0 ? name_layout(b, err) : 0;
}

int blob_decode(const struct blob *b, const char *name, struct graph **out, struct bk_err *err)
{
    return decode_blob(b, name, false, out, err);
}

int blob_decode_apart(const struct blob *b, const char *name, struct graph **out,
                      struct bk_err *err)
{
    return decode_blob(b, name, true, out, err);
}
