/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Parses and prints hosts and addresses. Addresses are 16 bytes; IPv4 is mapped to ::ffff:a.b.c.d.
 */

#include "graph/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

bool addr_is_v4(const uint8_t addr[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(addr, mapped, sizeof(mapped)) == 0;
}

bool addr_is_loopback(const uint8_t addr[16])
{
    static const uint8_t six[16] = {[15] = 1};
    return addr_is_v4(addr) ? addr[12] == 127 : memcmp(addr, six, 16) == 0;
}

/* Like inet_ntop(), but much faster: it runs for each connection and each request to an address. */
static size_t write_ipv4(const uint8_t v4[4], char *to)
{
    char *at = to;
    for (int i = 0; i < 4; i++) {
        unsigned n = v4[i];
        if (i)
            *at++ = '.';
        if (n >= 100)
            *at++ = (char)('0' + n / 100);
        if (n >= 10)
            *at++ = (char)('0' + n / 10 % 10);
        *at++ = (char)('0' + n % 10);
    }
    *at = '\0';
    return (size_t)(at - to);
}

void peer_from_address(const uint8_t addr[16], struct peer *out)
{
    memset(out, 0, sizeof(*out));
    out->address = true;
    memcpy(out->addr, addr, 16);
    if (addr_is_v4(addr)) {
        out->len = (uint32_t)write_ipv4(addr + 12, out->name);
        return;
    }
    inet_ntop(AF_INET6, addr, out->name, sizeof(out->name));
    out->len = (uint32_t)strlen(out->name);
}

size_t peer_text(const struct peer *p, uint16_t port, char out[PEER_TEXT])
{
    bool brackets = p->address && !addr_is_v4(p->addr);
    int n = snprintf(out, PEER_TEXT, brackets ? "[%s]:%u" : "%s:%u", p->name, port);
    return n > 0 && n < PEER_TEXT ? (size_t)n : 0;
}

bool peer_is_localhost(const struct peer *p)
{
    static const char name[] = "localhost";
    size_t n = sizeof(name) - 1;
    return p->len >= n && memcmp(p->name + p->len - n, name, n) == 0 &&
           (p->len == n || p->name[p->len - n - 1] == '.');
}

bool peer_equal(const struct peer *a, const struct peer *b)
{
    return a->address == b->address && a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

/* ---- parsing ---- */

/* Accepts what inet_aton() does: one to four numbers, decimal, octal or hexadecimal. inet_aton()
 * ignores everything after white space, so that is rejected here. */
static bool read_ipv4(const char *text, uint8_t addr[16])
{
    struct in_addr v4;
    if (strpbrk(text, " \t\n\r\v\f") || !inet_aton(text, &v4))
        return false;
    memset(addr, 0, 10);
    memset(addr + 10, 0xff, 2);
    memcpy(addr + 12, &v4, 4);
    return true;
}

/* A fast path for the usual spelling: four decimal numbers without leading zeros. */
static bool read_plain_ipv4(const char *s, size_t n, uint8_t addr[16])
{
    size_t at = 0;
    memset(addr, 0, 10);
    memset(addr + 10, 0xff, 2);
    for (int i = 0; i < 4; i++) {
        unsigned v = 0;
        if (i && (at == n || s[at++] != '.'))
            return false;
        size_t first = at;
        for (; at < n && at - first < 3 && s[at] >= '0' && s[at] <= '9'; at++)
            v = v * 10 + (unsigned)(s[at] - '0');
        if (at == first || v > 255 || (s[first] == '0' && at - first > 1))
            return false;
        addr[12 + i] = (uint8_t)v;
    }
    return at == n;
}

static bool read_address(const char *text, uint8_t addr[16])
{
    return inet_pton(AF_INET6, text, addr) == 1 || read_ipv4(text, addr);
}

static bool name_byte(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Decimal or hexadecimal digits only: other software may take this for part of an address. */
static bool is_number(const char *s, size_t n)
{
    const char *digits = "0123456789";
    if (n >= 2 && s[0] == '0' && s[1] == 'x') {
        digits = "0123456789abcdef";
        s += 2;
        n -= 2;
    }
    return strspn(s, digits) >= n;
}

/* Labels of 1 to 63 bytes; the last must not be a number. */
static bool is_name(const char *s, size_t n)
{
    size_t label = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '.' ? label == 0 : !name_byte((unsigned char)s[i]))
            return false;
        label = s[i] == '.' ? 0 : label + 1;
        if (label > 63)
            return false;
    }
    return label > 0 && !is_number(s + n - label, label);
}

bool peer_parse(const char *s, size_t n, struct peer *out)
{
    uint8_t addr[16];
    bool bracketed = n >= 2 && s[0] == '[' && s[n - 1] == ']';
    if (read_plain_ipv4(s, n, addr)) {
        peer_from_address(addr, out);
        return true;
    }
    memset(out, 0, sizeof(*out));
    if (bracketed) {
        s++;
        n -= 2;
    }
    if (n > 0 && s[n - 1] == '.' && !bracketed)
        n--;
    if (n == 0 || n > PEER_MAX || memchr(s, '\0', n))
        return false;
    for (size_t i = 0; i < n; i++)
        out->name[i] = s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] + ('a' - 'A')) : s[i];
    out->len = (uint32_t)n;
    if (read_address(out->name, addr)) {
        if (bracketed && !memchr(s, ':', n))
            return false;
        peer_from_address(addr, out);
        return true;
    }
    return !bracketed && is_name(out->name, n);
}

static bool read_port(const char *s, size_t n, uint16_t *port)
{
    uint32_t v = 0;
    if (n == 0 || n > 5)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
        v = v * 10 + (uint32_t)(s[i] - '0');
    }
    *port = (uint16_t)v;
    return v > 0 && v <= UINT16_MAX;
}

bool peer_parse_authority(const char *s, size_t n, uint16_t fallback, struct peer *out,
                          uint16_t *port)
{
    const char *host_end = n && *s == '[' ? memchr(s, ']', n) : memchr(s, ':', n);
    size_t host_len = n;
    if (n && *s == '[')
        host_len = host_end ? (size_t)(host_end - s) + 1 : 0;
    else if (host_end)
        host_len = (size_t)(host_end - s);
    *port = fallback;
    if (host_len == 0 || !peer_parse(s, host_len, out))
        return false;
    if (host_len == n)
        return fallback != 0;
    return s[host_len] == ':' && read_port(s + host_len + 1, n - host_len - 1, port);
}

/* ---- sockets ---- */

bool addr_from_sockaddr(const struct sockaddr_storage *from, uint8_t addr[16], uint16_t *port)
{
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)from;
        memset(addr, 0, 10);
        memset(addr + 10, 0xff, 2);
        memcpy(addr + 12, &in->sin_addr, 4);
        *port = ntohs(in->sin_port);
        return true;
    }
    if (from->ss_family != AF_INET6)
        return false;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;
    memcpy(addr, &in6->sin6_addr, 16);
    *port = ntohs(in6->sin6_port);
    return true;
}

socklen_t addr_to_sockaddr(const uint8_t addr[16], uint16_t port, struct sockaddr_storage *to)
{
    memset(to, 0, sizeof(*to));
    if (addr_is_v4(addr)) {
        struct sockaddr_in *in = (struct sockaddr_in *)to;
        in->sin_family = AF_INET;
        in->sin_port = htons(port);
        memcpy(&in->sin_addr, addr + 12, 4);
        return sizeof(*in);
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    memcpy(&in6->sin6_addr, addr, 16);
    return sizeof(*in6);
}

/* ---- special addresses ---- */

struct special {
    uint8_t addr[16];
    uint8_t bits;
    const char *what;
};

#define V4(a, b, c, d, n, what)                                                                    \
    {                                                                                              \
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}, 96 + (n), what                     \
    }

/* Private networks are not listed: allowing a company's host name usually means one of them. */
static const struct special specials[] = {
    V4(0, 0, 0, 0, 8, "this host"),
    V4(127, 0, 0, 0, 8, "loopback"),
    V4(169, 254, 169, 254, 32, "a cloud metadata service"),
    V4(169, 254, 170, 2, 32, "a cloud metadata service"),
    V4(100, 100, 100, 200, 32, "a cloud metadata service"),
    V4(192, 0, 0, 192, 32, "a cloud metadata service"),
    V4(168, 63, 129, 16, 32, "a cloud metadata service"),
    V4(169, 254, 0, 0, 16, "link-local"),
    V4(198, 18, 0, 0, 15, "reserved for the sandbox"),
    V4(224, 0, 0, 0, 4, "multicast"),
    V4(240, 0, 0, 0, 4, "reserved"),
    {{[15] = 1}, 128, "loopback"},
    {{0}, 128, "this host"},
    {{0xfd, 0x00, 0x0e, 0xc2, [14] = 2, [15] = 0x54}, 128, "a cloud metadata service"},
    {{0xfd, 0x20, 0x0c, 0xe0, [14] = 2, [15] = 0x54}, 128, "a cloud metadata service"},
    {{0xfe, 0x80}, 10, "link-local"},
    {{0xfe, 0xc0}, 10, "site-local"},
    {{0xff}, 8, "multicast"},
};

static bool is_in(const uint8_t addr[16], const struct special *s)
{
    unsigned whole = s->bits / 8, rest = s->bits % 8;
    if (memcmp(addr, s->addr, whole) != 0)
        return false;
    return rest == 0 || (addr[whole] ^ s->addr[whole]) >> (8 - rest) == 0;
}

bool addr_carries(const uint8_t addr[16], uint8_t v4[16])
{
    static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b}, compatible[12];
    const uint8_t *from = NULL;
    if (memcmp(addr, nat64, 12) == 0 || memcmp(addr, compatible, 12) == 0)
        from = addr + 12;
    else if (addr[0] == 0x20 && addr[1] == 0x02) /* 6to4 */
        from = addr + 2;
    if (!from)
        return false;
    memset(v4, 0, 10);
    memset(v4 + 10, 0xff, 2);
    memcpy(v4 + 12, from, 4);
    return true;
}

const char *addr_is_special(const uint8_t addr[16])
{
    uint8_t v4[16];
    for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++)
        if (is_in(addr, &specials[i]))
            return specials[i].what;
    return addr_carries(addr, v4) ? addr_is_special(v4) : NULL;
}
