/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Operations that a single number decides: system calls, Mach traps, fcntl commands. Such an
 * operation first tests whether the number is in the list of allowed ones, which has its own
 * decision; the others are tested one by one.
 */

#include <string.h>

#include "base/own.h"
#include "format/encode-int.h"

enum {
    FCNTL_COMMANDS = 112, /* what the compiler of 14.4.1 considers all of them */
    FCNTL_LISTED = 1024,  /* higher ones are not in the list */
    LIST_MAX = 8191 * 8,
};

struct numbers {
    uint16_t filter;
    uint32_t otherwise; /* canonical decision for unnamed numbers */
    int64_t *nums;
    uint32_t *decisions; /* canonical */
    uint32_t n;
};

/* Returns where the number leads; NULL stands for a number that no test names. */
static uint32_t follow_number(const struct encoder *e, uint32_t canon, const int64_t *num)
{
    while (is_filter(e, canon)) {
        const struct graph_test *t = graph_test_at(e->g, node_of(e, canon)->test);
        canon = num && t->num == *num ? match_of(e, canon) : unmatch_of(e, canon);
    }
    return canon;
}

/* Whether a single number decides everything below, for a filter that takes lists. */
static bool only_numbers(const struct encoder *e, uint32_t canon, struct numbers *out)
{
    static const uint16_t filters[] = {FILTER_SYSCALL_NUMBER, FILTER_MACHTRAP_NUMBER,
                                       FILTER_KERNEL_MIG_ROUTINE, FILTER_FCNTL_COMMAND};
    out->filter =
        is_filter(e, canon) ? graph_test_at(e->g, node_of(e, canon)->test)->filter : FILTER_NONE;
    bool takes = false;
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
        takes = takes || filters[i] == out->filter;
    for (; takes && is_filter(e, canon); canon = unmatch_of(e, canon)) {
        const struct graph_test *t = graph_test_at(e->g, node_of(e, canon)->test);
        if (t->filter != out->filter || t->how != GRAPH_INT || t->num < 0 || t->num >= LIST_MAX ||
            is_filter(e, match_of(e, canon)))
            return false;
        out->n++;
    }
    return takes;
}

static int name_numbers(struct encoder *e, uint32_t canon, struct numbers *out, struct bk_err *err)
{
    out->nums = arena_array(&e->arena, out->n + 1u, sizeof(*out->nums));
    out->decisions = arena_array(&e->arena, out->n + 1u, sizeof(*out->decisions));
    if (!out->nums || !out->decisions)
        return encode_nomem(e, err);
    out->otherwise = follow_number(e, canon, NULL);
    uint32_t n = 0;
    for (uint32_t at = canon; is_filter(e, at); at = unmatch_of(e, at)) {
        int64_t num = graph_test_at(e->g, node_of(e, at)->test)->num;
        uint32_t k = 0;
        while (k < n && out->nums[k] != num)
            k++;
        if (k < n)
            continue;
        out->nums[n] = num;
        out->decisions[n++] = match_of(e, at);
    }
    out->n = n;
    return 0;
}

static bool is_listed(const struct numbers *x, uint32_t i)
{
    return x->filter != FILTER_FCNTL_COMMAND || x->nums[i] < FCNTL_LISTED;
}

/* Sets the bits of numbers that are simply allowed; returns how many there are. */
static uint32_t allowed_numbers(const struct encoder *e, const struct numbers *x, uint8_t *bits,
                                size_t *bytes)
{
    uint32_t count = 0;
    *bytes = 0;
    memset(bits, 0, LIST_MAX / 8);
    if (encode_is_plain_allow(node_of(e, x->otherwise))) {
        if (x->filter != FILTER_FCNTL_COMMAND) /* their total is not established */
            return 0;
        for (unsigned i = 0; i < FCNTL_COMMANDS; i++)
            bits[i / 8] |= (uint8_t)(1 << i % 8);
    }
    for (uint32_t i = 0; i < x->n; i++) {
        if (!is_listed(x, i))
            continue;
        uint8_t bit = (uint8_t)(1 << x->nums[i] % 8);
        bool allow = encode_is_plain_allow(node_of(e, x->decisions[i]));
        bits[x->nums[i] / 8] =
            (uint8_t)(allow ? bits[x->nums[i] / 8] | bit : bits[x->nums[i] / 8] & ~bit);
    }
    for (size_t i = 0; i < LIST_MAX / 8; i++) {
        count += (uint32_t)__builtin_popcount(bits[i]);
        if (bits[i])
            *bytes = i + 1;
    }
    return count;
}

/* Whether a number outside the list needs a separate test. */
static bool needs_test(const struct encoder *e, const struct numbers *x, uint32_t i)
{
    bool allow = encode_is_plain_allow(node_of(e, x->decisions[i])) && is_listed(x, i);
    return !allow && x->decisions[i] != x->otherwise;
}

static int place_others(struct encoder *e, const struct numbers *x, uint32_t *number,
                        struct bk_err *err)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (needs_test(e, x, i) && encode_place(e, x->decisions[i], err) < 0)
            return -1;
    if (encode_place(e, x->otherwise, err) < 0)
        return -1;
    *number = e->placed[x->otherwise];
    for (uint32_t i = x->n; i-- > 0;) {
        struct wire w = {.filter = (uint8_t)vocab_filters[x->filter].id_14_4_1,
                         .arg = (uint16_t)x->nums[i]};
        if (needs_test(e, x, i) &&
            encode_new_filter(e, w, e->placed[x->decisions[i]], *number, number, err) < 0)
            return -1;
    }
    return 0;
}

int encode_numbers(struct encoder *e, uint32_t canon, bool *done, struct bk_err *err)
{
    struct numbers x = {0};
    uint8_t bits[LIST_MAX / 8];
    size_t bytes;
    uint32_t allow, rest;
    uint16_t at;
    if (!e->era->lists || e->placed[canon] != NOT_PLACED || !only_numbers(e, canon, &x))
        return 0;
    if (name_numbers(e, canon, &x, err) < 0)
        return -1;
    if (!allowed_numbers(e, &x, bits, &bytes))
        return 0;
    struct out_node n = {.terminal = true, .bytes = {1}};
    OWN(buf) struct buf record = {0};
    put16(&record, 1);
    put16(&record, (unsigned)bytes);
    buf_add(&record, (const char *)bits, bytes);
    if (encode_new_node(e, &n, &allow, err) < 0 || place_others(e, &x, &rest, err) < 0 ||
        pool_add(e, record.s, record.n, &at, err) < 0)
        return -1;
    struct wire w = {.filter = (uint8_t)(vocab_filters[x.filter].id_14_4_1 | 0x80),
                     .refers = REFERS_TO_RECORD,
                     .arg = at};
    *done = true;
    return encode_new_filter(e, w, allow, rest, &e->placed[canon], err);
}
