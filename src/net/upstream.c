/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "net/upstream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/http.h"
#include "net/socks.h"

/* ---- HTTP ---- */

static void say_connect(struct upstream_talk *t)
{
    char name[PEER_TEXT], basic[HTTP_BASIC] = "";
    peer_text(t->host, t->port, name);
    if (t->to->login)
        http_basic(t->to->user, t->to->password, basic);
    int n = snprintf(
        (char *)t->says, sizeof(t->says), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n", name,
        name, t->to->login ? "Proxy-Authorization: " : "", basic, t->to->login ? "\r\n" : "");
    t->nsays = n > 0 && (size_t)n < sizeof(t->says) ? (size_t)n : 0;
}

static ssize_t hear_http(struct upstream_talk *t, const uint8_t *data, size_t n)
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
    if (a.status == 101)
        return -EPROTO;
    if (a.status < 200)
        return (ssize_t)a.size; /* the real one follows */
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

static void say(struct upstream_talk *t, const void *data, size_t n)
{
    memcpy(t->says + t->nsays, data, n);
    t->nsays += n;
}

static void say_text(struct upstream_talk *t, const char *s)
{
    say(t, (uint8_t[]){(uint8_t)strlen(s)}, 1);
    say(t, s, strlen(s));
}

static void say_greeting(struct upstream_talk *t)
{
    if (t->to->login)
        say(t, (uint8_t[]){SOCKS_VERSION, 2, SOCKS_NO_LOGIN, SOCKS_PASSWORD}, 4);
    else
        say(t, (uint8_t[]){SOCKS_VERSION, 1, SOCKS_NO_LOGIN}, 3);
}

static void say_login(struct upstream_talk *t)
{
    say(t, (uint8_t[]){1}, 1);
    say_text(t, t->to->user);
    say_text(t, t->to->password);
    t->step = STEP_LOGIN;
}

static void say_request(struct upstream_talk *t)
{
    bool v4 = t->host->address && addr_is_v4(t->host->addr);
    uint8_t kind = v4 ? SOCKS_IPV4 : t->host->address ? SOCKS_IPV6 : SOCKS_NAME;
    say(t, (uint8_t[]){SOCKS_VERSION, SOCKS_CONNECT, 0, kind}, 4);
    if (kind == SOCKS_NAME)
        say_text(t, t->host->name);
    else
        say(t, v4 ? t->host->addr + 12 : t->host->addr, v4 ? 4 : 16);
    say(t, (uint8_t[]){(uint8_t)(t->port >> 8), (uint8_t)t->port}, 2);
    t->step = STEP_REQUEST;
}

static ssize_t hear_method(struct upstream_talk *t, const uint8_t *data)
{
    if (data[0] != SOCKS_VERSION)
        return -EPROTO;
    if (data[1] == SOCKS_NO_LOGIN)
        say_request(t);
    else if (data[1] == SOCKS_PASSWORD && t->to->login)
        say_login(t);
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

static ssize_t hear_reply(struct upstream_talk *t, const uint8_t *data, size_t n)
{
    if (data[0] != SOCKS_VERSION)
        return -EPROTO;
    if (data[1] != SOCKS_OK)
        return -error_of(data[1]);
    if (n < 5)
        return 0;
    /* the address that it dials from does not matter, but has to be taken away */
    size_t size = data[3] == SOCKS_IPV4   ? 10
                  : data[3] == SOCKS_IPV6 ? 22
                  : data[3] == SOCKS_NAME ? 7u + data[4]
                                          : 0;
    if (size == 0)
        return -EPROTO;
    t->done = n >= size;
    return t->done ? (ssize_t)size : 0;
}

static ssize_t hear_socks(struct upstream_talk *t, const uint8_t *data, size_t n)
{
    if (n < 2)
        return 0;
    if (t->step == STEP_METHOD)
        return hear_method(t, data);
    if (t->step == STEP_REQUEST)
        return hear_reply(t, data, n);
    if (data[1] != 0)
        return -EACCES;
    say_request(t);
    return 2;
}

/* ---- both ---- */

void upstream_begin(struct upstream_talk *t)
{
    t->nsays = 0;
    t->step = STEP_METHOD;
    t->done = false;
    if (t->to->socks)
        say_greeting(t);
    else
        say_connect(t);
}

ssize_t upstream_hear(struct upstream_talk *t, const uint8_t *data, size_t n)
{
    t->nsays = 0;
    ssize_t used = t->to->socks ? hear_socks(t, data, n) : hear_http(t, data, n);
    return used == 0 && n >= UPSTREAM_HEARS ? -EPROTO : used;
}
