/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The client's side of HTTP CONNECT (RFC 9110) and SOCKS 5 (RFC 1928, 1929), as a state machine
 * without I/O: the dialer sends what is in out and passes in what it receives.
 */

#include "net/upstream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/http.h"
#include "net/socks.h"

/* ---- HTTP ---- */

static void put_connect(struct upstream_exchange *t)
{
    char name[PEER_TEXT], basic[HTTP_BASIC] = "";
    peer_text(t->host, t->port, name);
    if (t->to->login)
        http_basic(t->to->user, t->to->password, basic);
    int n = snprintf(
        (char *)t->out, sizeof(t->out), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n", name, name,
        t->to->login ? "Proxy-Authorization: " : "", basic, t->to->login ? "\r\n" : "");
    t->nout = n > 0 && (size_t)n < sizeof(t->out) ? (size_t)n : 0;
}

static ssize_t read_http(struct upstream_exchange *t, const uint8_t *data, size_t n)
{
    struct http_answer a;
    switch (http_answer_read((const char *)data, n, true, &a)) {
    case HTTP_MORE:
        return 0;
    case HTTP_BAD:
        return -EPROTO;
    default:
        break;
    }
    t->status = a.status;
    if (a.status == 101)
        return -EPROTO;
    if (a.status < 200)
        return (ssize_t)a.size; /* an interim answer; the final one follows */
    if (a.status < 300) {
        t->done = true;
        return (ssize_t)a.size;
    }
    if (a.status == 403 || a.status == 407)
        return -EACCES;
    return a.status == 504 ? -ETIMEDOUT : -EHOSTUNREACH;
}

/* ---- SOCKS ---- */

enum { STEP_METHOD, STEP_LOGIN, STEP_REQUEST };

static void put_bytes(struct upstream_exchange *t, const void *data, size_t n)
{
    memcpy(t->out + t->nout, data, n);
    t->nout += n;
}

static void put_text(struct upstream_exchange *t, const char *s)
{
    put_bytes(t, (uint8_t[]){(uint8_t)strlen(s)}, 1);
    put_bytes(t, s, strlen(s));
}

static void put_greeting(struct upstream_exchange *t)
{
    if (t->to->login)
        put_bytes(t, (uint8_t[]){SOCKS_VERSION, 2, SOCKS_NO_LOGIN, SOCKS_PASSWORD}, 4);
    else
        put_bytes(t, (uint8_t[]){SOCKS_VERSION, 1, SOCKS_NO_LOGIN}, 3);
}

static void put_login(struct upstream_exchange *t)
{
    put_bytes(t, (uint8_t[]){1}, 1);
    put_text(t, t->to->user);
    put_text(t, t->to->password);
    t->step = STEP_LOGIN;
}

static void put_request(struct upstream_exchange *t)
{
    bool v4 = t->host->address && addr_is_v4(t->host->addr);
    uint8_t kind = v4 ? SOCKS_IPV4 : t->host->address ? SOCKS_IPV6 : SOCKS_NAME;
    put_bytes(t, (uint8_t[]){SOCKS_VERSION, SOCKS_CONNECT, 0, kind}, 4);
    if (kind == SOCKS_NAME)
        put_text(t, t->host->name);
    else
        put_bytes(t, v4 ? t->host->addr + 12 : t->host->addr, v4 ? 4 : 16);
    put_bytes(t, (uint8_t[]){(uint8_t)(t->port >> 8), (uint8_t)t->port}, 2);
    t->step = STEP_REQUEST;
}

static ssize_t read_method(struct upstream_exchange *t, const uint8_t *data)
{
    if (data[0] != SOCKS_VERSION)
        return -EPROTO;
    if (data[1] == SOCKS_NO_LOGIN)
        put_request(t);
    else if (data[1] == SOCKS_PASSWORD && t->to->login)
        put_login(t);
    else
        return -EACCES;
    return 2;
}

static int error_of(uint8_t code)
{
    switch (code) {
    case SOCKS_NOT_ALLOWED:
        return EACCES;
    case SOCKS_REFUSED:
        return ECONNREFUSED;
    default:
        return EHOSTUNREACH;
    }
}

static ssize_t read_reply(struct upstream_exchange *t, const uint8_t *data, size_t n)
{
    if (data[0] != SOCKS_VERSION)
        return -EPROTO;
    if (data[1] != SOCKS_OK)
        return -error_of(data[1]);
    if (n < 5)
        return 0;
    /* skip the proxy's bound address */
    size_t size = data[3] == SOCKS_IPV4   ? 10
                  : data[3] == SOCKS_IPV6 ? 22
                  : data[3] == SOCKS_NAME ? 7u + data[4]
                                          : 0;
    if (size == 0)
        return -EPROTO;
    t->done = n >= size;
    return t->done ? (ssize_t)size : 0;
}

static ssize_t read_socks(struct upstream_exchange *t, const uint8_t *data, size_t n)
{
    if (n < 2)
        return 0;
    if (t->step == STEP_METHOD)
        return read_method(t, data);
    if (t->step == STEP_REQUEST)
        return read_reply(t, data, n);
    if (data[1] != 0)
        return -EACCES;
    put_request(t);
    return 2;
}

/* ---- both ---- */

void upstream_begin(struct upstream_exchange *t)
{
    t->nout = 0;
    t->step = STEP_METHOD;
    t->done = false;
    if (t->to->socks)
        put_greeting(t);
    else
        put_connect(t);
}

ssize_t upstream_read(struct upstream_exchange *t, const uint8_t *data, size_t n)
{
    t->nout = 0;
    ssize_t used = t->to->socks ? read_socks(t, data, n) : read_http(t, data, n);
    return used == 0 && n >= UPSTREAM_IN_MAX ? -EPROTO : used;
}
