/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Opening: which era, where its tables lie, and whether every count and edge stays inside. Nothing
 * is followed before this is done; what comes after relies on it.
 */

#include <string.h>

#include "format/format-int.h"

enum { E_HEADER = 14, A_HEADER = 4, BINARY_WITHIN = 512 };

static const uint16_t E_FLAGS = BLOB_COLLECTION | BLOB_MESSAGE_FILTERS;

/* A text begins with a form, a comment or white space, whatever stands in it later. */
bool blob_is_binary(const void *data, size_t n)
{
    static const char text[] = "(;# \t\r\n\xef";
    if (n == 0 || memchr(text, *(const char *)data, sizeof(text) - 1))
        return false;
    return memchr(data, '\0', n < BINARY_WITHIN ? n : BINARY_WITHIN) != NULL;
}

const char *blob_era_words(enum blob_era era)
{
    static const char *const words[] = {
        [BLOB_NONE] = "unknown", [BLOB_A] = "A (Mac OS X 10.6, iOS 4)", [BLOB_E] = "E (macOS 14)"};
    return words[era];
}

/* ---- names ---- */

/* Operations that an operation table of this version has; messages' come behind them. */
static uint32_t ops_in(enum vocab_os os)
{
    uint32_t n = 0;
    for (uint32_t op = 0; op < OP_COUNT; op++)
        if (!vocab_ops[op].message_filter && vocab_ops[op].ids[os] >= (int)n)
            n = (uint32_t)vocab_ops[op].ids[os] + 1;
    return n;
}

static enum vocab_op op_with_id(enum vocab_os os, uint32_t id)
{
    for (uint32_t op = 0; op < OP_COUNT; op++)
        if (vocab_ops[op].ids[os] == (int)id)
            return (enum vocab_op)op;
    return OP_NONE;
}

enum vocab_op blob_op_name(const struct blob *b, uint32_t id)
{
    if (b->era == BLOB_E)
        return b->nops == ops_in(VOCAB_MACOS_14_4_1) ? op_with_id(VOCAB_MACOS_14_4_1, id) : OP_NONE;
    if (b->nops == ops_in(VOCAB_IOS_4))
        return op_with_id(VOCAB_IOS_4, id);
    /* 10.6: what its one sample shows */
    return id == 0 ? OP_DEFAULT : id == 5 ? OP_FILE_READ_DATA : OP_NONE;
}

static const uint16_t ios4[] = {
    [1] = FILTER_PATH,           [2] = FILTER_XATTR,       [3] = FILTER_FILE_MODE,
    [4] = FILTER_IPC_POSIX_NAME, [5] = FILTER_GLOBAL_NAME, [6] = FILTER_LOCAL_NAME,
    [7] = FILTER_LOCAL,          [8] = FILTER_REMOTE,      [9] = FILTER_SOCKET_DOMAIN,
    [10] = FILTER_TARGET,
};

/* Addresses are not established in era A. */
int blob_filter_id_a(enum vocab_filter filter)
{
    for (int i = 1; i < (int)(sizeof(ios4) / sizeof(ios4[0])); i++)
        if (ios4[i] == filter && vocab_filters[filter].arg != ARG_NETWORK)
            return i;
    return -1;
}

enum vocab_filter blob_filter_name(const struct blob *b, uint8_t id)
{
    if (b->era == BLOB_A)
        return id && id < sizeof(ios4) / sizeof(ios4[0]) ? (enum vocab_filter)ios4[id]
                                                         : FILTER_NONE;
    for (uint32_t f = 0; f < FILTER_COUNT; f++)
        if (vocab_filters[f].id_14_4_1 == (id & 0x7f))
            return (enum vocab_filter)f;
    return FILTER_NONE;
}

/* ---- reading what was checked ---- */

static uint32_t edge(const struct blob *b, const uint8_t *p)
{
    uint32_t v = get16(p);
    return b->era == BLOB_A ? v - (uint32_t)(b->nodes / BLOB_NODE_SIZE) : v;
}

uint32_t blob_op_entry(const struct blob *b, uint32_t op)
{
    return edge(b, b->data + b->ops + 2 * (size_t)op);
}

struct blob_node blob_node_at(const struct blob *b, uint32_t node)
{
    struct blob_node n = {.offset = b->nodes + (size_t)node * BLOB_NODE_SIZE};
    const uint8_t *p = b->data + n.offset;
    n.terminal = p[0] == 1;
    if (!n.terminal) {
        n.filter = p[1];
        n.arg = get16(p + 2);
        n.match = edge(b, p + 4);
        n.unmatch = edge(b, p + 6);
        return n;
    }
    if (b->era == BLOB_A) {
        n.flags = get16(p + 2);
        return n;
    }
    n.flags = (uint32_t)p[1] | (uint32_t)p[2] << 8 | (uint32_t)(p[3] & 0x7f) << 16;
    n.inlined = p[3] & 0x80;
    n.mod = p[4];
    n.mod_op = p[5];
    n.mod_arg = get16(p + 6);
    return n;
}

int blob_pool(const struct blob *b, uint16_t arg, struct span *out, struct bk_err *err)
{
    size_t at = b->pool + (size_t)arg * 8;
    if (at > b->size || b->size - at < 2)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: outside of the file, which ends at 0x%zx",
                       at, b->size);
    size_t n = get16(b->data + at);
    if (b->size - at - 2 < n)
        return err_set(err, BK_E_INPUT,
                       "offset 0x%zx: a length of %zu goes beyond the file's end at 0x%zx", at, n,
                       b->size);
    *out = (struct span){b->data + at + 2, n, at + 2};
    return 0;
}

int blob_variable(const struct blob *b, uint32_t index, size_t offset, struct span *name,
                  struct bk_err *err)
{
    if (index >= b->nvars)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: variable %u of %u", offset, index, b->nvars);
    if (blob_pool(b, get16(b->data + b->vars + 2 * (size_t)index), name, err) < 0)
        return -1;
    if (name->n && name->p[name->n - 1] == '\0')
        name->n--;
    return name->n && memchr(name->p, '\0', name->n)
               ? err_set(err, BK_E_INPUT, "offset 0x%zx: a name holds a NUL byte", name->offset)
               : 0;
}

/* ---- checking ---- */

static int check_node(const struct blob *b, uint32_t i, struct bk_err *err)
{
    size_t at = b->nodes + (size_t)i * BLOB_NODE_SIZE;
    if (b->data[at] > 1)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: node %u is of kind %u, not 0 or 1", at, i,
                       b->data[at]);
    struct blob_node n = blob_node_at(b, i);
    if (!n.terminal && (n.match >= b->nnodes || n.unmatch >= b->nnodes))
        return err_set(err, BK_E_INPUT, "offset 0x%zx: node %u leads out of the %u nodes", at, i,
                       b->nnodes);
    return 0;
}

static int check_edges(const struct blob *b, struct bk_err *err)
{
    bool table = !(b->flags & BLOB_COLLECTION);
    for (uint32_t op = 0; table && op < b->nops; op++)
        if (blob_op_entry(b, op) >= b->nnodes)
            return err_set(err, BK_E_INPUT,
                           "offset 0x%zx: operation %u begins outside of the %u nodes",
                           b->ops + 2 * (size_t)op, op, b->nnodes);
    for (uint32_t i = 0; i < b->npolicies; i++)
        if (get16(b->data + b->policies + 2 * (size_t)i) >= b->nnodes)
            return err_set(err, BK_E_INPUT,
                           "offset 0x%zx: message filter %u begins outside of the %u nodes",
                           b->policies + 2 * (size_t)i, i, b->nnodes);
    for (uint32_t i = 0; i < b->nnodes; i++)
        if (check_node(b, i, err) < 0)
            return -1;
    return 0;
}

/* The next table of `count` entries of `size` bytes. */
static int lay_out(const struct blob *b, size_t *at, size_t count, size_t size, const char *what,
                   size_t *where, struct bk_err *err)
{
    if (count * size > b->size - *at)
        return err_set(err, BK_E_INPUT,
                       "offset 0x%zx: %zu %s do not fit into the file, which ends at 0x%zx", *at,
                       count, what, b->size);
    *where = *at;
    *at += count * size;
    return 0;
}

static int pad(const struct blob *b, size_t *at, struct bk_err *err)
{
    for (; *at % BLOB_NODE_SIZE; (*at)++)
        if (*at >= b->size || b->data[*at])
            return err_set(err, BK_E_INPUT, "offset 0x%zx: a byte of padding is not 0", *at);
    return 0;
}

static bool looks_like_e(const uint8_t *p, size_t n)
{
    return n >= E_HEADER && !(get16(p) & ~E_FLAGS) && get16(p + 2) && p[4] && !p[7] &&
           !(get16(p) & BLOB_COLLECTION) == !get16(p + 8);
}

static int open_e(struct blob *b, struct bk_err *err)
{
    const uint8_t *p = b->data;
    size_t at = E_HEADER;
    b->era = BLOB_E;
    b->flags = get16(p);
    b->nnodes = get16(p + 2);
    b->nops = p[4];
    b->nvars = p[5];
    b->nstates = p[6];
    b->nprofiles = get16(p + 8);
    b->nregexes = get16(p + 10);
    b->npolicies = get16(p + 12);
    /* a collection's profile: name, a word that is not established, its operation table */
    size_t rows = b->flags & BLOB_COLLECTION ? b->nprofiles : 1;
    size_t row = 2 * (size_t)b->nops + (b->flags & BLOB_COLLECTION ? 4 : 0);
    if (lay_out(b, &at, b->nregexes, 2, "regexes", &b->regexes, err) < 0 ||
        lay_out(b, &at, b->nvars, 2, "variables", &b->vars, err) < 0 ||
        lay_out(b, &at, b->nstates, 2, "states", &b->states, err) < 0 ||
        lay_out(b, &at, b->npolicies, 2, "message filters", &b->policies, err) < 0 ||
        lay_out(b, &at, rows, row, "operation tables", &b->ops, err) < 0 || pad(b, &at, err) < 0 ||
        lay_out(b, &at, b->nnodes, BLOB_NODE_SIZE, "nodes", &b->nodes, err) < 0)
        return -1;
    b->pool = at;
    return check_edges(b, err);
}

/* Era A says nowhere how many operations it has: the table ends where padding or the first node
 * begins, and the first node is the lowest that an operation names. */
static void count_ops_a(struct blob *b)
{
    size_t end = b->regexes;
    uint32_t n = 0;
    for (size_t at = A_HEADER; at + 2 <= end && at + 2 <= b->size; at += 2, n++) {
        size_t to = (size_t)get16(b->data + at) * BLOB_NODE_SIZE;
        if (!to)
            break;
        if (to < end)
            end = to;
    }
    b->nops = n;
    b->nodes = end;
}

static int open_a(struct blob *b, struct bk_err *err)
{
    b->era = BLOB_A;
    b->regexes = (size_t)get16(b->data) * BLOB_NODE_SIZE;
    b->nregexes = get16(b->data + 2);
    b->ops = A_HEADER;
    size_t at = b->regexes, where;
    if (at < A_HEADER || at > b->size)
        return err_set(err, BK_E_INPUT,
                       "offset 0x0: the regexes begin at 0x%zx, outside of the file", at);
    if (lay_out(b, &at, b->nregexes, 2, "regexes", &where, err) < 0)
        return -1;
    count_ops_a(b);
    at = A_HEADER + 2 * (size_t)b->nops;
    if (!b->nops || b->nodes < at || b->nodes >= b->regexes)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: there is no operation table of era A", at);
    if (pad(b, &at, err) < 0)
        return -1;
    if (at != b->nodes)
        return err_set(err, BK_E_INPUT,
                       "offset 0x%zx: the nodes should begin here, but none leads below 0x%zx", at,
                       b->nodes);
    b->nnodes = (uint32_t)((b->regexes - b->nodes) / BLOB_NODE_SIZE);
    return check_edges(b, err);
}

int blob_open(struct blob *out, const void *data, size_t n, struct bk_err *err)
{
    struct blob b = {.data = data, .size = n};
    if (n < A_HEADER || !blob_is_binary(data, n))
        return err_set(err, BK_E_INPUT, "not a compiled profile");
    int r = looks_like_e(b.data, n) ? open_e(&b, err) : open_a(&b, err);
    if (r == 0)
        *out = b;
    return r;
}
