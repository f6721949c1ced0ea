/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Entitlements in DER, which newer signatures have beside the property list:
 *
 *   [APPLICATION 16] { INTEGER 1, [CONTEXT 16] { SEQUENCE { UTF8String key, value } … } }
 *
 * A value is a BOOLEAN, an INTEGER, a UTF8String, a SEQUENCE of values, or [CONTEXT 16] again.
 */

#include <string.h>

#include "base/own.h"
#include "entitlements/entitlements.h"

enum {
    DER_BOOLEAN = 0x01,
    DER_INTEGER = 0x02,
    DER_UTF8 = 0x0c,
    DER_SEQUENCE = 0x30,
    DER_APPLICATION_16 = 0x70,
    DER_CONTEXT_16 = 0xb0,
};

struct der {
    const unsigned char *start, *p;
    size_t n;
    struct bk_err *err;
};

/* One element: its tag and its content. */
struct element {
    unsigned tag;
    struct der in;
};

static int bad(const struct der *d, const char *what)
{
    return err_set(d->err, BK_E_INPUT, "offset 0x%zx of the DER entitlements: %s",
                   (size_t)(d->p - d->start), what);
}

/* Lengths have their shortest form, as DER has it. */
static int next(struct der *d, struct element *out)
{
    if (d->n < 2)
        return bad(d, "an element is missing");
    size_t len = d->p[1], head = 2;
    if (len >= 0x80) {
        size_t bytes = len & 0x7f;
        if (bytes == 0 || bytes > 4 || d->n < 2 + bytes || d->p[2] == 0)
            return bad(d, "a length that DER does not have");
        len = 0;
        for (size_t i = 0; i < bytes; i++)
            len = len << 8 | d->p[2 + i];
        head += bytes;
        if (len < 0x80)
            return bad(d, "a length that DER does not have");
    }
    if (len > d->n - head)
        return bad(d, "an element reaches past the end");
    *out = (struct element){d->p[0], {d->start, d->p + head, len, d->err}};
    d->p += head + len;
    d->n -= head + len;
    return 0;
}

static int want(struct der *d, unsigned tag, struct element *out)
{
    const struct der at = *d;
    if (next(d, out) < 0)
        return -1;
    return out->tag == tag ? 0 : bad(&at, "an element of another kind was expected");
}

static int write_value(const struct element *e, int depth, struct buf *out);

static int write_pairs(struct der d, int depth, struct buf *out)
{
    buf_chr(out, '{');
    for (bool first = true; d.n; first = false) {
        struct element pair, key, value;
        if (want(&d, DER_SEQUENCE, &pair) < 0 || want(&pair.in, DER_UTF8, &key) < 0 ||
            next(&pair.in, &value) < 0)
            return -1;
        if (pair.in.n)
            return bad(&pair.in, "more than a key and a value");
        if (!first)
            buf_chr(out, ',');
        buf_json(out, (const char *)key.in.p, key.in.n);
        buf_chr(out, ':');
        if (write_value(&value, depth + 1, out) < 0)
            return -1;
    }
    buf_chr(out, '}');
    return 0;
}

static int write_list(struct der d, int depth, struct buf *out)
{
    buf_chr(out, '[');
    for (bool first = true; d.n; first = false) {
        struct element value;
        if (next(&d, &value) < 0)
            return -1;
        if (!first)
            buf_chr(out, ',');
        if (write_value(&value, depth + 1, out) < 0)
            return -1;
    }
    buf_chr(out, ']');
    return 0;
}

static int write_integer(const struct der *d, struct buf *out)
{
    if (d->n == 0 || d->n > 8)
        return bad(d, "a number that does not fit");
    int64_t v = d->p[0] & 0x80 ? -1 : 0;
    for (size_t i = 0; i < d->n; i++)
        v = (int64_t)((uint64_t)v << 8 | d->p[i]);
    buf_fmt(out, "%lld", (long long)v);
    return 0;
}

static int write_value(const struct element *e, int depth, struct buf *out)
{
    if (depth > ENTITLEMENTS_DEPTH)
        return err_set(e->in.err, BK_E_LIMIT, "the entitlements are nested more than %d deep",
                       ENTITLEMENTS_DEPTH);
    switch (e->tag) {
    case DER_BOOLEAN:
        if (e->in.n != 1)
            return bad(&e->in, "a boolean of several bytes");
        buf_str(out, e->in.p[0] ? "true" : "false");
        return 0;
    case DER_INTEGER:
        return write_integer(&e->in, out);
    case DER_UTF8:
        buf_json(out, (const char *)e->in.p, e->in.n);
        return 0;
    case DER_SEQUENCE:
        return write_list(e->in, depth, out);
    case DER_CONTEXT_16:
        return write_pairs(e->in, depth, out);
    default:
        return bad(&e->in, "a value of an unknown kind");
    }
}

int der_to_json(const unsigned char *bytes, size_t n, struct buf *json, struct bk_err *err)
{
    struct der d = {bytes, bytes, n, err};
    struct element all = {0}, version, pairs;
    if (want(&d, DER_APPLICATION_16, &all) < 0)
        return -1;
    if (d.n)
        return bad(&d, "bytes behind the entitlements");
    if (want(&all.in, DER_INTEGER, &version) < 0)
        return -1;
    if (version.in.n != 1 || version.in.p[0] != 1)
        return bad(&version.in, "an unknown version");
    if (want(&all.in, DER_CONTEXT_16, &pairs) < 0)
        return -1;
    if (all.in.n)
        return bad(&all.in, "bytes behind the entitlements");
    return write_pairs(pairs.in, 0, json) < 0 ? -1 : json->failed ? err_nomem(err) : 0;
}
