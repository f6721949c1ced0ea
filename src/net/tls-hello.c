/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A ClientHello may be split across TLS records at any byte, so the records are joined before the
 * name is read.
 */

#include "net/tls-hello.h"

#include <string.h>

enum {
    RECORD_CHANGE = 20, /* change cipher spec: one byte */
    RECORD_ALERT = 21,  /* alert: two bytes */
    RECORD_HANDSHAKE = 22,
    RECORD_HEAD = 5,
    RECORD_MAX = 16384,
    CLIENT_HELLO = 1,
    MESSAGE_HEAD = 4,
    EXTENSION_NAME = 0,
    NAME_HOST = 0,
};

/* The rest of the input; empty after the first error. */
struct reader {
    const uint8_t *at, *end;
    bool bad;
};

static uint32_t read_number(struct reader *r, unsigned bytes)
{
    uint32_t v = 0;
    if ((size_t)(r->end - r->at) < bytes) {
        r->bad = true;
        r->at = r->end;
        return 0;
    }
    while (bytes-- > 0)
        v = v << 8 | *r->at++;
    return v;
}

/* A vector with its length in front. */
static struct reader read_vector(struct reader *r, unsigned length_bytes)
{
    uint32_t n = read_number(r, length_bytes);
    struct reader out = {r->at, r->at, r->bad};
    if ((size_t)(r->end - r->at) < n) {
        r->bad = out.bad = true;
        r->at = r->end;
        return out;
    }
    out.end = r->at + n;
    r->at = out.end;
    return out;
}

/* Classifies a record that isn't a normal handshake record. Some servers skip an alert before
 * the hello or ignore its version, so those are refused. Other protocols may start with similar
 * bytes. */
static enum tls_hello_result classify_first(const uint8_t *data, size_t n)
{
    if (data[0] < RECORD_CHANGE || data[0] > RECORD_HANDSHAKE)
        return HELLO_OTHER;
    if (n < 2)
        return HELLO_MORE;
    bool usual = data[1] == 3, handshake = data[0] == RECORD_HANDSHAKE;
    if (usual && handshake)
        return HELLO_FOUND;
    if (!usual && !handshake)
        return HELLO_OTHER;
    if (n < RECORD_HEAD + 2)
        return HELLO_MORE;
    size_t len = (size_t)data[3] << 8 | data[4];
    if (!handshake)
        return len == (data[0] == RECORD_ALERT ? 2 : 1) ? HELLO_BAD : HELLO_OTHER;
    bool hello = data[RECORD_HEAD] == CLIENT_HELLO && (len < 2 || data[RECORD_HEAD + 1] == 0);
    return hello && len && len <= RECORD_MAX ? HELLO_BAD : HELLO_OTHER;
}

/* Joins the records' contents into message and sets *have to its length so far. */
static enum tls_hello_result join_records(const uint8_t *data, size_t n, uint8_t *message,
                                          size_t *have)
{
    enum tls_hello_result first = classify_first(data, n);
    *have = 0;
    if (first != HELLO_FOUND)
        return first;
    for (size_t at = 0; at < n;) {
        if (data[at] != RECORD_HANDSHAKE || (n - at > 1 && data[at + 1] != 3))
            return HELLO_BAD;
        if (n - at < RECORD_HEAD)
            return HELLO_MORE;
        size_t len = (size_t)data[at + 3] << 8 | data[at + 4];
        if (len == 0 || len > RECORD_MAX)
            return HELLO_BAD;
        size_t there = n - at - RECORD_HEAD < len ? n - at - RECORD_HEAD : len;
        if (*have + there > HELLO_MAX)
            return HELLO_BAD;
        memcpy(message + *have, data + at + RECORD_HEAD, there);
        *have += there;
        if (*have >= 1 && message[0] != CLIENT_HELLO)
            return HELLO_BAD;
        if (*have >= MESSAGE_HEAD) {
            size_t whole =
                MESSAGE_HEAD + ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
            if (whole > HELLO_MAX)
                return HELLO_BAD;
            if (*have >= whole) {
                *have = whole;
                return HELLO_FOUND;
            }
        }
        at += RECORD_HEAD + len;
    }
    return HELLO_MORE;
}

/* The list may hold one name per type; in practice it is one host. */
static bool read_names(struct reader list, struct hello *out)
{
    struct reader names = read_vector(&list, 2);
    while (names.at < names.end) {
        uint32_t type = read_number(&names, 1);
        struct reader name = read_vector(&names, 2);
        if (names.bad || type != NAME_HOST || out->named)
            return false;
        if (!peer_parse((const char *)name.at, (size_t)(name.end - name.at), &out->name))
            return false;
        out->named = true;
    }
    return !names.bad && !list.bad && list.at == list.end && out->named;
}

static bool read_message(const uint8_t *message, size_t n, struct hello *out)
{
    struct reader r = {message + MESSAGE_HEAD, message + n, false};
    if (n < MESSAGE_HEAD + 2 + 32) /* version and random */
        return false;
    r.at += 2 + 32;
    read_vector(&r, 1); /* session */
    read_vector(&r, 2); /* ciphers */
    read_vector(&r, 1); /* compression methods */
    if (r.bad)
        return false;
    if (r.at == r.end)
        return true; /* no extensions, so no name */
    struct reader extensions = read_vector(&r, 2);
    if (r.bad || r.at != r.end)
        return false;
    while (extensions.at < extensions.end) {
        uint32_t type = read_number(&extensions, 2);
        struct reader body = read_vector(&extensions, 2);
        if (extensions.bad || (type == EXTENSION_NAME && !read_names(body, out)))
            return false;
    }
    return !extensions.bad;
}

enum tls_hello_result tls_hello_read(const uint8_t *data, size_t n, struct hello *out)
{
    uint8_t message[HELLO_MAX];
    size_t have;
    memset(out, 0, sizeof(*out));
    if (n == 0)
        return HELLO_MORE;
    enum tls_hello_result joined = join_records(data, n, message, &have);
    if (joined != HELLO_FOUND)
        return joined;
    return read_message(message, have, out) ? HELLO_FOUND : HELLO_BAD;
}
