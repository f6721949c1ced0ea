/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: how an answer is divided and framed, and its bytes; the bytes 0x80 and up stand for forms
 * of two secrets. However it is divided, as much goes out as came in, nothing of a secret's length
 * waits, no form of a secret leaves whole, and framing stays as it is. Inserted into a body, a
 * placeholder that was whole becomes its secret.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "net/secrets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const values[] = {"ghp_Ab3dEf6hIj9/kLm", "abababababababab"};
static char fakes[2][32] = {"ghp_Zz0zZz0zZz0/zZz", "zbzbzbzbzbzbzbzb"};
static struct secrets all;

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void begin(void)
{
    static const struct secret_place place = {.host = "a.b"};
    for (size_t i = 0; i < 2 && all.n < 2; i++) {
        struct secret one = {values[i], fakes[i], strlen(values[i]), &place, 1, SECRET_IN_BODY};
        require(secrets_add(&all, &one) == 0);
    }
}

static void expand(const uint8_t *data, size_t n, bool insert, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct secret_form *f = &all.forms[data[i] % all.nforms];
        if (data[i] >= 0x80)
            buf_add(out, insert ? f->fake : f->value, f->n);
        else
            buf_add(out, (const char *)&data[i], 1);
    }
}

static void check_hidden(const char *text, size_t n)
{
    for (size_t i = 0; i < all.nforms; i++)
        require(!memmem(text, n, all.forms[i].value, all.forms[i].n));
}

/* One body without framing, in parts of these sizes. */
static void check(const struct buf *text, const uint8_t *cuts, size_t ncuts, enum secrets_way way,
                  struct buf *got)
{
    struct secrets_flow f = {.way = way};
    for (size_t at = 0, i = 0; at < text->n; i++) {
        size_t part = 1 + cuts[i % ncuts];
        part = text->n - at < part ? text->n - at : part;
        secrets_flow_add(&f, text->s + at, part, true);
        at += part;
        ssize_t ready = secrets_flow_ready(&all, 3, &f, at == text->n);
        require(ready >= 0 && f.raw.n - (size_t)ready < all.longest);
        buf_add(got, f.raw.s, (size_t)ready);
        secrets_flow_sent(&f, (size_t)ready);
    }
    require(got->n == text->n);
    secrets_flow_free(&f);
}

/* Chunks of one byte each: framing is untouched, and the bytes between are hidden. */
static void check_framed(const struct buf *text)
{
    struct secrets_flow f = {0};
    OWN(buf) struct buf body = {0};
    for (size_t i = 0; i < text->n; i++) {
        secrets_flow_add(&f, "1\r\n", 3, false);
        secrets_flow_add(&f, text->s + i, 1, true);
        secrets_flow_add(&f, "\r\n", 2, false);
    }
    require(secrets_flow_ready(&all, 3, &f, true) == (ssize_t)(6 * text->n));
    for (size_t i = 0; i < text->n; i++) {
        require(memcmp(f.raw.s + 6 * i, "1\r\n", 3) == 0 &&
                memcmp(f.raw.s + 6 * i + 4, "\r\n", 2) == 0);
        buf_add(&body, f.raw.s + 6 * i + 3, 1);
    }
    check_hidden(body.s, body.n);
    secrets_flow_free(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { CUTS = 4 };
    OWN(buf) struct buf text = {0}, got = {0}, fake = {0}, filled = {0}, whole = {0};
    static const uint8_t at_once[1] = {255};
    begin();
    if (size <= CUTS || size > 400)
        return 0;
    expand(data + CUTS, size - CUTS, false, &text);
    check(&text, data, CUTS, SECRETS_HIDE, &got);
    check_hidden(got.s, got.n);
    check_framed(&text);
    expand(data + CUTS, size - CUTS, true, &fake);
    check(&fake, data, CUTS, SECRETS_INSERT, &filled);
    check(&fake, at_once, 1, SECRETS_INSERT, &whole);
    require(filled.n == whole.n && memcmp(filled.s, whole.s, whole.n) == 0);
    secrets_answer_is_encoded((const char *)data, size);
    return 0;
}
