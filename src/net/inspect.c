/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Identifies the protocol from a client's first bytes. TLS, HTTP/1 and HTTP/2 name their host, and
 * that name is checked (plain-http.c).
 *
 * On web ports, a host that was allowed by name gets nothing else, except ssh: a server might
 * understand bytes that the gate doesn't. On other ports, anything passes that is not an HTTP
 * request line. Bytes are forwarded while the line is still being checked, because some protocols
 * have no lines, but never the end of a request line. Until the server answers, no request may
 * follow. If the server answers in HTTP or TLS, it understood something that the gate didn't, and
 * the connection is closed.
 *
 * An address or a local port was allowed as such, so names can't lead elsewhere; requests are still
 * read.
 */

#include "net/inspect.h"

#include <string.h>

#include "net/gate-int.h"
#include "net/handling.h"
#include "net/plain-http.h"
#include "net/terminate.h"
#include "net/tls-hello.h"

static const uint16_t web_ports[] = {80, 443, 8080, 8443};

static bool is_allowed_by_name(const struct conn *c)
{
    return !c->host.address && !peer_is_localhost(&c->host);
}

static bool is_at_web_port(const struct conn *c)
{
    for (size_t i = 0; i < sizeof(web_ports) / sizeof(web_ports[0]); i++)
        if (c->port == web_ports[i])
            return true;
    return false;
}

/* Compares the bytes that are there. */
static bool begins(const char *data, size_t n, const char *with)
{
    size_t m = strlen(with);
    return memcmp(data, with, n < m ? n : m) == 0;
}

/* ---- on web ports ---- */

/* Both ends announce ssh, and no web server does. */
static bool inspect_ssh(struct conn *c)
{
    if (c->nanswer < 4)
        return false;
    if (memcmp(c->first_answer, "SSH-", 4) != 0) {
        plain_http_refuse(c, "ssh to a server that does not speak ssh");
        return false;
    }
    c->state = CONN_RELAY;
    return true;
}

static bool is_judged(struct conn *c)
{
    return (c->gate->o->handling && c->gate->o->handling->only_requests) ||
           rules_by_request(&c->gate->rules, &c->host, c->port);
}

static bool inspect_web(struct conn *c, const char *data, size_t n)
{
    static const char ssh[] = "SSH-", h2[] = "PRI ";
    size_t enough = sizeof(ssh) - 1;
    if (*data < 'A' || *data > 'Z') {
        plain_http_refuse(c, is_judged(c) ? "only requests are allowed, and this is none"
                                          : "neither HTTP nor TLS, on a web port");
        return false;
    }
    if (n < enough && (begins(data, n, ssh) || begins(data, n, h2)))
        return false;
    if (begins(data, n, ssh) && is_judged(c)) {
        plain_http_refuse(c, "only requests are allowed, and this is ssh");
        return false; /* and data is gone */
    }
    if (begins(data, n, ssh))
        return inspect_ssh(c);
    c->state = begins(data, n, h2) ? CONN_H2 : CONN_HTTP;
    return true;
}

/* ---- on other ports ---- */

/* How a server's answer starts if it needs its client inspected. */
struct server_start {
    uint8_t n;
    uint8_t bytes[sizeof(((struct conn *)0)->first_answer)];
    uint8_t any[sizeof(((struct conn *)0)->first_answer)]; /* bytes that may have any value */
    const char *why;
};

static const struct server_start server_starts[] = {
    {5, "HTTP/", {0}, "the server answered in HTTP, but the client did not send HTTP"},
    {3, {0x16, 3, 0}, {0, 0, 1}, "the server answered in TLS, but the client did not send TLS"},
    /* a SETTINGS frame: any length, type 4, stream 0 */
    {9, {[3] = 4}, {0, 1, 1}, "the server speaks HTTP/2, but the client does not"},
};

static bool matches_start(const struct conn *c, const struct server_start *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!v->any[i] && (uint8_t)c->first_answer[i] != v->bytes[i])
            return false;
    return true;
}

/* Closes the connection if the server understood bytes that the gate did not read. Returns false
 * then. */
static bool check_first_answer(struct conn *c)
{
    bool undecided = false;
    for (size_t i = 0; i < sizeof(server_starts) / sizeof(server_starts[0]); i++) {
        const struct server_start *v = &server_starts[i];
        if (!matches_start(c, v, c->nanswer < v->n ? c->nanswer : v->n))
            continue;
        if (c->nanswer >= v->n) {
            plain_http_refuse(c, v->why);
            return false;
        }
        undecided = true;
    }
    c->unread = undecided;
    return true;
}

bool inspect_more(struct conn *c, const char *data, size_t n)
{
    if (!c->first.following)
        return true;
    enum first_line_result got = first_line_read(&c->first, data, n);
    if (got == FIRST_HTTP)
        plain_http_refuse(c, "an HTTP request after other data");
    if (got == FIRST_OTHER)
        c->first.following = false;
    return !c->dead;
}

static bool pass_unread(struct conn *c)
{
    size_t left = c->first.left;
    queue_take(&c->in, c->ahead);
    c->ahead = 0;
    c->unread = is_allowed_by_name(c);
    c->state = CONN_RELAY;
    if (!c->unread)
        return true;
    first_line_follow(&c->first);
    /* the server may have spoken first */
    return check_first_answer(c) &&
           (!c->unread || inspect_more(c, queue_data(&c->in) + queue_size(&c->in) - left, left));
}

bool inspect_server(struct conn *c, const char *data, size_t n)
{
    size_t room = sizeof(c->first_answer) - c->nanswer;
    memcpy(c->first_answer + c->nanswer, data, n < room ? n : room);
    c->nanswer += (uint8_t)(n < room ? n : room);
    /* a server that answers half a line isn't waiting for a request */
    if (c->state == CONN_INSPECT && (c->ahead || c->cut))
        return pass_unread(c);
    return !c->unread || check_first_answer(c);
}

static bool begin_requests(struct conn *c)
{
    if (c->cut || c->first.blank_first) {
        plain_http_refuse(c, c->cut ? "the request's first line is too long"
                                    : "blank lines before a request");
        return false;
    }
    bool h2 = begins(queue_data(&c->in), queue_size(&c->in), "PRI * HTTP/2.0\r");
    c->state = h2 ? CONN_H2 : CONN_HTTP;
    return true;
}

/* Forwards what has been checked, and keeps a copy while it may still turn out to be a request. */
static void send_ahead(struct conn *c)
{
    size_t n = queue_size(&c->in);
    side_send(&c->server, queue_data(&c->in) + c->ahead, n - c->ahead);
    c->ahead = n;
    if (n < HTTP_HEAD_MAX)
        return;
    queue_free(&c->in);
    c->ahead = 0;
    c->cut = true;
}

static bool inspect_any(struct conn *c, const char *data, size_t n)
{
    enum first_line_result got = first_line_read(&c->first, data + c->ahead, n - c->ahead);
    if (got == FIRST_MORE && c->client.ended)
        got = first_line_end(&c->first);
    if (got == FIRST_HTTP)
        return begin_requests(c);
    if (got == FIRST_OTHER)
        return pass_unread(c);
    if (!handling_decides(c->gate->o->handling)) /* else nothing is sent that is not decided */
        send_ahead(c);
    return false;
}

/* ---- on all ports ---- */

static bool inspect_hello(struct conn *c, const struct hello *hello)
{
    if (hello->named && !plain_http_agrees(c, &hello->name)) {
        plain_http_refuse_name(c, &hello->name, "the TLS hello");
        return false;
    }
    if (is_judged(c) || handling_ends_tls(c->gate->o->handling, &c->host, c->port))
        return terminate_begin(c, hello);
    if (c->gate->o->handling && c->gate->o->handling->only_requests) {
        plain_http_refuse(c, "only requests are allowed, and its TLS is not decrypted");
        return false;
    }
    c->state = CONN_RELAY;
    return true;
}

bool inspect_client(struct conn *c)
{
    struct hello hello;
    const char *data = queue_data(&c->in);
    size_t n = queue_size(&c->in);
    /* a proxy's client must get the proxy's answer first */
    if (n == 0 || (c->proxied && c->dial))
        return false;
    c->proxied = false;
    switch (c->ahead || c->cut ? HELLO_OTHER : tls_hello_read((const uint8_t *)data, n, &hello)) {
    case HELLO_MORE:
        return false;
    case HELLO_BAD:
        plain_http_refuse(c, "the TLS hello is malformed");
        return false;
    case HELLO_FOUND:
        return inspect_hello(c, &hello);
    default:
        break;
    }
    if (c->to_tls) {
        plain_http_refuse(c, "the client asked for TLS but did not send it");
        return false;
    }
    bool strict = (is_allowed_by_name(c) && is_at_web_port(c)) || is_judged(c);
    return strict ? inspect_web(c, data, n) : inspect_any(c, data, n);
}
