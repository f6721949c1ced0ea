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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "format/format-int.h"
#include "graph/build.h"

enum {
    GRAPH_BYTES_BASE = 8 << 20,
    GRAPH_BYTES_PER_BYTE = 4096,
    TEXT_MAX = 96,
    EARLY_NO_SANDBOX = 0x10, /* before iOS 12 */
    KEPT_MAX = 1024,
    UNMADE = 0xffffffffu,
    BEING_MADE = 0xfffffffeu,
};

struct nested {
    uint8_t op; /* id on the wire */
    uint32_t node;
};

struct decoder {
    const struct blob *b;
    const char *name;
    bool apart;
    uint32_t nkept; /* regexes */
    struct graph_build *build;
    struct budget *budget;
    uint32_t *made;  /* by node of the blob */
    uint32_t *stack; /* nodes being walked */
    struct nested *nested;
    uint32_t nnested, cap_nested;
};

/* ---- decisions ---- */

static enum vocab_modifier modifier_with_id(uint8_t id)
{
    for (uint32_t m = 0; m < MOD_COUNT; m++)
        if (vocab_modifiers[m].id_13_0 == id)
            return (enum vocab_modifier)m;
    return MOD_NONE;
}

static int message_filter(struct decoder *d, const struct blob_node *n, struct graph_mod *mod,
                          struct bk_err *err)
{
    const struct blob *b = d->b;
    enum vocab_op op = blob_op_name(b, n->mod_op);
    if (n->mod_arg >= b->npolicies)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: no message filter %u: there are %u",
                       n->offset + 6, n->mod_arg, b->npolicies);
    if (op == OP_NONE || !vocab_ops[op].message_filter)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: operation %u does not filter messages",
                       n->offset + 5, n->mod_op);
    if (d->nnested == d->cap_nested) {
        uint32_t cap = d->cap_nested ? d->cap_nested * 2 : 16;
        struct nested *more = realloc(d->nested, cap * sizeof(*more));
        if (!more)
            return err_nomem(err);
        d->nested = more;
        d->cap_nested = cap;
    }
    uint16_t node = get16(b->data + b->policies + 2 * (size_t)n->mod_arg);
    d->nested[d->nnested++] = (struct nested){n->mod_op, node};
    return graph_build_policy_begin(d->build, err) < 0
               ? -1
               : graph_build_policy_end(d->build, &mod->num, err);
}

static int text_modifier(struct decoder *d, const struct blob_node *n, struct graph_mod *mod,
                         struct bk_err *err)
{
    struct span s;
    if (n->mod_op)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: unknown second byte of a modifier",
                       n->offset + 5);
    if (blob_text(d->b, n->mod_arg, &s, err) < 0)
        return -1;
    if (budget_spend(d->budget, s.n, s.offset, err) < 0)
        return -1;
    mod->str = arena_strndup(&d->budget->arena, (const char *)s.p, s.n);
    return mod->str ? 0 : budget_exhausted(s.offset, err);
}

static int modifier(struct decoder *d, const struct blob_node *n, struct graph_mod *mod,
                    struct bk_err *err)
{
    enum vocab_modifier id = modifier_with_id(n->mod);
    *mod = (struct graph_mod){.id = (uint16_t)id};
    if (id == MOD_MESSAGE_FILTER)
        return message_filter(d, n, mod, err);
    if (id != MOD_NONE && vocab_modifiers[id].arg == 3)
        return text_modifier(d, n, mod, err);
    return err_set(err, BK_E_INPUT, "offset 0x%zx: how modifier %u is written is not established",
                   n->offset + 4, n->mod);
}

static void put_text(const struct blob *b, uint32_t node, const struct blob_node *n, bool all,
                     char text[TEXT_MAX])
{
    const uint8_t *p = b->data + n->offset;
    int len = snprintf(text, TEXT_MAX, "node %u at 0x%zx", node, n->offset);
    for (int i = 0; !all && i < BLOB_NODE_SIZE; i++)
        len += snprintf(text + len, TEXT_MAX - (size_t)len, "%s%02x",
                        i ? " " : ", not all known: ", p[i]);
}

/* Eras B to D: the known flags; the rest is kept as text. */
static uint32_t known_flags(const struct blob *b, const struct blob_node *n, bool *all)
{
    bool early = b->era == BLOB_B || (b->era == BLOB_C && !b->late);
    uint32_t known = VOCAB_FLAG_DENY | VOCAB_FLAG_REPORT | vocab_modifiers[MOD_GRANT].flag;
    uint32_t flags = n->flags & known;
    if (early && n->flags & EARLY_NO_SANDBOX) {
        known |= EARLY_NO_SANDBOX;
        flags |= vocab_modifiers[MOD_NO_SANDBOX].flag;
    }
    *all = !(n->flags & ~known) && !get32(b->data + n->offset + 4) &&
           !(early && b->data[n->offset + 1]) && !(!early && b->data[n->offset + 3] & 0x80);
    return flags;
}

static int decision_flags(const struct blob *b, const struct blob_node *n, uint32_t *flags,
                          bool *all, struct bk_err *err)
{
    bool clean = !get32(b->data + n->offset + 4) && (b->era != BLOB_A || !b->data[n->offset + 1]);
    *flags = n->flags;
    *all = true;
    if (b->era != BLOB_A && b->era != BLOB_E) {
        *flags = known_flags(b, n, all);
        return 0;
    }
    if (!n->inlined && !clean)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: a decision's modifiers are not established",
                       n->offset);
    if (b->era == BLOB_E)
        return 0;
    if (n->flags > VOCAB_FLAG_DENY)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: flags 0x%x of era A are not established",
                       n->offset + 2, n->flags);
    *flags |= n->flags & VOCAB_FLAG_DENY ? VOCAB_FLAG_REPORT : 0; /* as in a plain (deny …) */
    return 0;
}

static int make_decision(struct decoder *d, uint32_t node, const struct blob_node *n,
                         struct bk_err *err)
{
    struct graph_mod mod;
    char text[TEXT_MAX];
    uint32_t flags;
    bool all;
    if (decision_flags(d->b, n, &flags, &all, err) < 0 ||
        (n->inlined && modifier(d, n, &mod, err) < 0))
        return -1;
    put_text(d->b, node, n, all, text);
    struct graph_rule rule = {.allow = !(flags & VOCAB_FLAG_DENY),
                              .flags = flags,
                              .mods = n->inlined ? &mod : NULL,
                              .nmods = n->inlined,
                              .origin = {.file = d->name, .text = text}};
    return graph_build_decision(d->build, &rule, &d->made[node], err);
}

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

static int make_filter(struct decoder *d, uint32_t node, const struct blob_node *n,
                       struct bk_err *err)
{
    struct alternatives any = {0};
    if (blob_tests(d->b, d->budget, n, &any, err) < 0)
        return -1;
    bool negated = blob_is_negated(d->b, n);
    uint32_t match = d->made[negated ? n->unmatch : n->match];
    uint32_t at = d->made[negated ? n->match : n->unmatch];
    for (uint32_t i = any.n; i-- > 0;)
        if (graph_build_filter(d->build, &any.tests[i], match, at, &at, err) < 0 ||
            keep_program(d, &any.tests[i], n, err) < 0)
            return -1;
    d->made[node] = at;
    return 0;
}

/* Makes a node once both its successors exist. */
static int walk_from(struct decoder *d, uint32_t root, struct bk_err *err)
{
    uint32_t depth = 0;
    if (d->made[root] == UNMADE)
        d->stack[depth++] = root;
    while (depth) {
        uint32_t at = d->stack[depth - 1], next;
        struct blob_node n = blob_node_at(d->b, at);
        d->made[at] = BEING_MADE;
        if (n.terminal) {
            if (make_decision(d, at, &n, err) < 0)
                return -1;
            depth--;
            continue;
        }
        next = d->made[n.match] >= BEING_MADE ? n.match : n.unmatch;
        if (d->made[next] == BEING_MADE)
            return err_set(err, BK_E_INPUT, "offset 0x%zx: node %u leads back to node %u", n.offset,
                           at, next);
        if (d->made[next] == UNMADE) {
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
    for (uint32_t i = 0; blob_is_collection(b) && i < b->nops; i++)
        if (walk_from(d, blob_op_entry(b, i), err) < 0)
            return -1;
    for (uint32_t i = 0; !blob_is_collection(b) && i < b->nnodes; i++)
        if (walk_from(d, i, err) < 0)
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
    if (b->nstates && (!blob_is_collection(b) || b->npolicies))
        return err_set(err, BK_E_INPUT, "offset 0x6: the states table is not established");
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
                                      .fold_case = d->b->era == BLOB_E,
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

static int decode_blob(const struct blob *b, const char *name, bool apart, struct graph **out,
                       struct bk_err *err)
{
    OWN(budget) struct budget budget = {0};
    if (refuse_unknown(b, err) < 0)
        return -1;
    budget_init(&budget, b);
    struct decoder d = {.b = b, .name = name, .apart = apart, .budget = &budget};
    OWN(mem) uint32_t *made = malloc(sizeof(*made) * b->nnodes);
    OWN(mem) uint32_t *stack = malloc(sizeof(*stack) * b->nnodes);
    d.made = made;
    d.stack = stack;
    int r = made && stack ? decode(&d, out, err) : err_nomem(err);
    free(d.nested);
    return r;
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
