/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Host names. A pattern names one host or, with a leading "*.", everything strictly below one; a
 * port may follow. Comparison ignores case and the root's trailing dot. A pattern that is an
 * address matches that address only, in any spelling. Wildcards never match addresses: "*.0.0.1"
 * must not match 127.0.0.1.
 */

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "graph/net.h"

enum { NAME_MAX_BYTES = 253, LABEL_MAX = 63, PORT_ANY = -1, PORT_BAD = -2 };

struct host {
    const char *s;
    size_t n;
    int port;   /* or PORT_ANY, PORT_BAD */
    bool below; /* it had a leading "*." */
};

static int read_port(const char *s, size_t n)
{
    uint16_t lo, hi;
    if (n == 1 && *s == '*')
        return PORT_ANY;
    if (net_ports_parse(s, n, &lo, &hi, NULL) < 0 || lo != hi)
        return PORT_BAD;
    return lo;
}

static struct host split(const char *s, size_t n)
{
    struct host h = {s, n, PORT_ANY, false};
    const char *end = s + n, *close = n && *s == '[' ? memchr(s, ']', n) : NULL;
    const char *colon = n ? memchr(s, ':', n) : NULL;
    if (close) {
        h = (struct host){s + 1, (size_t)(close - s) - 1, PORT_ANY, false};
        if (close + 1 < end)
            h.port = close[1] == ':' ? read_port(close + 2, (size_t)(end - close) - 2) : PORT_BAD;
    } else if (colon && !memchr(colon + 1, ':', (size_t)(end - colon) - 1)) {
        h.n = (size_t)(colon - s);
        h.port = read_port(colon + 1, (size_t)(end - colon) - 1);
    }
    if (h.n > 2 && h.s[0] == '*' && h.s[1] == '.') {
        h.below = true;
        h.s += 2;
        h.n -= 2;
    }
    if (h.n > 1 && h.s[h.n - 1] == '.')
        h.n--;
    return h;
}

/* Parses the host as an address; false when it is a name. */
static bool as_address(const struct host *h, uint8_t addr[16])
{
    char text[64];
    if (h->n >= sizeof(text) || h->n == 0 || h->below)
        return false;
    memcpy(text, h->s, h->n);
    text[h->n] = '\0';
    memset(addr, 0, 16);
    memset(addr + 10, 0xff, 2);
    return inet_pton(AF_INET, text, addr + 12) == 1 || inet_pton(AF_INET6, text, addr) == 1;
}

bool net_domain_match(const char *pattern, size_t n, const char *subject, size_t m)
{
    struct host p = split(pattern, n), s = split(subject, m);
    uint8_t a[16], b[16];
    if (s.below || p.port == PORT_BAD || s.port == PORT_BAD)
        return false;
    if (p.port != PORT_ANY && p.port != s.port)
        return false;
    bool address = as_address(&s, b);
    if (p.below)
        return !address && s.n > p.n + 1 && s.s[s.n - p.n - 1] == '.' &&
               strncasecmp(s.s + s.n - p.n, p.s, p.n) == 0;
    if (as_address(&p, a))
        return address && memcmp(a, b, sizeof(a)) == 0;
    return s.n == p.n && s.n > 0 && strncasecmp(s.s, p.s, p.n) == 0;
}

/* ---- keys: an index that leaves few patterns to compare ---- */

static uint64_t key_step(uint64_t key, unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        c = (unsigned char)(c + ('a' - 'A'));
    return (key ^ c) * UINT64_C(0x100000001b3);
}

static const uint64_t key_start = UINT64_C(0xcbf29ce484222325);

static uint64_t address_key(const uint8_t addr[16])
{
    uint64_t key = ~key_start;
    for (int i = 0; i < 16; i++)
        key = key_step(key, addr[i]);
    return key;
}

uint64_t net_domain_key(const char *pattern, size_t n)
{
    struct host h = split(pattern, n);
    uint8_t addr[16];
    if (as_address(&h, addr))
        return address_key(addr);
    uint64_t key = key_start;
    for (size_t i = h.n; i-- > 0;)
        key = key_step(key, (unsigned char)h.s[i]);
    return key;
}

/* Reads names from the end, so that it passes every parent domain's key. */
void net_domain_keys(const char *subject, size_t m, net_domain_key_fn *each, void *arg)
{
    struct host h = split(subject, m);
    uint8_t addr[16];
    if (as_address(&h, addr)) {
        each(arg, address_key(addr));
        return;
    }
    uint64_t key = key_start;
    for (size_t i = h.n; i-- > 0;) {
        if (h.s[i] == '.')
            each(arg, key);
        key = key_step(key, (unsigned char)h.s[i]);
    }
    each(arg, key);
}

/* ---- checking ---- */

static bool name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

static bool name_fits(const char *s, size_t n)
{
    size_t label = 0;
    if (n == 0 || n > NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '.' ? label == 0 : !name_byte(s[i]))
            return false;
        label = s[i] == '.' ? 0 : label + 1;
        if (label > LABEL_MAX)
            return false;
    }
    return label > 0;
}

int net_domain_check(const char *pattern, size_t n, struct bk_err *err)
{
    struct host h = split(pattern, n);
    uint8_t addr[16];
    int shown = n > 80 ? 80 : (int)n;
    if (h.port == PORT_BAD) {
        err_set(err, BK_E_INPUT, "\"%.*s\" does not end in a port", shown, pattern);
        err_hint(err, "write \"host\" or \"host:443\"");
        return -1;
    }
    if (as_address(&h, addr) || name_fits(h.s, h.n))
        return 0;
    err_set(err, BK_E_INPUT, "\"%.*s\" is not a domain", shown, pattern);
    if (h.n == 1 && *h.s == '*')
        err_hint(err, "for every host write (remote tcp \"*:443\")");
    else
        err_hint(err, "write \"example.com\", \"*.example.com\" or \"example.com:443\"");
    return -1;
}
