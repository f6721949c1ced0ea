/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* What a filter node's argument says, by the kind of filter. Also the budget of decoding. */

#include <string.h>

#include "format/format-int.h"

enum {
    WORK_BASE = 1 << 16,
    WORK_PER_BYTE = 64,
    MEMORY_BASE = 1 << 20,
    MEMORY_PER_BYTE = 1024,
    NET_LOCALHOST_BIT = 0x100,
};

void budget_init(struct budget *g, const struct blob *b)
{
    arena_init(&g->arena, MEMORY_BASE + b->size * MEMORY_PER_BYTE);
    g->work = WORK_BASE + (uint64_t)b->size * WORK_PER_BYTE;
}

void budget_free(struct budget *g)
{
    arena_free(&g->arena);
}

int budget_exhausted(size_t offset, struct bk_err *err)
{
    return err_set(err, BK_E_LIMIT, "offset 0x%zx: the profile unfolds to far more than its size",
                   offset);
}

int budget_spend(struct budget *g, size_t work, size_t offset, struct bk_err *err)
{
    if (work > g->work)
        return budget_exhausted(offset, err);
    g->work -= work;
    return 0;
}

int alternatives_add(struct budget *g, struct alternatives *a, const struct graph_test *t,
                     size_t offset, struct bk_err *err)
{
    if (a->n == a->cap) {
        uint32_t cap = a->cap ? a->cap * 2 : 4;
        struct graph_test *more = arena_array(&g->arena, cap, sizeof(*more));
        if (!more)
            return budget_exhausted(offset, err);
        if (a->n)
            memcpy(more, a->tests, a->n * sizeof(*more));
        a->tests = more;
        a->cap = cap;
    }
    a->tests[a->n++] = *t;
    return 0;
}

static int unknown_form(const struct blob_node *n, struct bk_err *err)
{
    return err_set(err, BK_E_INPUT, "offset 0x%zx: filter 0x%02x is not known in this form",
                   n->offset, n->filter);
}

/* `u16 1, u16 bytes, bits`, the lowest number in the lowest bit of the first byte. */
static int bitmap_tests(const struct blob *b, struct budget *g, const struct blob_node *n,
                        uint16_t filter, struct alternatives *out, struct bk_err *err)
{
    size_t at = b->pool + (size_t)n->arg * 8;
    if (at > b->size || b->size - at < 4 || b->size - at - 4 < get16(b->data + at + 2))
        return err_set(err, BK_E_INPUT,
                       "offset 0x%zx: a list of numbers goes beyond the file's end", at);
    if (get16(b->data + at) != 1)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: a list of numbers of kind %u is not known",
                       at, get16(b->data + at));
    size_t bytes = get16(b->data + at + 2);
    if (budget_spend(g, bytes, at, err) < 0)
        return -1;
    for (size_t i = 0; i < bytes * 8; i++) {
        if (!(b->data[at + 4 + i / 8] >> (i % 8) & 1))
            continue;
        struct graph_test t = {.filter = filter, .how = GRAPH_INT, .num = (int64_t)i};
        if (alternatives_add(g, out, &t, at, err) < 0)
            return -1;
    }
    return 0;
}

static int name_test(const struct blob *b, const struct blob_node *n, struct graph_test *t,
                     struct bk_err *err)
{
    struct span s;
    if (blob_pool(b, n->arg, &s, err) < 0)
        return -1;
    if (s.n && s.p[s.n - 1] == '\0')
        s.n--;
    if (s.n && memchr(s.p, '\0', s.n))
        return err_set(err, BK_E_INPUT, "offset 0x%zx: a name holds a NUL byte", s.offset);
    t->how = GRAPH_LITERAL;
    t->str = (const char *)s.p;
    t->len = (uint32_t)s.n;
    return 0;
}

static bool proto_is_known(uint16_t proto)
{
    return proto <= NET_UDP && (proto & 3) && (proto & 12) != 12;
}

static int network_test(const struct blob *b, const struct blob_node *n, struct graph_test *t,
                        struct bk_err *err)
{
    size_t at = b->pool + (size_t)n->arg * 8;
    if (b->era != BLOB_E)
        return unknown_form(n, err);
    if (at > b->size || b->size - at < 4)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: an address goes beyond the file's end", at);
    uint16_t proto = get16(b->data + at), port = get16(b->data + at + 2);
    uint16_t plain = proto & (uint16_t)~NET_LOCALHOST_BIT;
    if (!proto_is_known(plain))
        return err_set(err, BK_E_INPUT, "offset 0x%zx: protocol 0x%x is not known", at, proto);
    t->how = GRAPH_NET;
    t->net =
        (struct net_endpoint){.proto = plain,
                              .host = proto & NET_LOCALHOST_BIT ? NET_HOST_LOCALHOST : NET_HOST_ANY,
                              .port_lo = port,
                              .port_hi = port ? port : UINT16_MAX};
    return 0;
}

static int plain_test(const struct blob *b, const struct blob_node *n, struct graph_test *t,
                      struct bk_err *err)
{
    switch (vocab_filters[t->filter].arg) {
    case ARG_INT:
        t->how = GRAPH_INT;
        t->num = n->arg;
        return 0;
    case ARG_MODE:
        t->how = GRAPH_MODE;
        t->num = n->arg;
        return 0;
    case ARG_NAME:
        return b->era == BLOB_E ? name_test(b, n, t, err) : unknown_form(n, err);
    case ARG_NETWORK:
        return network_test(b, n, t, err);
    case ARG_NONE:
    case ARG_BOOL:
        if (n->arg != 1) /* how #f is written is not established */
            return unknown_form(n, err);
        t->how = GRAPH_FLAG;
        t->num = 1;
        return 0;
    default:
        return unknown_form(n, err);
    }
}

int blob_tests(const struct blob *b, struct budget *g, const struct blob_node *n,
               struct alternatives *out, struct bk_err *err)
{
    enum vocab_filter filter = blob_filter_name(b, n->filter);
    if (filter == FILTER_NONE)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: filter 0x%02x is not known", n->offset,
                       n->filter);
    uint8_t arg = vocab_filters[filter].arg;
    bool string = arg == ARG_PATH || arg == ARG_STRING, form = n->filter & BLOB_REGEX_FORM;
    struct graph_test t = {.filter = (uint16_t)filter};
    struct span code;
    if (form && arg == ARG_INT)
        return bitmap_tests(b, g, n, t.filter, out, err);
    if (string && !form && b->era == BLOB_E)
        return blob_pool(b, n->arg, &code, err) < 0 ? -1
                                                    : pattern_tests(b, g, code, t.filter, out, err);
    int r = string ? regex_text(b, g, n->arg, &t, err)
            : form ? unknown_form(n, err)
                   : plain_test(b, n, &t, err);
    return r < 0 ? -1 : alternatives_add(g, out, &t, n->offset, err);
}
