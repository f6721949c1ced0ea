/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A ClientHello may be cut into several TLS records anywhere, so that looking at one record would
 * miss its name: the pieces are put together first.
 */

#include "net/tls-hello.h"

#include <string.h>

enum {
    RECORD_CHANGE = 20, /* of ciphers: one byte */
    RECORD_ALERT = 21,  /* two bytes */
    RECORD_HANDSHAKE = 22,
    RECORD_HEAD = 5,
    RECORD_MAX = 16384,
    CLIENT_HELLO = 1,
    MESSAGE_HEAD = 4,
    EXTENSION_NAME = 0,
    NAME_HOST = 0,
};

/* What is left to read; empty after the first thing that does not fit. */
struct reader {
    const uint8_t *at, *end;
    bool bad;
};

static uint32_t number(struct reader *r, unsigned bytes)
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

/* A part with its length in front. */
static struct reader part(struct reader *r, unsigned length_bytes)
{
    uint32_t n = number(r, length_bytes);
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

/* What begins like TLS and is not the record that a hello is in. Servers have been seen to pass
 * over an alert before the hello, and over its version, so that such are refused; but the first
 * bytes of something else may look the same. */
static enum tls_hello_result look_at_first(const uint8_t *data, size_t n)
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

/* Puts the records' contents together: how much of the message there is, or a result. */
static enum tls_hello_result join(const uint8_t *data, size_t n, uint8_t *message, size_t *have)
{
    enum tls_hello_result first = look_at_first(data, n);
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

/* A list that may hold one name of each type, and in practice holds one host. */
static bool read_names(struct reader list, struct hello *out)
{
    struct reader names = part(&list, 2);
    while (names.at < names.end) {
        uint32_t type = number(&names, 1);
        struct reader name = part(&names, 2);
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
    part(&r, 1); /* session */
    part(&r, 2); /* ciphers */
    part(&r, 1); /* compression */
    if (r.bad)
        return false;
    if (r.at == r.end)
        return true; /* no extensions, so no name */
    struct reader extensions = part(&r, 2);
    if (r.bad || r.at != r.end)
        return false;
    while (extensions.at < extensions.end) {
        uint32_t type = number(&extensions, 2);
        struct reader body = part(&extensions, 2);
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
    enum tls_hello_result joined = join(data, n, message, &have);
    if (joined != HELLO_FOUND)
        return joined;
    return read_message(message, have, out) ? HELLO_FOUND : HELLO_BAD;
}
