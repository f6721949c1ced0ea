/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Valid requests, requests that the gate must refuse, and the ends of bodies. */

#include <stdlib.h>

#include "base/own.h"
#include "net/http.h"
#include "tap.h"

static struct http_head head;

static enum http_result read_text(const char *text)
{
    return http_head_read(text, strlen(text), &head);
}

static void test_forms(void)
{
    ok(read_text("GET http://A.example/p?q#f HTTP/1.1\r\nHost: a.example\r\n\r\n") == HTTP_FOUND,
       "absolute form");
    ok(head.form == HTTP_ABSOLUTE && head.port == 80, "its form and port");
    is_str(head.host.name, "a.example", "its host");
    ok(read_text("GET /p HTTP/1.1\r\nHost: a.example:8080\r\n\r\n") == HTTP_FOUND, "origin form");
    ok(head.form == HTTP_ORIGIN && head.named && head.port == 8080, "its port");
    ok(read_text("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n") == HTTP_FOUND,
       "authority form");
    ok(head.form == HTTP_AUTHORITY && head.port == 443, "its port");
    ok(read_text("OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n") == HTTP_FOUND, "asterisk form");
    ok(read_text("GET /p HTTP/1.0\r\n\r\n") == HTTP_FOUND && !head.named,
       "HTTP/1.0 may name no host");
    ok(read_text("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345") == HTTP_FOUND,
       "a body follows");
    ok(head.framing == HTTP_LENGTH && head.length == 5, "of five bytes");
    const char *text = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    bool more = true;
    for (size_t n = 0; n < strlen(text); n++)
        more = more && http_head_read(text, n, &head) == HTTP_MORE;
    ok(more && read_text(text) == HTTP_FOUND && head.size == strlen(text),
       "cut anywhere, it is not all there");
}

static void test_refused(void)
{
    static const char *const rows[] = {
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nX: y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999999999999\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
        ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
         "chunked\r\n\r\n"),
        "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n",
        "GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://a b/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT a:0 HTTP/1.1\r\n\r\n",
        "CONNECT /x HTTP/1.1\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
        "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
        "GET / http/1.1\r\nHost: a\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GE\tT / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\x01\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n: empty\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        ok(read_text(rows[i]) == HTTP_BAD && head.wrong, "refused %zu: %s", i, rows[i]);
    static char large[HTTP_HEAD_MAX + 1];
    memset(large, 'a', HTTP_HEAD_MAX);
    memcpy(large, "GET /", 5);
    ok(http_head_read(large, HTTP_HEAD_MAX, &head) == HTTP_BAD, "a head without end is refused");
    ok(http_head_read(large, HTTP_HEAD_MAX - 1, &head) == HTTP_MORE, "until then it may end");
}

static void test_forward(void)
{
    OWN(buf) struct buf out = {0};
    ok(read_text("POST http://a.example?q#f HTTP/1.1\r\nHost: a.example\r\nProxy-Connection: "
                 "keep-alive\r\nConnection: x-mine, host, close\r\nX-Mine: 1\r\nTE: trailers\r\n"
                 "Proxy-Authorization: Basic abc\r\nX-Other: 2\r\nUpgrade: h2c\r\n"
                 "Content-Length: 3\r\n\r\nabc") == HTTP_FOUND,
       "a request for a proxy");
    http_head_forward(&head, &out);
    is_str(out.s,
           "POST /?q HTTP/1.1\r\nHost: a.example\r\nX-Other: 2\r\nContent-Length: 3\r\n"
           "Connection: close\r\n\r\n",
           "goes on without what was the proxy's");
    OWN(buf) struct buf up = {0};
    read_text("GET http://a/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: "
              "websocket\r\n\r\n");
    http_head_forward(&head, &up);
    is_str(up.s, "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
           "an upgrade is asked for");
}

static void test_methods(void)
{
    static const char *const good[] = {"GET", "A", "M-SEARCH", "BASELINE-CONTROL", "RPC_IN_DATA"};
    static const char *const none[] = {
        "", "get", "Get", "-GET", "G!T", "G ET", "GE\tT", "GET1", "ABCDEFGHIJKLMNOPQRSTU"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        ok(http_is_method(good[i], strlen(good[i])), "a method: %s", good[i]);
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        ok(!http_is_method(none[i], strlen(none[i])), "no method: %s", none[i]);
    ok(read_text("get / HTTP/1.1\r\nHost: a\r\n\r\n") == HTTP_BAD, "in small letters: refused");
    ok(read_text("head / HTTP/1.1\r\nHost: a\r\n\r\n") == HTTP_BAD,
       "of which servers do not agree where the answer ends");
}

static void test_upgrades(void)
{
    static const struct {
        const char *field;
        uint8_t to;
    } rows[] = {
        {"websocket", 0},
        {"h2c", HTTP_TO_H2},
        {"H2C", HTTP_TO_H2},
        {"h2c-14", HTTP_TO_H2},
        {"HTTP/2.0", HTTP_TO_H2},
        {"websocket, h2c", HTTP_TO_H2},
        {"TLS/1.2,TLS/1.0", HTTP_TO_TLS},
        {"tls/1.3 , h2c", HTTP_TO_H2 | HTTP_TO_TLS},
        {"", 0},
        {",,", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[200];
        snprintf(text, sizeof(text),
                 "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: %s\r\n\r\n",
                 rows[i].field);
        ok(read_text(text) == HTTP_FOUND && head.upgrade && head.upgrade_to == rows[i].to,
           "an upgrade to \"%s\"", rows[i].field);
    }
    ok(read_text("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: a\r\nUpgrade: h2c\r\n\r\n") == HTTP_FOUND &&
           head.upgrade_to == HTTP_TO_H2,
       "in a second field");
}

/* How many bytes of text the body takes in steps of n; -1 if malformed. */
static ssize_t taken(const char *text, size_t step)
{
    struct http_body b;
    size_t at = 0, n = strlen(text);
    http_body_start(&b, HTTP_CHUNKED, 0);
    while (at < n && !http_body_is_over(&b)) {
        size_t part = n - at < step ? n - at : step;
        ssize_t used = http_body_take(&b, text + at, part);
        if (used < 0)
            return -1;
        at += (size_t)used;
    }
    return http_body_is_over(&b) ? (ssize_t)at : -2;
}

static void test_bodies(void)
{
    static const struct {
        const char *text;
        ssize_t want; /* -1: malformed, -2: incomplete */
    } rows[] = {
        {"0\r\n\r\nGET", 5},
        {"5\r\nhello\r\n0\r\n\r\nGET", 15},
        {"5;a=b\r\nhello\r\n0\r\n\r\n", 19},
        {"0\r\nX: y\r\n\r\nGET", 11},
        {"A\r\n0123456789\r\n0\r\n\r\n", 20},
        {"5\r\nhello", -2},
        {"0\r\n", -2},
        {"5\nhello\r\n0\r\n\r\n", -1},
        {"5\r\nhelloX\r\n0\r\n\r\n", -1},
        {"5\r\nhello\n0\r\n\r\n", -1},
        {"\r\n", -1},
        {" 5\r\nhello\r\n", -1},
        {"0x5\r\nhello\r\n", -1},
        {"5 \r\nhello\r\n0\r\n\r\n", -1},
        {"-5\r\nhello\r\n", -1},
        {"ffffffffffffffff\r\n", -1},
        {"5;a\nb\r\nhello", -1},
        {"0\r\nX: y\n\r\n", -1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool same = true;
        for (size_t step = 1; step < 8; step++)
            same = same && taken(rows[i].text, step) == rows[i].want;
        ok(same && taken(rows[i].text, 1000) == rows[i].want, "body %zu: %s", i, rows[i].text);
    }
}

int main(void)
{
    test_forms();
    test_refused();
    test_forward();
    test_bodies();
    test_methods();
    test_upgrades();
    return done_testing();
}
