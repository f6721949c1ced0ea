/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Era A, as Mac OS X 10.6 and iOS 4 write it: every string is a regex of version 1, even
 * literals.
 */

#include <string.h>

#include "base/own.h"
#include "format/encode-int.h"
#include "format/format-int.h"
#include "graph/words.h"

static int unknown_filter(const struct graph_test *t, const struct encoder *e, struct bk_err *err)
{
    return err_set(err, BK_E_INPUT,
                   "filter %s does not exist in %s, or how it is written is not established",
                   vocab_filters[t->filter].name, e->version->name);
}

static int add_regex(struct encoder *e, const struct graph_test *t, unsigned id, struct wires *out,
                     struct bk_err *err)
{
    OWN(buf) struct buf text = {0}, code = {0}, record = {0};
    struct graph_test regex = *t;
    struct arena scratch;
    uint16_t at, index;
    if (t->how != GRAPH_REGEX) {
        graph_test_regex(t, &text);
        regex.str = text.s;
        regex.len = (uint32_t)text.n;
    }
    if (text.failed)
        return err_nomem(err);
    arena_init(&scratch, 64 << 20);
    int r = encode_kept_regex(e, t, 1, &code) ? 0 : regex_code_v1(&scratch, &regex, &code, err);
    arena_free(&scratch);
    if (r < 0)
        return -1;
    put32(&record, (uint32_t)code.n);
    buf_add(&record, code.s, code.n);
    if (!buf_ok(&record))
        return err_nomem(err);
    if (pool_add(e, record.s, record.n, &at, err) < 0 || encode_regex_index(e, at, &index, err) < 0)
        return -1;
    return wires_add(e, out, id, index, err);
}

static int add_test(struct encoder *e, const struct graph_test *t, struct wires *out,
                    struct bk_err *err)
{
    int id = blob_filter_id_a((enum vocab_filter)t->filter);
    if (id < 0)
        return unknown_filter(t, e, err);
    if (t->how <= GRAPH_REGEX)
        return add_regex(e, t, (unsigned)id, out, err);
    if ((t->how != GRAPH_INT && t->how != GRAPH_MODE) || t->num < 0 || t->num > UINT16_MAX)
        return unknown_filter(t, e, err);
    return wires_add(e, out, (unsigned)id, (unsigned)t->num, err);
}

static int tests_a(struct encoder *e, const struct graph_test *const *tests, uint32_t n,
                   struct wires *out, struct bk_err *err)
{
    for (uint32_t i = 0; i < n; i++)
        if (add_test(e, tests[i], out, err) < 0)
            return -1;
    return 0;
}

/* A plain (deny …) reports. */
static int decision_a(struct encoder *e, const struct graph_node *n, struct out_node *out,
                      struct bk_err *err)
{
    uint32_t plain = n->allow ? 0 : VOCAB_FLAG_DENY | VOCAB_FLAG_REPORT;
    if (n->flags != plain || n->nmods)
        return err_set(err, BK_E_INPUT,
                       "a rule with modifiers: how %s writes it is not established",
                       e->version->name);
    out->bytes[2] = n->allow ? 0 : 1;
    return 0;
}

static int write_a(struct encoder *e, struct buf *out, struct bk_err *err)
{
    size_t nodes = (4 + 2 * (size_t)e->version->nops + 7) / 8;
    size_t table = nodes + e->nnodes;
    size_t pool = table + (2 * (size_t)e->nregexes + 7) / 8;
    if (pool + e->pool.bytes.n / 8 > UINT16_MAX)
        return err_set(err, BK_E_LIMIT, "the policy takes more than 512 KiB in %s",
                       e->version->name);
    put16(out, (unsigned)table);
    put16(out, e->nregexes);
    for (uint32_t id = 0; id < e->version->nops; id++)
        put16(out, (unsigned)(nodes + e->nnodes - 1 - e->ops[id]));
    put_padding(out, BLOB_NODE_SIZE);
    encode_nodes(e, (uint32_t)nodes, out);
    for (uint32_t i = 0; i < e->nregexes; i++)
        put16(out, (unsigned)(pool + e->regexes[i]));
    if (e->pool.bytes.n) {
        put_padding(out, BLOB_NODE_SIZE);
        buf_add(out, e->pool.bytes.s, e->pool.bytes.n);
    }
    return buf_ok(out) ? 0 : err_nomem(err);
}

const struct encode_era encode_era_a = {.tests = tests_a, .decision = decision_a, .write = write_a};
