/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Era E, as macOS 14.4.1 writes it. Paths are lowercased, because its kernel lowercases what it
 * compares; alternatives on the same filter become one pattern.
 */

#include <string.h>

#include "base/own.h"
#include "format/encode-int.h"
#include "graph/words.h"

enum {
    MOD_INLINED = 0x800000,
    NET_LOCALHOST = 0x100,
    TEXT_ARG = 3, /* of vocab_modifier_info */
};

static int unknown_filter(const struct graph_test *t, const struct encoder *e, struct bk_err *err)
{
    return err_set(err, BK_E_INPUT, "filter %s does not exist in %s", vocab_filters[t->filter].name,
                   e->version->name);
}

static int cannot(const struct graph_test *t, const char *why, struct bk_err *err)
{
    OWN(buf) struct buf text = {0};
    graph_test_print(t, &text);
    return err_set(err, BK_E_INPUT, "%.200s: %s", text.s ? text.s : "a filter", why);
}

/* ---- strings ---- */

static bool is_string(const struct graph_test *t)
{
    uint8_t arg = vocab_filters[t->filter].arg;
    return (arg == ARG_PATH || arg == ARG_STRING) && t->how <= GRAPH_SUBPATH;
}

/* As one pattern, or as several when that is too large. */
static int add_pattern(struct encoder *e, const struct graph_test *const *tests, uint32_t n,
                       struct wires *out, struct bk_err *err)
{
    OWN(buf) struct buf code = {0};
    struct arena scratch;
    uint16_t at;
    arena_init(&scratch, 64 << 20);
    bool fits = pattern_code(&scratch, tests, n, vocab_filter_is_path(tests[0]->filter), &code);
    arena_free(&scratch);
    if (fits) {
        if (pool_add_counted(e, code.s, code.n, &at, err) < 0)
            return -1;
        return wires_add_record(e, out, (unsigned)vocab_filters[tests[0]->filter].id_14_4_1, at,
                                REFERS_TO_RECORD, err);
    }
    if (n == 1)
        return cannot(tests[0], "the string cannot be written as a pattern", err);
    if (add_pattern(e, tests, n / 2, out, err) < 0)
        return -1;
    return add_pattern(e, tests + n / 2, n - n / 2, out, err);
}

/* Adds all strings of the first one's filter and marks them as done. */
static int add_strings(struct encoder *e, const struct graph_test *const *tests, uint32_t n,
                       uint32_t first, bool *done, struct wires *out, struct bk_err *err)
{
    const struct graph_test **group = arena_array(&e->arena, n, sizeof(*group));
    uint32_t count = 0;
    if (!group)
        return encode_nomem(e, err);
    for (uint32_t i = first; i < n; i++) {
        if (done[i] || tests[i]->filter != tests[first]->filter || !is_string(tests[i]))
            continue;
        done[i] = true;
        group[count++] = tests[i];
    }
    return add_pattern(e, group, count, out, err);
}

static int add_regex(struct encoder *e, const struct graph_test *t, struct wires *out,
                     struct bk_err *err)
{
    OWN(buf) struct buf code = {0};
    struct arena scratch;
    uint16_t at, index;
    arena_init(&scratch, 64 << 20);
    int r = encode_kept_regex(e, t, 3, &code)
                ? 0
                : regex_code_v3(&scratch, t, vocab_filter_is_path(t->filter), &code, err);
    arena_free(&scratch);
    if (r < 0 || pool_add_counted(e, code.s, code.n, &at, err) < 0 ||
        encode_regex_index(e, at, &index, err) < 0)
        return -1;
    return wires_add_record(e, out, (unsigned)vocab_filters[t->filter].id_14_4_1 | BLOB_REGEX_FORM,
                            index, REFERS_TO_REGEX, err);
}

/* ---- the rest ---- */

static int add_name(struct encoder *e, const struct graph_test *t, struct wires *out,
                    struct bk_err *err)
{
    uint16_t at;
    OWN(buf) struct buf text = {0};
    if (t->len && memchr(t->str, '\0', t->len))
        return cannot(t, "the name contains a NUL byte", err);
    buf_add(&text, t->str, t->len);
    put8(&text, 0);
    if (!buf_ok(&text) || pool_add_counted(e, text.s, text.n, &at, err) < 0)
        return text.failed ? err_nomem(err) : -1;
    return wires_add_record(e, out, (unsigned)vocab_filters[t->filter].id_14_4_1, at,
                            REFERS_TO_RECORD, err);
}

/* KEY=VALUE: a node that names the key, and behind it one that tests its value. */
static int add_entitlement(struct encoder *e, const struct graph_test *t, struct wires *out,
                           struct bk_err *err)
{
    OWN(buf) struct buf key = {0}, value = {0};
    graph_entitlement_split(t, &key, &value);
    if (!buf_ok(&key) || !buf_ok(&value))
        return err_nomem(err);
    struct graph_test load = {.filter = FILTER_ENTITLEMENT_LOAD, .how = GRAPH_LITERAL};
    load.str = key.s;
    load.len = (uint32_t)key.n;
    struct graph_test rest = {.filter = t->filter, .how = t->how};
    rest.str = value.s;
    rest.len = (uint32_t)value.n;
    const struct graph_test *one = &rest;
    if (add_name(e, &load, out, err) < 0)
        return -1;
    out->at[out->n - 1].names = true;
    if (t->filter == FILTER_ENTITLEMENT_IS_BOOL_FALSE)
        return wires_add(e, out, (unsigned)vocab_filters[FILTER_ENTITLEMENT_BOOLEAN].id_14_4_1, 0,
                         err);
    return t->how == GRAPH_REGEX ? add_regex(e, &rest, out, err)
                                 : add_pattern(e, &one, 1, out, err);
}

static int add_network(struct encoder *e, const struct graph_test *t, struct wires *out,
                       struct bk_err *err)
{
    const struct net_endpoint *net = &t->net;
    bool any_port = net->port_lo == 0 && net->port_hi == UINT16_MAX;
    OWN(buf) struct buf record = {0};
    uint16_t at;
    if (net->proto & NET_UNIX) /* a socket of that domain */
        return wires_add(e, out, (unsigned)vocab_filters[FILTER_SOCKET_DOMAIN].id_14_4_1, 1, err);
    if (net->host == NET_HOST_ADDRESS)
        return cannot(t, "only * and localhost can be compiled, not addresses", err);
    if (!any_port && (net->port_lo != net->port_hi || !net->port_lo))
        return cannot(t, "only single ports can be compiled, not ranges", err);
    put16(&record, net->proto | (net->host == NET_HOST_LOCALHOST ? (unsigned)NET_LOCALHOST : 0));
    put16(&record, any_port ? 0 : net->port_lo);
    if (!buf_ok(&record) || pool_add(e, record.s, record.n, &at, err) < 0)
        return record.failed ? err_nomem(err) : -1;
    return wires_add_record(e, out, (unsigned)vocab_filters[t->filter].id_14_4_1, at,
                            REFERS_TO_RECORD, err);
}

static int add_other(struct encoder *e, const struct graph_test *t, struct wires *out,
                     struct bk_err *err)
{
    unsigned id = (unsigned)vocab_filters[t->filter].id_14_4_1;
    switch ((enum graph_how)t->how) {
    case GRAPH_INT:
    case GRAPH_MODE:
        if (t->num < 0 || t->num > UINT16_MAX)
            return cannot(t, "the number does not fit into 16 bits", err);
        return wires_add(e, out, id, (unsigned)t->num, err);
    case GRAPH_FLAG:
        return wires_add(e, out, id, 1, err);
    case GRAPH_NET:
        return add_network(e, t, out, err);
    case GRAPH_REGEX:
        return add_regex(e, t, out, err);
    case GRAPH_LITERAL:
        return add_name(e, t, out, err);
    default:
        return cannot(t, "this form cannot be compiled", err);
    }
}

/* A regex that is ^ and plain bytes, and then $ or nothing or .*, is a string or a prefix. Regexes
 * of a compiled profile stay as they are. */
static int as_string(struct encoder *e, const struct graph_test *t, const struct graph_test **out,
                     struct bk_err *err)
{
    uint8_t arg = vocab_filters[t->filter].arg;
    *out = t;
    if (t->how != GRAPH_REGEX || (arg != ARG_PATH && arg != ARG_STRING) || t->len < 2 ||
        t->str[0] != '^' || graph_options_of(e->g)->apart)
        return 0;
    char *text = arena_alloc(&e->arena, t->len + 1u);
    struct graph_test *plain = arena_new(&e->arena, struct graph_test);
    if (!text || !plain)
        return encode_nomem(e, err);
    uint32_t n = 0, i = 1, end = t->len;
    bool whole = t->str[end - 1] == '$' && t->str[end - 2] != '\\';
    bool open =
        !whole && end > 3 && memcmp(t->str + end - 2, ".*", 2) == 0 && t->str[end - 3] != '\\';
    end -= whole ? 1 : open ? 2 : 0;
    for (; i < end; i++) {
        if (t->str[i] == '\\' && i + 1 < end)
            i++;
        else if (!t->str[i] || strchr("\\.^$*+?()[]{}|", t->str[i]))
            return 0;
        text[n++] = t->str[i];
    }
    if (!n)
        return 0;
    *plain = (struct graph_test){
        .filter = t->filter, .how = whole ? GRAPH_LITERAL : GRAPH_PREFIX, .str = text, .len = n};
    *out = plain;
    return 0;
}

static int tests_e(struct encoder *e, const struct graph_test *const *written, uint32_t n,
                   struct wires *out, struct bk_err *err)
{
    bool *done = arena_array(&e->arena, n, sizeof(*done));
    const struct graph_test **tests = arena_array(&e->arena, n, sizeof(*tests));
    if (!done || !tests)
        return encode_nomem(e, err);
    for (uint32_t i = 0; i < n; i++)
        if (as_string(e, written[i], &tests[i], err) < 0)
            return -1;
    memset(done, 0, n * sizeof(*done));
    for (uint32_t i = 0; i < n; i++) {
        const struct graph_test *t = tests[i];
        if (done[i])
            continue;
        bool keyed = graph_test_is_keyed_value(t);
        if (!keyed && vocab_filters[t->filter].id_14_4_1 < 0)
            return unknown_filter(t, e, err);
        int r = keyed          ? add_entitlement(e, t, out, err)
                : is_string(t) ? add_strings(e, tests, n, i, done, out, err)
                               : add_other(e, t, out, err);
        if (r < 0)
            return -1;
    }
    return 0;
}

/* ---- decisions ---- */

static int put_modifier(struct encoder *e, const struct graph_mod *m, struct out_node *out,
                        struct bk_err *err)
{
    const struct vocab_modifier_info *info = &vocab_modifiers[m->id];
    uint16_t at;
    if (info->arg != TEXT_ARG || !m->str)
        return err_set(err, BK_E_INPUT, "(with %s …): how it is written is not established",
                       info->name);
    if (pool_add_counted(e, m->str, strlen(m->str) + 1, &at, err) < 0)
        return -1;
    out->bytes[4] = (uint8_t)info->id_13_0;
    out->bytes[6] = (uint8_t)at;
    out->bytes[7] = (uint8_t)(at >> 8);
    out->refers = REFERS_TO_RECORD;
    return 0;
}

static void put_policy(const struct policy *p, uint32_t index, struct out_node *out)
{
    out->bytes[4] = (uint8_t)vocab_modifiers[MOD_MESSAGE_FILTER].id_13_0;
    out->bytes[5] = (uint8_t)p->op;
    out->bytes[6] = (uint8_t)index;
    out->bytes[7] = (uint8_t)(index >> 8);
}

static int decision_e(struct encoder *e, const struct graph_node *n, struct out_node *out,
                      struct bk_err *err)
{
    uint32_t flags = n->flags, index = 0, count = 0;
    const struct policy *policy = encode_policy(e, n, &index);
    if (flags >= MOD_INLINED)
        return err_set(err, BK_E_BUG, "a decision's flags 0x%x cannot be written", flags);
    for (uint32_t i = 0; i < n->nmods; i++) {
        const struct graph_mod *m = graph_mod_at(e->g, n->mods + i);
        if (m->id == MOD_MESSAGE_FILTER)
            continue;
        count++;
        if (put_modifier(e, m, out, err) < 0)
            return -1;
    }
    if (policy) {
        count++;
        put_policy(policy, index, out);
    }
    if (count > 1)
        return err_set(err, BK_E_INPUT,
                       "a rule with several modifiers: how they are written is not established");
    flags |= count ? MOD_INLINED : 0;
    out->bytes[1] = (uint8_t)flags;
    out->bytes[2] = (uint8_t)(flags >> 8);
    out->bytes[3] = (uint8_t)(flags >> 16);
    return 0;
}

/* ---- the file ---- */

static int write_e(struct encoder *e, struct buf *out, struct bk_err *err)
{
    if (pool_sort(e, err) < 0)
        return -1;
    put16(out, e->npolicies ? BLOB_MESSAGE_FILTERS : 0);
    put16(out, e->nnodes);
    put8(out, e->version->nops);
    put8(out, 0);  /* variables */
    put16(out, 0); /* states, padding */
    put16(out, 0); /* profiles */
    put16(out, e->nregexes);
    put16(out, e->npolicies);
    for (uint32_t i = 0; i < e->nregexes; i++)
        put16(out, e->regexes[i]);
    for (uint32_t i = 0; i < e->npolicies; i++)
        put16(out, e->nnodes - 1 - e->placed[e->policies[i].entry]);
    for (uint32_t id = 0; id < e->version->nops; id++)
        put16(out, e->nnodes - 1 - e->ops[id]);
    put_padding(out, BLOB_NODE_SIZE);
    encode_nodes(e, 0, out);
    if (e->pool.bytes.n)
        buf_add(out, e->pool.bytes.s, e->pool.bytes.n);
    return buf_ok(out) ? 0 : err_nomem(err);
}

const struct encode_era encode_era_e = {
    .tests = tests_e, .decision = decision_e, .write = write_e, .lists = true};
