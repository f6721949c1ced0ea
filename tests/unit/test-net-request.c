/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Readings of a request's target, and what is refused because servers read it differently. */

#include <stdio.h>
#include <string.h>

#include "net/request.h"
#include "tap.h"

static char room[REQUEST_ROOM];

static struct slice text(const char *s)
{
    return (struct slice){s, strlen(s)};
}

/* "path|path|…?query", or the reason why it is refused. */
static const char *reading(const char *method, const char *target)
{
    static char out[512];
    struct request r;
    const char *why = request_read(text(method), text(target), room, &r);
    size_t n = 0;
    if (why)
        return why;
    for (size_t i = 0; i < r.npaths; i++)
        n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%.*s", i ? "|" : "", (int)r.paths[i].n,
                              r.paths[i].s);
    snprintf(out + n, sizeof(out) - n, "?%.*s", (int)r.query.n, r.query.s);
    return out;
}

int main(void)
{
    is_str(reading("GET", "/"), "/?", "the root");
    is_str(reading("GET", "/a/b?c=d"), "/a/b?c=d", "a query");
    is_str(reading("GET", "/%61%2D%7e"), "/a-~?", "plain characters are decoded");
    is_str(reading("GET", "/a%2Fb"), "/a/b|/a%2Fb?", "an escaped slash has two readings");
    is_str(reading("GET", "/a;x=1/b"), "/a;x=1/b|/a/b?", "so have parameters");
    is_str(reading("GET", "/a%2f;x"), "/a/;x|/a%2F;x|/a/?", "both");
    is_str(reading("GET", "/q?a=%2f&b=%41%c3"), "/q?a=%2F&b=A%C3", "escapes in a query");
    is_str(reading("OPTIONS", "*"), "*?", "an asterisk");
    is_str(reading("GET", "/a/../b"), "the path has dot segments", "dot segments");
    is_str(reading("GET", "/a/%2e%2E"), "the path has dot segments", "escaped");
    is_str(reading("GET", "/a%2f..%2fb"), "the path has dot segments", "behind an escaped slash");
    is_str(reading("GET", "/..;x/b"), "the path has dot segments", "with parameters");
    is_str(reading("GET", "//a"), "the path has empty segments", "empty segments");
    is_str(reading("GET", "/;x/a"), "the path has empty segments", "made of parameters");
    is_str(reading("GET", "/%25%32%65"), "the path has escapes inside escapes",
           "escapes inside escapes");
    is_str(reading("GET", "/%"), "the path has an invalid escape", "half an escape");
    is_str(reading("GET", "/%c0%af"), "the path is not UTF-8", "an overlong slash");
    is_str(reading("GET", "/\\"), "the path has characters that servers read differently", "\\");
    is_str(reading("GET", "/a?b#c"), "the query has characters that servers read differently", "#");
    is_str(reading("GET", "http://a/"), "the target is not a path", "a URL");
    is_str(reading("TRACE", "/"), "TRACE would send the request back", "TRACE");
    ok(request_is_override(text("x-http-method-override")), "an override");
    ok(!request_is_override(text("x-http-method-overrides")), "no override");
    return done_testing();
}
