/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Prints a blob so that one can follow it in a hex viewer: the header field by field, the tables,
 * every node with its offset, its bytes and their meaning. What cannot be read is shown as bytes,
 * with the reason.
 */

#include <string.h>

#include "base/own.h"
#include "format/format-int.h"
#include "graph/words.h"

enum { LINE_WIDTH = 96 };

static void print_bytes(const struct blob *b, size_t at, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        buf_fmt(out, "%s%02x", i && i % 2 == 0 ? " " : "", b->data[at + i]);
}

static void field(const struct blob *b, size_t at, size_t n, struct buf *out)
{
    size_t before = out->n;
    buf_fmt(out, "  0x%04zx  ", at);
    print_bytes(b, at, n, out);
    while (out->n - before < 24)
        buf_chr(out, ' ');
}

struct field {
    uint8_t at, n;
    bool bundle; /* only in one */
    const char *name;
};

static const struct field fields_a[] = {
    {0, 2, false, "regexes at 8 ×"}, {2, 2, false, "regexes"}, {0}};
static const struct field fields_b[] = {
    {0, 2, false, "type"},
    {2, 2, false, "regexes at 8 ×"},
    {4, 2, false, "regexes"},
    {6, 2, true, "profiles"},
    {0},
};
static const struct field fields_c[] = {
    {0, 2, false, "type"},
    {2, 2, false, "regexes at 8 ×"},
    {4, 2, false, "regexes"},
    {6, 2, false, "variables at 8 ×"},
    {8, 2, false, "variables"},
    {10, 2, true, "profiles"},
    {0},
};
static const struct field fields_c_late[] = {
    {0, 2, false, "type"},
    {2, 2, false, "regexes at 8 ×"},
    {4, 2, false, "variables at 8 ×"},
    {6, 2, false, "an unknown word"},
    {8, 2, false, "regexes"},
    {10, 1, false, "variables"},
    {11, 1, false, "an unknown byte"},
    {12, 2, true, "profiles"},
    {0},
};
static const struct field fields_d[] = {
    {0, 2, false, "type"},       {2, 2, false, "nodes"},     {4, 1, false, "operations"},
    {5, 1, false, "padding"},    {6, 2, false, "profiles"},  {8, 2, false, "regexes"},
    {10, 1, false, "variables"}, {11, 1, false, "messages"}, {0},
};
static const struct field fields_e[] = {
    {0, 2, false, "flags"},
    {2, 2, false, "nodes"},
    {4, 1, false, "operations"},
    {5, 1, false, "variables"},
    {6, 1, false, "states"},
    {7, 1, false, "padding"},
    {8, 2, false, "profiles"},
    {10, 2, false, "regexes"},
    {12, 2, false, "message filters"},
    {0},
};

static const struct field fields_e_late[] = {
    {0, 2, false, "flags"},
    {2, 2, false, "nodes"},
    {4, 1, false, "operations"},
    {5, 1, false, "variables"},
    {6, 1, false, "states"},
    {7, 1, false, "more names"},
    {8, 2, false, "still more names"},
    {10, 2, false, "profiles"},
    {12, 2, false, "regexes"},
    {14, 2, false, "message filters"},
    {0},
};

static void header(const struct blob *b, struct buf *out)
{
    static const struct field *const eras[][2] = {[BLOB_A] = {fields_a},
                                                  [BLOB_B] = {fields_b},
                                                  [BLOB_C] = {fields_c, fields_c_late},
                                                  [BLOB_D] = {fields_d},
                                                  [BLOB_E] = {fields_e, fields_e_late}};
    const struct field *f = eras[b->era][b->late];
    for (; f->name; f++) {
        if (f->bundle && !blob_is_collection(b))
            continue;
        unsigned v = f->n == 1 ? b->data[f->at] : get16(b->data + f->at);
        field(b, f->at, f->n, out);
        if (f->at == 0 && b->era > BLOB_A)
            buf_fmt(out, "%s 0x%04x%s%s\n", f->name, v, v & BLOB_COLLECTION ? ", a collection" : "",
                    v & BLOB_MESSAGE_FILTERS ? ", message filters" : "");
        else
            buf_fmt(out, "%s %u\n", f->name, v);
    }
}

static void table(const struct blob *b, const char *name, size_t at, uint32_t n, struct buf *out)
{
    if (!n)
        return;
    buf_fmt(out, "\n%s\n", name);
    for (uint32_t i = 0; i < n; i++, at += 2) {
        field(b, at, 2, out);
        buf_fmt(out, "%u: %u\n", i, get16(b->data + at));
    }
}

/* The same, with the text that each entry refers to. */
static void text_table(const struct blob *b, const char *name, size_t at, uint32_t n,
                       struct buf *out)
{
    if (!n)
        return;
    buf_fmt(out, "\n%s\n", name);
    for (uint32_t i = 0; i < n; i++, at += 2) {
        struct span s;
        struct bk_err err;
        field(b, at, 2, out);
        buf_fmt(out, "%u: %u  ", i, get16(b->data + at));
        if (blob_text(b, get16(b->data + at), &s, &err) < 0)
            buf_str(out, err.msg);
        else
            buf_safe(out, (const char *)s.p, s.n);
        buf_chr(out, '\n');
    }
}

static void profiles(const struct blob *b, struct buf *out)
{
    if (!blob_is_collection(b))
        return;
    buf_fmt(out, "\nprofiles: %u from 0x%zx, each %zu bytes and %u operations\n", b->nprofiles,
            b->rows, b->row_head, b->nops);
    for (uint32_t i = 0; i < b->nprofiles; i++) {
        struct bk_err err;
        OWN(buf) struct buf name = {0};
        field(b, b->rows + i * b->row, b->row_head, out);
        buf_fmt(out, "%u: ", i);
        if (blob_profile_name(b, i, &name, &err) < 0)
            buf_str(out, err.msg);
        else
            buf_safe(out, name.s ? name.s : "", name.n);
        buf_chr(out, '\n');
    }
}

static void op_name(const struct blob *b, uint32_t id, struct buf *out)
{
    enum vocab_op op = blob_op_name(b, id);
    if (op == OP_NONE)
        buf_fmt(out, "op-%u", id);
    else
        buf_str(out, vocab_ops[op].name);
}

static void list_ops(const struct blob *b, uint32_t node, struct buf *out)
{
    size_t line = out->n;
    for (uint32_t id = 0; id < b->nops; id++) {
        if (blob_op_entry(b, id) != node)
            continue;
        if (out->n - line > LINE_WIDTH - 24) {
            buf_str(out, "\n            ");
            line = out->n;
        }
        buf_chr(out, ' ');
        op_name(b, id, out);
    }
}

static void operations(const struct blob *b, struct buf *out)
{
    if (blob_is_collection(b) && b->chosen == BLOB_NOT_CHOSEN)
        return;
    buf_fmt(out, "\noperations: %u from 0x%zx\n", b->nops, b->ops);
    uint32_t seen[256];
    uint32_t nseen = 0;
    for (uint32_t id = 0; id < b->nops; id++) {
        uint32_t node = blob_op_entry(b, id), k = 0;
        while (k < nseen && seen[k] != node)
            k++;
        if (k < nseen || nseen == sizeof(seen) / sizeof(seen[0]))
            continue;
        seen[nseen++] = node;
        buf_fmt(out, "  node %-5u", node);
        list_ops(b, node, out);
        buf_chr(out, '\n');
    }
}

static void filter_words(const struct blob *b, struct budget *g, const struct blob_node *n,
                         struct buf *out)
{
    struct alternatives any = {0};
    struct bk_err err;
    if (blob_tests(b, g, n, &any, &err) < 0) {
        buf_fmt(out, "filter 0x%02x argument 0x%04x: ", n->filter, n->arg);
        buf_safe(out, err.msg, strlen(err.msg));
        return;
    }
    if (blob_filter_name(b, n->filter) == FILTER_ENTITLEMENT_BOOLEAN && !n->arg) {
        buf_str(out, "(%entitlement-boolean #f)");
        return;
    }
    if (blob_is_negated(b, n))
        buf_str(out, "not ");
    if (any.n != 1)
        buf_fmt(out, "(require-any");
    for (uint32_t i = 0; i < any.n; i++) {
        if (any.n != 1)
            buf_chr(out, ' ');
        graph_test_print(&any.tests[i], out);
    }
    if (any.n != 1)
        buf_chr(out, ')');
}

static void decision_words(const struct blob *b, const struct blob_node *n, struct buf *out)
{
    buf_fmt(out, "%s, flags 0x%x", n->flags & VOCAB_FLAG_DENY ? "deny" : "allow", n->flags);
    if (b->era == BLOB_D && get32(b->data + n->offset + 4))
        buf_fmt(out, ", message %u", get32(b->data + n->offset + 4));
    if (n->inlined)
        buf_fmt(out, ", modifier %u, byte 0x%02x, argument %u", n->mod, n->mod_op, n->mod_arg);
}

static void nodes(const struct blob *b, struct buf *out)
{
    OWN(budget) struct budget g = {0};
    budget_init(&g, b);
    buf_fmt(out, "\nnodes: %u from 0x%zx\n", b->nnodes, b->nodes);
    for (uint32_t i = 0; i < b->nnodes; i++) {
        struct blob_node n = blob_node_at(b, i);
        buf_fmt(out, "  0x%04zx  ", n.offset);
        print_bytes(b, n.offset, BLOB_NODE_SIZE, out);
        buf_fmt(out, "  %u  ", i);
        if (n.terminal) {
            decision_words(b, &n, out);
        } else {
            filter_words(b, &g, &n, out);
            buf_fmt(out, "  yes %u, no %u", n.match, n.unmatch);
        }
        buf_chr(out, '\n');
    }
}

static void rest(const struct blob *b, size_t from, struct buf *out)
{
    if (from >= b->size)
        return;
    buf_fmt(out, "\n%s: %zu bytes from 0x%zx\n", b->era >= BLOB_D ? "pool" : "after the nodes",
            b->size - from, from);
    for (size_t at = from; at < b->size; at += 16) {
        size_t n = b->size - at < 16 ? b->size - at : 16, line = out->n;
        buf_fmt(out, "  0x%04zx  ", at);
        print_bytes(b, at, n, out);
        while (out->n - line < 52)
            buf_chr(out, ' ');
        for (size_t i = 0; i < n; i++) {
            uint8_t c = b->data[at + i];
            buf_chr(out, c >= 0x20 && c < 0x7f ? (char)c : '.');
        }
        buf_chr(out, '\n');
    }
}

void blob_disasm(const struct blob *b, struct buf *out)
{
    bool pool = b->era >= BLOB_D;
    buf_fmt(out, "era %s, %s%zu bytes, ", blob_era_words(b->era),
            b->era == BLOB_E && b->late ? "with the header of iOS 26, " : "", b->size);
    blob_names_words(b, out);
    buf_str(out, "\n\nheader\n");
    header(b, out);
    table(b, "regexes: index, offset / 8", b->regexes, b->nregexes, out);
    text_table(b, "variables: index, offset / 8, name", b->vars, b->nvars, out);
    text_table(b, "messages: index, offset / 8, text", b->messages, b->nmessages, out);
    (b->late ? text_table : table)(b, "states and other names", b->states, b->nstates, out);
    table(b, "message filters: index, node", b->policies, b->npolicies, out);
    profiles(b, out);
    operations(b, out);
    nodes(b, out);
    rest(b, pool ? b->pool : b->nodes + (size_t)b->nnodes * BLOB_NODE_SIZE, out);
}
