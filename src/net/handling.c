/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Hosts are matched as rules match them. Names of header fields are compared as lenient servers
 * do, so that no spelling of a field escapes a list. A target is normalized as URL parsers do, not
 * as our rules read it (request.c): the program that decides expects that.
 */

#include "net/handling.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "graph/net.h"

/* ---- hosts ---- */

static bool is_listed(const char *pattern, const struct peer *host, uint16_t port)
{
    char text[PEER_TEXT];
    struct peer named;
    uint16_t named_port = 0;
    size_t n = peer_text(host, port, text);
    if (net_domain_check(pattern, strlen(pattern), NULL) == 0)
        return !host->address && net_domain_match(pattern, strlen(pattern), text, n);
    if (peer_parse(pattern, strlen(pattern), &named))
        return peer_equal(&named, host);
    return peer_parse_authority(pattern, strlen(pattern), 0, &named, &named_port) &&
           peer_equal(&named, host) && named_port == port;
}

bool handling_lists(const struct text_list *l, const struct peer *host, uint16_t port)
{
    for (size_t i = 0; i < l->n; i++)
        if (is_listed(l->at[i], host, port))
            return true;
    return false;
}

bool handling_keeps_tls(const struct handling *h, const struct peer *host, uint16_t port)
{
    return h && handling_lists(&h->keep_tls, host, port);
}

bool handling_ends_tls(const struct handling *h, const struct peer *host, uint16_t port)
{
    return h && h->ends_tls && !handling_keeps_tls(h, host, port);
}

const char *handling_via(const struct handling *h, const struct peer *host, uint16_t port)
{
    return h && h->via && handling_lists(&h->via_hosts, host, port) ? h->via : NULL;
}

bool handling_decides(const struct handling *h)
{
    return h && (h->decider || h->framed);
}

bool handling_needs_http1(const struct handling *h)
{
    return h && h->strip.n;
}

/* ---- heads ---- */

static char fold(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c + 32);
    return c == '_' || c == '.' ? '-' : c;
}

bool handling_same_field(const char *a, size_t n, const char *b, size_t m)
{
    for (size_t i = 0; i < n && n == m; i++)
        if (fold(a[i]) != fold(b[i]))
            return false;
    return n == m;
}

static bool is_removed(const struct text_list *l, const char *name, size_t n)
{
    for (size_t i = 0; i < l->n; i++)
        if (handling_same_field(name, n, l->at[i], strlen(l->at[i])))
            return true;
    return false;
}

static void edit_first_line(const char *line, size_t n, struct slice target, struct buf *out)
{
    const char *a = target.s ? memchr(line, ' ', n) : NULL;
    const char *b = a ? bytes_find_last(line, ' ', n) : NULL;
    if (!b || b <= a) {
        buf_add(out, line, n);
        return;
    }
    buf_add(out, line, (size_t)(a + 1 - line));
    buf_add(out, target.s, target.n);
    buf_add(out, b, (size_t)(line + n - b));
}

void handling_edit_head(const char *head, size_t n, const struct head_edit *e, struct buf *out)
{
    bool first = true;
    while (n) {
        const char *end = memchr(head, '\n', n);
        size_t line = end ? (size_t)(end + 1 - head) : n;
        const char *colon = memchr(head, ':', line);
        bool last = line <= 2 && (*head == '\r' || *head == '\n');
        if (last && e->add)
            buf_add(out, e->add, e->nadd);
        if (first)
            edit_first_line(head, line, e->target, out);
        else if (last || !colon || !is_removed(&e->remove, head, (size_t)(colon - head)))
            buf_add(out, head, line);
        first = false;
        head += line;
        n -= line;
    }
}

/* ---- targets ---- */

/* The number of dots that a segment consists of, written plainly or escaped; 0 for others. */
static unsigned dots_of(const char *s, size_t n)
{
    unsigned dots = 0;
    for (size_t i = 0; i < n; dots++) {
        if (s[i] == '.')
            i++;
        else if (n - i >= 3 && strncasecmp(s + i, "%2e", 3) == 0)
            i += 3;
        else
            return 0;
    }
    return dots <= 2 ? dots : 0;
}

static bool is_slash(char c)
{
    return c == '/' || c == '\\';
}

static void drop_segment(struct buf *out, size_t from)
{
    while (out->n > from && out->s[out->n - 1] != '/')
        out->n--;
    if (out->n > from)
        out->n--;
}

bool handling_normalize(struct slice target, struct buf *out)
{
    size_t from = out->n, at = 0;
    const char *mark = memchr(target.s, '?', target.n);
    size_t n = mark ? (size_t)(mark - target.s) : target.n;
    if (!n || !is_slash(target.s[0])) { /* "*" */
        buf_add(out, target.s, target.n);
        return false;
    }
    while (at < n && is_slash(target.s[at]))
        at++;
    bool folder = true; /* it ends in a slash */
    while (at < n) {
        size_t end = at;
        while (end < n && !is_slash(target.s[end]))
            end++;
        unsigned dots = dots_of(target.s + at, end - at);
        folder = end < n || dots;
        if (dots == 2)
            drop_segment(out, from);
        if (!dots && (end > at || out->n > from)) { /* nothing empty in front */
            buf_chr(out, '/');
            buf_add(out, target.s + at, end - at);
        }
        at = end + (end < n);
    }
    if (folder)
        buf_chr(out, '/');
    if (mark)
        buf_add(out, mark, target.n - n);
    return buf_ok(out) &&
           (out->n - from != target.n || memcmp(out->s + from, target.s, target.n) != 0);
}
