/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Parent proxies: their URLs and the exchange with them. */

#include <errno.h>
#include <string.h>

#include "net/parent-proxy.h"
#include "net/upstream.h"
#include "tap.h"

static struct upstream u;
static struct bk_err err;
static struct upstream_exchange exchange;
static struct peer host;

static void test_addresses(void)
{
    ok(upstream_parse("http://Proxy.example:3128", &u, &err) == 0 && !u.socks && !u.login &&
           u.port == 3128 && strcmp(u.host.name, "proxy.example") == 0,
       "an HTTP proxy");
    ok(upstream_parse("http://proxy.example/", &u, &err) == 0 && u.port == 80, "its usual port");
    ok(upstream_parse("socks5://[::1]", &u, &err) == 0 && u.socks && u.port == 1080 &&
           u.host.address,
       "a SOCKS proxy at an address");
    ok(upstream_parse("socks5h://me:se:cret@p:9", &u, &err) == 0 && u.login &&
           strcmp(u.user, "me") == 0 && strcmp(u.password, "se:cret") == 0,
       "user and password");
    ok(upstream_parse("http://a%40b:%25%2f@p:9", &u, &err) == 0 && strcmp(u.user, "a@b") == 0 &&
           strcmp(u.password, "%/") == 0,
       "with escapes");
    ok(upstream_parse("http://u@p:1", &u, &err) == 0 && u.login && strcmp(u.user, "u") == 0 &&
           u.password[0] == '\0',
       "without a password");
    static const char *const wrong[] = {"",
                                        "proxy:3128",
                                        "https://p:1",
                                        "http://",
                                        "http://:80",
                                        "http://p:0",
                                        "http://p:1/x",
                                        "http://u:%00@p:1",
                                        "http://:@p",
                                        "http://u:a%b@p",
                                        "http://u:a\r\nb@p:1",
                                        "http://u:%0a@p",
                                        "http://u:%g0@p",
                                        "http://@p"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ok(upstream_parse(wrong[i], &u, &err) < 0, "no proxy: %s",
           i == 10 ? "a new line" : wrong[i]);
}

static void begin(const char *url, const char *where)
{
    upstream_parse(url, &u, &err);
    peer_parse(where, strlen(where), &host);
    exchange = (struct upstream_exchange){.to = &u, .host = &host, .port = 443};
    upstream_begin(&exchange);
}

static ssize_t read_text(const void *data, size_t n)
{
    return upstream_read(&exchange, data, n);
}

static bool answered(const void *data, size_t n)
{
    return exchange.nout == n && memcmp(exchange.out, data, n) == 0;
}

#define ANSWERED(text) answered(text, sizeof(text) - 1)
#define READ(text) read_text(text, sizeof(text) - 1)

static void test_http(void)
{
    begin("http://p:1", "2001:db8::1");
    ok(ANSWERED("CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n"),
       "CONNECT");
    /* printf me:secret | base64 */
    begin("http://me:secret@p:1", "a.example");
    ok(ANSWERED("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n"
                "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n"),
       "with user and password");
    is_int(READ("HTTP/1.1 200 OK\r\nX: y\r\n"), 0, "half an answer");
    is_int(READ("HTTP/1.1 200 OK\r\nX: y\r\n\r\nSSH-2.0"), 25, "an answer, and not what follows");
    ok(exchange.done, "the connection is established");
    begin("http://p:1", "a.example");
    ok(READ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n") == 25 && !exchange.done,
       "not yet");
    is_int(READ("HTTP/1.1 403 No\r\n\r\n"), -EACCES, "forbidden");
    is_int(READ("HTTP/1.1 407 Who\r\n\r\n"), -EACCES, "unknown");
    is_int(READ("HTTP/1.1 502 Bad\r\n\r\n"), -EHOSTUNREACH, "not reached");
    is_int(READ("SSH-2.0-x\r\n\r\n"), -EPROTO, "another protocol");
    static char endless[UPSTREAM_IN_MAX];
    memset(endless, 'a', sizeof(endless));
    memcpy(endless, "HTTP/1.1 200 OK\r\nX: ", 20);
    is_int(read_text(endless, sizeof(endless)), -EPROTO, "a head without an end");
}

static void test_socks(void)
{
    begin("socks5://p", "a.example");
    ok(ANSWERED("\5\1\0"), "a greeting");
    is_int(READ("\5"), 0, "half an answer");
    ok(READ("\5\0") == 2 && ANSWERED("\5\1\0\3\11a.example\1\273"), "a name");
    is_int(READ("\5\0\0\1\1\2\3\4\0"), 0, "half a reply");
    ok(READ("\5\0\0\1\1\2\3\4\0\0more") == 10 && exchange.done, "a reply, and not what follows");
    begin("socks5://p", "192.0.2.1");
    ok(READ("\5\0") == 2 && ANSWERED("\5\1\0\1\300\0\2\1\1\273"), "an address");
    ok(READ("\5\0\0\3\2ab\0\0more") == 9 && exchange.done, "a reply with a name");
    begin("socks5://p", "2001:db8::1");
    ok(READ("\5\0") == 2 && exchange.nout == 22 && exchange.out[3] == 4, "an IPv6 address");
    is_int(READ("\5\2\0\1"), -EACCES, "not allowed");
    is_int(READ("\5\5\0\1"), -ECONNREFUSED, "refused");
    is_int(READ("\5\0\0\7\0\0\0\0\0\0\0"), -EPROTO, "an address of no kind");
    begin("socks5://me:secret@p", "a.example");
    ok(ANSWERED("\5\2\0\2"), "a greeting that offers a password");
    ok(READ("\5\2") == 2 && ANSWERED("\1\2me\6secret"), "the password");
    ok(READ("\1\0") == 2 && exchange.out[1] == 1, "then the request");
    begin("socks5://me:secret@p", "a.example");
    READ("\5\2");
    is_int(READ("\1\1"), -EACCES, "a wrong password");
    begin("socks5://p", "a.example");
    is_int(READ("\5\2"), -EACCES, "a password that we do not have");
    is_int(READ("HTTP/1.1 400"), -EPROTO, "another protocol");
}

/* ---- which proxy ---- */

static struct parent_proxies parents;

/* The port of the proxy for a connection, or 0. */
static int chosen(const char *to, uint16_t port, enum parent_kind asked)
{
    peer_parse(to, strlen(to), &host);
    const struct upstream *p = parent_proxy_for(&parents, &host, port, asked);
    return p ? p->port : 0;
}

static void test_variables(void)
{
    const char *env[] = {"HTTP_PROXY=http://p:1",
                         "http_proxy=p:2",
                         "HTTPS_PROXY=http://p:3",
                         "all_proxy=socks5h://p:4",
                         "no_proxy=10.0.0.0/8, .in.example;x.example:8443 [::1]:80",
                         NULL};
    ok(parent_proxies_read(&parents, (char *const *)env) && !parents.required &&
           !parents.unusable[0],
       "variables");
    is_int(chosen("a.example", 80, PARENT_OTHER), 2, "the lower-case one first");
    is_int(chosen("a.example", 443, PARENT_OTHER), 3, "port 443");
    is_int(chosen("a.example", 5432, PARENT_OTHER), 4, "another port");
    is_int(chosen("a.example", 5432, PARENT_HTTPS), 3, "CONNECT");
    is_int(chosen("a.example", 22, PARENT_HTTPS), 4, "ssh");
    is_int(chosen("10.1.2.3", 443, PARENT_OTHER), 0, "a range");
    is_int(chosen("11.1.2.3", 443, PARENT_OTHER), 3, "not in it");
    is_int(chosen("in.example", 443, PARENT_OTHER), 0, "a name");
    is_int(chosen("a.b.in.example", 443, PARENT_OTHER), 0, "below it");
    is_int(chosen("win.example", 443, PARENT_OTHER), 3, "not below it");
    is_int(chosen("x.example", 8443, PARENT_HTTPS), 0, "one port");
    is_int(chosen("x.example", 443, PARENT_HTTPS), 3, "another one");
    is_int(chosen("10.in.example.evil", 443, PARENT_OTHER), 3, "a name that only contains it");
    const char *unknown[] = {"https_proxy=https://p:1", "http_proxy=", NULL};
    ok(!parent_proxies_read(&parents, (char *const *)unknown) &&
           strcmp(parents.unusable, "https_proxy") == 0,
       "a kind that is not supported");
    const char *every[] = {"https_proxy=http://p:1", "no_proxy=*", NULL};
    ok(parent_proxies_read(&parents, (char *const *)every) &&
           chosen("a.example", 443, PARENT_OTHER) == 0,
       "none at all");
    upstream_parse("http://p:9", &u, &err);
    ok(parent_proxies_set(&parents, &u, "b.example") == 0 && parents.required, "a flag");
    is_int(chosen("a.example", 22, PARENT_OTHER), 9, "for everything");
    is_int(chosen("b.example", 443, PARENT_OTHER), 0, "with exceptions");
}

int main(void)
{
    test_addresses();
    test_variables();
    test_http();
    test_socks();
    return done_testing();
}
