/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Java reads no PEM files. Its own format is simple: a count, then for each certificate a tag, a
 * name, a date, the kind "X.509" and the bytes; a digest at the end.
 */

#include "kernel/gate/java-store.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/own.h"

enum { MAGIC = 0xfeedfeed, VERSION = 2, TRUSTED = 2, DIGEST = 20, CERTIFICATE_MAX = 64 << 10 };

static void put(struct buf *out, uint64_t value, unsigned bytes)
{
    while (bytes--)
        buf_chr(out, (char)(value >> 8 * bytes));
}

static void put_text(struct buf *out, const char *text)
{
    put(out, strlen(text), 2);
    buf_str(out, text);
}

static bool put_certificate(struct buf *out, const char *text, size_t n, unsigned number)
{
    OWN(buf) struct buf plain = {0};
    char name[32];
    for (size_t i = 0; i < n; i++)
        if (text[i] != '\n' && text[i] != '\r')
            buf_chr(&plain, text[i]);
    if (!buf_ok(&plain) || !plain.n || plain.n > CERTIFICATE_MAX)
        return false;
    long size = base64_decode(plain.s, plain.n, plain.s);
    if (size <= 0)
        return false;
    snprintf(name, sizeof(name), "certificate %u", number);
    put(out, TRUSTED, 4);
    put_text(out, name);
    put(out, 0, 8);
    put_text(out, "X.509");
    put(out, (uint64_t)size, 4);
    buf_add(out, plain.s, (size_t)size);
    return true;
}

void java_store_write(const char *pem, size_t n, struct buf *out)
{
    static const char begin[] = "-----BEGIN CERTIFICATE-----", end[] = "-----END CERTIFICATE-----";
    OWN(buf) struct buf entries = {0};
    const char *at = pem, *stop = pem + n;
    unsigned count = 0;
    while ((at = memmem(at, (size_t)(stop - at), begin, sizeof(begin) - 1))) {
        at += sizeof(begin) - 1;
        const char *last = memmem(at, (size_t)(stop - at), end, sizeof(end) - 1);
        if (!last)
            break;
        count += put_certificate(&entries, at, (size_t)(last - at), count + 1);
        at = last;
    }
    put(out, MAGIC, 4);
    put(out, VERSION, 4);
    put(out, count, 4);
    buf_add(out, entries.s, entries.n);
    put(out, 0, 8);
    put(out, 0, 8);
    put(out, 0, DIGEST - 16);
    out->failed |= entries.failed;
}
