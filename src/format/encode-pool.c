/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The encoder's storage: growing arrays, and the pool of records that nodes refer to. */

#include <string.h>

#include "base/hex.h"
#include "base/own.h"
#include "format/encode-int.h"
#include "format/format-int.h"

enum { POOL_UNITS = 65536 };

int encode_nomem(const struct encoder *e, struct bk_err *err)
{
    return e->arena.used >= e->arena.limit / 2
               ? err_set(err, BK_E_LIMIT, "the policy is too large to compile")
               : err_nomem(err);
}

/* ---- arrays and the pool ---- */

void *encode_room(struct encoder *e, void *old, uint32_t n, uint32_t *cap, size_t size)
{
    if (n < *cap)
        return old;
    uint32_t want = *cap ? *cap * 2 : 64;
    void *p = arena_array(&e->arena, want, size);
    if (!p)
        return NULL;
    if (n)
        memcpy(p, old, n * size);
    *cap = want;
    return p;
}

int wires_add(struct encoder *e, struct wires *w, unsigned filter, unsigned arg, struct bk_err *err)
{
    struct wire *at = encode_room(e, w->at, w->n, &w->cap, sizeof(*at));
    if (!at)
        return encode_nomem(e, err);
    w->at = at;
    w->at[w->n++] = (struct wire){.filter = (uint8_t)filter, .arg = (uint16_t)arg};
    return 0;
}

int wires_add_record(struct encoder *e, struct wires *w, unsigned filter, unsigned arg,
                     enum refers refers, struct bk_err *err)
{
    if (wires_add(e, w, filter, arg, err) < 0)
        return -1;
    w->at[w->n - 1].refers = (uint8_t)refers;
    return 0;
}

uint32_t encode_hash(const uint8_t *p, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 16777619u;
    return h;
}

static int pool_grow(struct encoder *e, struct bk_err *err)
{
    struct pool *p = &e->pool;
    uint32_t cap = p->cap ? p->cap * 2 : 128;
    uint32_t *slots = arena_array(&e->arena, 2 * (size_t)cap, sizeof(*slots));
    uint32_t *starts = arena_array(&e->arena, cap, sizeof(*starts));
    uint32_t *ends = arena_array(&e->arena, cap, sizeof(*ends));
    if (!slots || !starts || !ends)
        return encode_nomem(e, err);
    memset(slots, 0, 2 * (size_t)cap * sizeof(*slots));
    p->mask = 2 * cap - 1;
    for (uint32_t i = 0; i < p->n; i++) {
        starts[i] = p->starts[i];
        ends[i] = p->ends[i];
        uint32_t k = encode_hash((uint8_t *)p->bytes.s + starts[i], ends[i] - starts[i]) & p->mask;
        while (slots[k])
            k = (k + 1) & p->mask;
        slots[k] = i + 1;
    }
    p->slots = slots;
    p->starts = starts;
    p->ends = ends;
    p->cap = cap;
    return 0;
}

int pool_add(struct encoder *e, const void *bytes, size_t n, uint16_t *at, struct bk_err *err)
{
    struct pool *p = &e->pool;
    if (p->n == p->cap && pool_grow(e, err) < 0)
        return -1;
    uint32_t k = encode_hash(bytes, n) & p->mask;
    for (uint32_t i; (i = p->slots[k]) != 0; k = (k + 1) & p->mask) {
        uint32_t start = p->starts[i - 1], end = p->ends[i - 1];
        if (end - start == n && memcmp(p->bytes.s + start, bytes, n) == 0) {
            *at = (uint16_t)(start / 8);
            return 0;
        }
    }
    put_padding(&p->bytes, 8);
    if (p->bytes.n / 8 >= POOL_UNITS || n > UINT16_MAX * 8u)
        return err_set(err, BK_E_LIMIT, "the policy's strings take more than %u KiB",
                       POOL_UNITS * 8 / 1024);
    p->starts[p->n] = (uint32_t)p->bytes.n;
    p->ends[p->n] = (uint32_t)(p->bytes.n + n);
    *at = (uint16_t)(p->bytes.n / 8);
    buf_add(&p->bytes, bytes, n);
    p->slots[k] = ++p->n;
    return p->bytes.failed ? err_nomem(err) : 0;
}

int pool_add_counted(struct encoder *e, const void *bytes, size_t n, uint16_t *at,
                     struct bk_err *err)
{
    OWN(buf) struct buf record = {0};
    if (n > UINT16_MAX)
        return err_set(err, BK_E_LIMIT, "a string of more than %u bytes cannot be compiled",
                       UINT16_MAX);
    put16(&record, (unsigned)n);
    buf_add(&record, bytes, n);
    return buf_ok(&record) ? pool_add(e, record.s, record.n, at, err) : err_nomem(err);
}

/* ---- the order of records ---- */

struct sorter {
    struct encoder *e;
    struct buf bytes;   /* the new pool */
    uint32_t *record;   /* by position in the old pool: number of the record + 1 */
    uint32_t *moved;    /* by record: position in the new pool + 1, or 0 */
    uint32_t *stack, n; /* nodes to visit */
    bool *seen;
};

static uint16_t argument(const struct out_node *n)
{
    const uint8_t *p = n->bytes + (n->terminal ? 6 : 2);
    return (uint16_t)(p[0] | p[1] << 8);
}

static void move_record(struct sorter *s, uint16_t at)
{
    const struct pool *p = &s->e->pool;
    uint32_t i = s->record[at] - 1;
    if (s->moved[i])
        return;
    put_padding(&s->bytes, 8);
    s->moved[i] = (uint32_t)(s->bytes.n / 8) + 1;
    buf_add(&s->bytes, p->bytes.s + p->starts[i], p->ends[i] - p->starts[i]);
}

static void visit(struct sorter *s, uint32_t root)
{
    const struct encoder *e = s->e;
    s->stack[s->n++] = root;
    while (s->n) {
        uint32_t at = s->stack[--s->n];
        const struct out_node *n = &e->nodes[at];
        if (s->seen[at])
            continue;
        s->seen[at] = true;
        if (n->refers == REFERS_TO_RECORD)
            move_record(s, argument(n));
        else if (n->refers == REFERS_TO_REGEX)
            move_record(s, e->regexes[argument(n)]);
        if (n->terminal)
            continue;
        s->stack[s->n++] = n->unmatch;
        s->stack[s->n++] = n->match;
    }
}

static void renumber(struct sorter *s)
{
    struct encoder *e = s->e;
    for (uint32_t i = 0; i < e->nnodes; i++) {
        struct out_node *n = &e->nodes[i];
        if (n->refers != REFERS_TO_RECORD)
            continue;
        uint32_t to = s->moved[s->record[argument(n)] - 1] - 1;
        n->bytes[n->terminal ? 6 : 2] = (uint8_t)to;
        n->bytes[n->terminal ? 7 : 3] = (uint8_t)(to >> 8);
    }
    for (uint32_t i = 0; i < e->nregexes; i++)
        e->regexes[i] = (uint16_t)(s->moved[s->record[e->regexes[i]] - 1] - 1);
}

int pool_sort(struct encoder *e, struct bk_err *err)
{
    struct pool *p = &e->pool;
    struct sorter s = {.e = e};
    s.record = arena_array(&e->arena, p->bytes.n / 8 + 1, sizeof(*s.record));
    s.moved = arena_array(&e->arena, p->n + 1u, sizeof(*s.moved));
    s.stack = arena_array(&e->arena, 2 * (size_t)e->nnodes + 1, sizeof(*s.stack));
    s.seen = arena_array(&e->arena, e->nnodes + 1u, sizeof(*s.seen));
    if (!s.record || !s.moved || !s.stack || !s.seen)
        return encode_nomem(e, err);
    memset(s.moved, 0, (p->n + 1u) * sizeof(*s.moved));
    memset(s.seen, 0, (e->nnodes + 1u) * sizeof(*s.seen));
    for (uint32_t i = 0; i < p->n; i++)
        s.record[p->starts[i] / 8] = i + 1;
    for (uint32_t id = 0; id < e->version->nops; id++)
        visit(&s, e->ops[id]);
    for (uint32_t i = e->nnodes; i-- > 0;) /* of message filters */
        visit(&s, i);
    for (uint32_t i = 0; i < p->n; i++) /* of nobody: a regex that was replaced */
        move_record(&s, (uint16_t)(p->starts[i] / 8));
    renumber(&s);
    buf_free(&p->bytes);
    p->bytes = s.bytes;
    return s.bytes.failed ? err_nomem(err) : 0;
}

int encode_regex_index(struct encoder *e, uint16_t at, uint16_t *index, struct bk_err *err)
{
    for (uint32_t i = 0; i < e->nregexes; i++)
        if (e->regexes[i] == at) {
            *index = (uint16_t)i;
            return 0;
        }
    uint16_t *all = encode_room(e, e->regexes, e->nregexes, &e->cap_regexes, sizeof(*all));
    if (!all)
        return encode_nomem(e, err);
    if (e->nregexes == UINT16_MAX)
        return err_set(err, BK_E_LIMIT, "the policy has more than %u regexes", UINT16_MAX);
    e->regexes = all;
    e->regexes[e->nregexes] = at;
    *index = (uint16_t)e->nregexes++;
    return 0;
}

bool encode_kept_regex(const struct encoder *e, const struct graph_test *t, uint32_t version,
                       struct buf *out)
{
    OWN(buf) struct buf key = {0};
    if (t->how != GRAPH_REGEX || !graph_options_of(e->g)->apart)
        return false;
    regex_note_key(t, version, &key);
    const char *hex = buf_ok(&key) ? graph_note(e->g, key.s) : NULL;
    for (const char *p = hex; p && *p; p += 2)
        put8(out, (unsigned)(hex_digit(p[0]) << 4 | hex_digit(p[1])));
    return hex && buf_ok(out);
}
