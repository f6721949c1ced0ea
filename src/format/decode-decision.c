/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Decisions of a compiled profile: flags, modifiers, messages, message filters. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/decode-int.h"

enum {
    TEXT_MAX = 96,
    EARLY_NO_SANDBOX = 0x10, /* before iOS 12 */
    KEPT_WORD = 2,           /* bytes 4 to 7 of some decisions of era E: unknown, kept as text */
};

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

/* Era D: bytes 4 to 7 are the number of a message, from 1. */
static int message(struct decoder *d, const struct blob_node *n, struct graph_mod *mod,
                   struct bk_err *err)
{
    const struct blob *b = d->b;
    uint32_t number = get32(b->data + n->offset + 4);
    struct span s;
    if (number > b->nmessages)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: no message %u: there are %u", n->offset + 4,
                       number, b->nmessages);
    if (blob_text(b, get16(b->data + b->messages + 2 * (size_t)(number - 1)), &s, err) < 0 ||
        budget_spend(d->budget, s.n, s.offset, err) < 0)
        return -1;
    *mod = (struct graph_mod){.id = MOD_MESSAGE};
    mod->str = arena_strndup(&d->budget->arena, (const char *)s.p, s.n);
    return mod->str ? 0 : budget_exhausted(s.offset, err);
}

/* Eras B and C: the known flags; the rest is kept as text. */
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
    uint32_t rest = get32(b->data + n->offset + 4);
    *flags = n->flags;
    *all = true;
    if (b->era == BLOB_B || b->era == BLOB_C) {
        *flags = known_flags(b, n, all);
        return 0;
    }
    if (b->era == BLOB_D && b->data[n->offset + 3])
        return err_set(err, BK_E_INPUT, "offset 0x%zx: byte 0x%02x of a decision is 0 in era D",
                       n->offset + 3, b->data[n->offset + 3]);
    if (b->era == BLOB_D || n->inlined)
        return 0;
    if (b->era == BLOB_E && rest == KEPT_WORD) {
        *all = false;
        return 0;
    }
    if (rest || (b->era == BLOB_A && b->data[n->offset + 1]))
        return err_set(err, BK_E_INPUT,
                       "offset 0x%zx: 0x%08x of a decision is not established; era %s has 0%s",
                       n->offset + 4, rest, b->era == BLOB_A ? "A" : "E",
                       b->era == BLOB_A ? "" : " or 2 here unless flag 0x800000 is set");
    if (b->era == BLOB_E)
        return 0;
    if (n->flags > VOCAB_FLAG_DENY)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: flags 0x%x of era A are not established",
                       n->offset + 2, n->flags);
    *flags |= n->flags & VOCAB_FLAG_DENY ? VOCAB_FLAG_REPORT : 0; /* as in a plain (deny …) */
    return 0;
}

int decode_decision(struct decoder *d, uint32_t node, const struct blob_node *n, struct bk_err *err)
{
    struct graph_mod mod;
    char text[TEXT_MAX];
    uint32_t flags;
    bool all;
    bool messaged = d->b->era == BLOB_D && get32(d->b->data + n->offset + 4);
    if (decision_flags(d->b, n, &flags, &all, err) < 0 ||
        (n->inlined && modifier(d, n, &mod, err) < 0) || (messaged && message(d, n, &mod, err) < 0))
        return -1;
    put_text(d->b, node, n, all, text);
    struct graph_rule rule = {.allow = !(flags & VOCAB_FLAG_DENY),
                              .flags = flags,
                              .mods = n->inlined || messaged ? &mod : NULL,
                              .nmods = n->inlined || messaged,
                              .origin = {.file = d->name, .text = text}};
    return graph_build_decision(d->build, &rule, &d->made[node], err);
}
