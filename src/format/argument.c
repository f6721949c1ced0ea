/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Decodes a filter node's argument by the kind of filter. Also the budget of decoding. */

#include <string.h>

#include "format/format-int.h"

enum {
    WORK_BASE = 1 << 16,
    WORK_PER_BYTE = 64,
    MEMORY_BASE = 1 << 20,
    MEMORY_PER_BYTE = 192, /* real profiles take up to 60, small ones the base */
    NET_LOCALHOST_BIT = 0x100,
    DEBUG_MODE = 1, /* of system-attribute */
    D_SYSCALL_MASK = 0x42,
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
    return err_set(err, BK_E_LIMIT, "offset 0x%zx: the profile expands far beyond its size",
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
    return err_set(err, BK_E_INPUT,
                   "offset 0x%zx: filter 0x%02x is unknown in this form, with argument 0x%04x",
                   n->offset, n->filter, n->arg);
}

/* A test for each bit that is set. */
static int bit_tests(struct budget *g, const uint8_t *bits, size_t bytes, uint16_t filter,
                     struct alternatives *out, size_t offset, struct bk_err *err)
{
    for (size_t i = 0; i < bytes * 8; i++) {
        struct graph_test t = {.filter = filter, .how = GRAPH_INT, .num = (int64_t)i};
        if (bits[i / 8] >> (i % 8) & 1 && alternatives_add(g, out, &t, offset, err) < 0)
            return -1;
    }
    return 0;
}

/* `u16 1, u16 bytes, bits`, the lowest number in the lowest bit of the first byte. */
static int bitmap_tests(const struct blob *b, struct budget *g, const struct blob_node *n,
                        uint16_t filter, struct alternatives *out, struct bk_err *err)
{
    size_t at = b->pool + (size_t)n->arg * 8;
    if (at > b->size || b->size - at < 4 || b->size - at - 4 < get16(b->data + at + 2))
        return err_set(err, BK_E_INPUT, "offset 0x%zx: a list of numbers exceeds the file", at);
    if (get16(b->data + at) != 1)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: unknown list of numbers of kind %u", at,
                       get16(b->data + at));
    size_t bytes = get16(b->data + at + 2);
    if (budget_spend(g, bytes, at, err) < 0)
        return -1;
    return bit_tests(g, b->data + at + 4, bytes, filter, out, at, err);
}

/* Era D: `u16 bits, bits`. */
static int mask_tests(const struct blob *b, struct budget *g, const struct blob_node *n,
                      struct alternatives *out, struct bk_err *err)
{
    size_t at = b->pool + (size_t)n->arg * 8;
    size_t bits = at > b->size || b->size - at < 2 ? 0 : get16(b->data + at);
    size_t bytes = (bits + 7) / 8;
    if (!bits || b->size - at - 2 < bytes)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: a mask of system calls exceeds the file",
                       at);
    if (bits % 8 && b->data[at + 1 + bytes] >> bits % 8)
        return err_set(err, BK_E_INPUT,
                       "offset 0x%zx: byte 0x%02x has bits behind a mask of %zu system calls",
                       at + 1 + bytes, b->data[at + 1 + bytes], bits);
    return budget_spend(g, bytes, at, err) < 0
               ? -1
               : bit_tests(g, b->data + at + 2, bytes, FILTER_SYSCALL_NUMBER, out, at, err);
}

static int name_test(const struct blob *b, const struct blob_node *n, struct graph_test *t,
                     struct bk_err *err)
{
    struct span s;
    if (blob_text(b, n->arg, &s, err) < 0)
        return -1;
    t->how = GRAPH_LITERAL;
    t->str = (const char *)s.p;
    t->len = (uint32_t)s.n;
    return 0;
}

/* Era B: `u32 length, u8 type, bytes`. Types that represent a leading variable have it in the text,
 * as ${NAME}. */
static int typed_test(const struct blob *b, const struct blob_node *n, struct graph_test *t,
                      struct bk_err *err)
{
    static const struct {
        uint8_t type, how;
    } types[] = {
        {0x00, GRAPH_LITERAL}, {0x02, GRAPH_LITERAL}, {0x04, GRAPH_LITERAL}, {0x0c, GRAPH_LITERAL},
        {0x0e, GRAPH_LITERAL}, {0x14, GRAPH_LITERAL}, {0x16, GRAPH_LITERAL}, {0x01, GRAPH_SUBPATH},
        {0x05, GRAPH_SUBPATH}, {0x0d, GRAPH_SUBPATH}, {0x15, GRAPH_SUBPATH}, {0x06, GRAPH_PREFIX},
        {0x24, GRAPH_PREFIX},
    };
    size_t at = (size_t)n->arg * 8, k = 0, ntypes = sizeof(types) / sizeof(types[0]);
    if (at > b->size || b->size - at < 5 || b->size - at - 5 < get32(b->data + at))
        return err_set(err, BK_E_INPUT, "offset 0x%zx: a string exceeds the file", at);
    while (k < ntypes && types[k].type != b->data[at + 4])
        k++;
    if (k == ntypes)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: unknown string type 0x%02x", at + 4,
                       b->data[at + 4]);
    t->how = types[k].how;
    t->str = (const char *)b->data + at + 5;
    t->len = get32(b->data + at);
    if (t->len && t->str[t->len - 1] == '\0')
        t->len--;
    if (t->len && memchr(t->str, '\0', t->len))
        return err_set(err, BK_E_INPUT, "offset 0x%zx: a string contains a NUL byte", at + 5);
    if (t->how == GRAPH_SUBPATH && vocab_filters[t->filter].arg != ARG_PATH)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: a subpath filter that does not test a path",
                       at + 4);
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
    if (b->era == BLOB_A)
        return unknown_form(n, err);
    if (at > b->size || b->size - at < 4)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: an address exceeds the file", at);
    uint16_t proto = get16(b->data + at), port = get16(b->data + at + 2);
    uint16_t plain = proto & (uint16_t)~NET_LOCALHOST_BIT;
    if (!proto_is_known(plain))
        return err_set(err, BK_E_INPUT, "offset 0x%zx: unknown protocol 0x%x", at, proto);
    t->how = GRAPH_NET;
    t->net =
        (struct net_endpoint){.proto = plain,
                              .host = proto & NET_LOCALHOST_BIT ? NET_HOST_LOCALHOST : NET_HOST_ANY,
                              .port_lo = port,
                              .port_hi = port ? port : UINT16_MAX};
    return 0;
}

bool blob_flag_is_zero(const struct blob *b, enum vocab_filter filter)
{
    return b->era >= BLOB_D && filter != FILTER_ENTITLEMENT_BOOLEAN &&
           filter != FILTER_NOTIFICATION_PAYLOAD;
}

/* A filter without a value has 0 in eras D and E. A boolean 0 is #f, which swaps the edges. */
static int flag_test(const struct blob *b, const struct blob_node *n, struct graph_test *t,
                     struct bk_err *err)
{
    bool zero = blob_flag_is_zero(b, (enum vocab_filter)t->filter);
    if (n->arg > !zero || (n->arg == 0 && b->era == BLOB_A))
        return unknown_form(n, err);
    t->how = GRAPH_FLAG;
    t->num = 1;
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
        return b->era == BLOB_A ? unknown_form(n, err) : name_test(b, n, t, err);
    case ARG_NETWORK:
        return network_test(b, n, t, err);
    case ARG_NONE:
    case ARG_BOOL:
        return flag_test(b, n, t, err);
    default:
        return unknown_form(n, err);
    }
}

/* Filters of iOS 4 to 14 that were renamed or take no argument. */
static bool takes_nothing(const struct blob *b, struct graph_test *t)
{
    bool early = b->era == BLOB_B || (b->era == BLOB_C && !b->late);
    bool ios = b->era == BLOB_B || b->era == BLOB_C || b->era == BLOB_D;
    if (ios && t->filter == FILTER_SYSTEM_ATTRIBUTE) { /* (debug-mode) */
        t->how = GRAPH_INT;
        t->num = DEBUG_MODE;
        return true;
    }
    if (!early ||
        (t->filter != FILTER_ROOTLESS_BOOT_DEVICE_FILTER &&
         t->filter != FILTER_ROOTLESS_DISK_FILTER && t->filter != FILTER_NOTIFICATION_PAYLOAD))
        return false;
    t->how = GRAPH_FLAG;
    t->num = 1;
    return true;
}

static int string_tests(const struct blob *b, struct budget *g, const struct blob_node *n,
                        struct graph_test *t, struct alternatives *out, struct bk_err *err)
{
    struct span code;
    int r;
    if (n->filter & BLOB_REGEX_FORM || b->era == BLOB_A)
        r = regex_text(b, g, n->arg, t, err);
    else if (b->era == BLOB_B)
        r = typed_test(b, n, t, err);
    else
        return blob_record(b, n->arg, &code, err) < 0
                   ? -1
                   : pattern_tests(b, g, code, t->filter, out, err);
    return r < 0 ? -1 : alternatives_add(g, out, t, n->offset, err);
}

bool blob_is_negated(const struct blob *b, const struct blob_node *n)
{
    enum vocab_filter f = blob_filter_name(b, n->filter);
    struct graph_test t = {.filter = (uint16_t)f};
    return f != FILTER_NONE && f != FILTER_ENTITLEMENT_BOOLEAN &&
           vocab_filters[f].arg == ARG_BOOL && n->arg == 0 && !blob_flag_is_zero(b, f) &&
           !takes_nothing(b, &t);
}

int blob_tests(const struct blob *b, struct budget *g, const struct blob_node *n,
               struct alternatives *out, struct bk_err *err)
{
    enum vocab_filter filter = blob_filter_name(b, n->filter);
    if (b->era == BLOB_D && n->filter == D_SYSCALL_MASK)
        return mask_tests(b, g, n, out, err);
    if (filter == FILTER_NONE)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: unknown filter 0x%02x", n->offset,
                       n->filter);
    uint8_t arg = vocab_filters[filter].arg;
    struct graph_test t = {.filter = (uint16_t)filter};
    if (arg == ARG_PATH || arg == ARG_STRING)
        return string_tests(b, g, n, &t, out, err);
    if (n->filter & BLOB_REGEX_FORM)
        return arg == ARG_INT && b->era == BLOB_E ? bitmap_tests(b, g, n, t.filter, out, err)
                                                  : unknown_form(n, err);
    int r = takes_nothing(b, &t) ? 0 : plain_test(b, n, &t, err);
    return r < 0 ? -1 : alternatives_add(g, out, &t, n->offset, err);
}
