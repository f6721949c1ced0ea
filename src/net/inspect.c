/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A client's first bytes, which tell what it speaks. TLS, HTTP/1 and HTTP/2 name their host, and go
 * on to be read (plain-http.c). At the ports of websites a host that was allowed by its name hears
 * nothing else, ssh excepted: what a server might understand and we do not is refused. At other
 * ports, what does not end as a request's first line passes, as it comes: it is sent on while the
 * line is still looked at, since some protocols have no lines, but a request's line never to its
 * end. Until the server says something, no request may follow; and should it answer as HTTP or TLS
 * do, it has understood something that was not read, and the connection ends there.
 *
 * An address, or a port of this machine, was allowed as such, so that no name could lead elsewhere
 * there; requests are read nevertheless.
 */

#include <string.h>

#include "net/gate-int.h"

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

/* As far as there are bytes. */
static bool begins(const char *data, size_t n, const char *with)
{
    size_t m = strlen(with);
    return memcmp(data, with, n < m ? n : m) == 0;
}

/* ---- at ports of websites ---- */

/* Both ends say so, and no web server does. */
static bool inspect_ssh(struct conn *c)
{
    if (c->nheard < 4)
        return false;
    if (memcmp(c->heard, "SSH-", 4) != 0) {
        plain_http_refuse(c, "ssh to a server that does not speak it");
        return false;
    }
    c->state = CONN_RELAY;
    return true;
}

static bool inspect_web(struct conn *c, const char *data, size_t n)
{
    static const char ssh[] = "SSH-", h2[] = "PRI ";
    size_t enough = sizeof(ssh) - 1;
    if (*data < 'A' || *data > 'Z') {
        plain_http_refuse(c, "neither HTTP nor TLS, at a port of websites");
        return false;
    }
    if (n < enough && (begins(data, n, ssh) || begins(data, n, h2)))
        return false;
    if (begins(data, n, ssh))
        return inspect_ssh(c);
    c->state = begins(data, n, h2) ? CONN_H2 : CONN_HTTP;
    return true;
}

/* ---- at any other port ---- */

/* How servers begin whose clients have to be read. */
struct voice {
    uint8_t n;
    uint8_t bytes[sizeof(((struct conn *)0)->heard)];
    uint8_t any[sizeof(((struct conn *)0)->heard)]; /* where it does not matter */
    const char *why;
};

static const struct voice voices[] = {
    {5, "HTTP/", {0}, "the server took what was said for HTTP, which it was not"},
    {3, {0x16, 3, 0}, {0, 0, 1}, "the server took what was said for TLS, which it was not"},
    /* settings: their length, their kind, and no stream */
    {9, {[3] = 4}, {0, 1, 1}, "the server speaks HTTP/2, and the client does not"},
};

static bool is_like(const struct conn *c, const struct voice *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!v->any[i] && (uint8_t)c->heard[i] != v->bytes[i])
            return false;
    return true;
}

/* What is not read must not be what the server understands: false when that was its end. */
static bool check_heard(struct conn *c)
{
    bool undecided = false;
    for (size_t i = 0; i < sizeof(voices) / sizeof(voices[0]); i++) {
        const struct voice *v = &voices[i];
        if (!is_like(c, v, c->nheard < v->n ? c->nheard : v->n))
            continue;
        if (c->nheard >= v->n) {
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
        plain_http_refuse(c, "a request behind something else");
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
    /* a server that has spoken first is known already */
    return check_heard(c) &&
           (!c->unread || inspect_more(c, queue_data(&c->in) + queue_size(&c->in) - left, left));
}

bool inspect_server(struct conn *c, const char *data, size_t n)
{
    size_t room = sizeof(c->heard) - c->nheard;
    memcpy(c->heard + c->nheard, data, n < room ? n : room);
    c->nheard += (uint8_t)(n < room ? n : room);
    /* whoever answers half of a line does not wait for a request */
    if (c->state == CONN_INSPECT && (c->ahead || c->cut))
        return pass_unread(c);
    return !c->unread || check_heard(c);
}

static bool begin_requests(struct conn *c)
{
    if (c->cut || c->first.blank_first) {
        plain_http_refuse(c, c->cut ? "a request's first line that is too long"
                                    : "empty lines before a request");
        return false;
    }
    bool h2 = begins(queue_data(&c->in), queue_size(&c->in), "PRI * HTTP/2.0\r");
    c->state = h2 ? CONN_H2 : CONN_HTTP;
    return true;
}

/* Sends on what has been looked at, and keeps it while it may yet have to be read as a request. */
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
    send_ahead(c);
    return false;
}

/* ---- both ---- */

static bool inspect_hello(struct conn *c, const struct hello *hello)
{
    if (hello->named && !plain_http_agrees(c, &hello->name)) {
        plain_http_refuse_name(c, &hello->name, "the TLS hello");
        return false;
    }
    c->state = CONN_RELAY;
    return true;
}

bool plain_http_inspect(struct conn *c)
{
    struct hello hello;
    const char *data = queue_data(&c->in);
    size_t n = queue_size(&c->in);
    /* whoever asked a proxy for the connection hears that there is one first */
    if (n == 0 || (c->proxied && c->dial))
        return false;
    c->proxied = false;
    switch (c->ahead || c->cut ? HELLO_OTHER : tls_hello_read((const uint8_t *)data, n, &hello)) {
    case HELLO_MORE:
        return false;
    case HELLO_BAD:
        plain_http_refuse(c, "a TLS hello that cannot be read");
        return false;
    case HELLO_FOUND:
        return inspect_hello(c, &hello);
    default:
        break;
    }
    if (c->to_tls) {
        plain_http_refuse(c, "an upgrade to TLS that is none");
        return false;
    }
    bool strict = is_allowed_by_name(c) && is_at_web_port(c);
    return strict ? inspect_web(c, data, n) : inspect_any(c, data, n);
}
