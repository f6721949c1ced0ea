/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "window/login.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#include "window/peer.h"

static int make_secret(char out[LOGIN_SECRET])
{
    unsigned char bytes[LOGIN_SECRET / 2];
    if (getentropy(bytes, sizeof(bytes)) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

int login_init(struct login *g, uint16_t port)
{
    memset(g, 0, sizeof(*g));
    snprintf(g->host, sizeof(g->host), "127.0.0.1:%u", (unsigned)port);
    snprintf(g->origin, sizeof(g->origin), "http://%s", g->host);
    return make_secret(g->folder) < 0 || make_secret(g->code) < 0 || make_secret(g->cookie) < 0 ? -1
                                                                                                : 0;
}

/* In time that does not depend on where they differ. */
static bool same_secret(const char *a, const char *b, size_t n)
{
    unsigned char differ = n != LOGIN_SECRET - 1;
    for (size_t i = 0; i < n && i < LOGIN_SECRET - 1; i++)
        differ |= (unsigned char)(a[i] ^ b[i]);
    return !differ;
}

bool login_takes_code(struct login *g, const char *code)
{
    if (g->used || !code || !same_secret(g->code, code, strlen(code)))
        return false;
    return g->used = true;
}

bool login_knows(const struct login *g, struct evhttp_request *r)
{
    const char *at = evhttp_find_header(evhttp_request_get_input_headers(r), "Cookie");
    while (at && *at) {
        at += strspn(at, "; ");
        size_t n = strcspn(at, "; ");
        if (n > 7 && strncmp(at, "buckle=", 7) == 0 && same_secret(g->cookie, at + 7, n - 7))
            return true;
        at += n;
    }
    return false;
}

/* The field if there is exactly one; *bad if there are more. */
static const char *only_field(struct evhttp_request *r, const char *name, bool *bad)
{
    const char *found = NULL;
    for (const struct evkeyval *k = evhttp_request_get_input_headers(r)->tqh_first; k;
         k = k->next.tqe_next) {
        if (strcasecmp(k->key, name) != 0)
            continue;
        *bad |= found != NULL;
        found = k->value;
    }
    return found;
}

const char *login_refuses(const struct login *g, struct evhttp_request *r)
{
    bool bad = false;
    const char *host = only_field(r, "Host", &bad), *origin = only_field(r, "Origin", &bad);
    const char *site = only_field(r, "Sec-Fetch-Site", &bad);
    const char *mode = only_field(r, "Sec-Fetch-Mode", &bad);
    bool post = evhttp_request_get_command(r) == EVHTTP_REQ_POST;
    struct bufferevent *b = evhttp_connection_get_bufferevent(evhttp_request_get_connection(r));
    if (!b || !peer_is_user(bufferevent_getfd(b)))
        return "the other end is not a process of this user outside of every sandbox";
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(r);
    if (!uri || evhttp_uri_get_host(uri)) /* as a proxy gets it */
        return "the address has a host";
    if (bad || !host || strcmp(host, g->host) != 0)
        return "the Host is not this one";
    if (origin ? strcmp(origin, g->origin) != 0 : post)
        return "the Origin is another";
    /* a link or a pasted address may lead here, but nothing else of another site */
    bool own = !site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
    if (!own && (post || !mode || strcmp(mode, "navigate") != 0))
        return "another site asks";
    return NULL;
}

void login_fields(struct evhttp_request *r)
{
    static const char *const fields[][2] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
         "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
        {"X-Frame-Options", "DENY"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cache-Control", "no-store"},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        evhttp_add_header(evhttp_request_get_output_headers(r), fields[i][0], fields[i][1]);
}
