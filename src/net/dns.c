/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Reads questions and writes replies (RFC 1035, EDNS from RFC 6891). A question has exactly one
 * name and at most an OPT record after it. A reply's names are written uncompressed, except for the
 * pointer to the question.
 */

#include "net/dns.h"

#include <string.h>

#include "base/hex.h"

enum {
    HEAD = 12,
    FLAG_ANSWER = 0x8000,
    FLAGS_OPCODE = 0x7800,
    FLAG_CUT = 0x0200,
    FLAG_RECURSION_WANTED = 0x0100,
    FLAG_RECURSION_THERE = 0x0080,
    CLASS_IN = 1,
    CLASS_ANY = 255,
    OPTION_EXTENDED_ERROR = 15,
    ERROR_PROHIBITED = 18,
    POINTER_TO_QUESTION = 0xc000 | HEAD,
    RECORD_HEAD = 12,
    OPTIONS = 11, /* an OPT record without options */
};

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

/* ---- questions ---- */

/* Reads a name's labels as text. Returns the bytes used, or 0. A question's name is never
 * compressed. */
static size_t read_labels(const uint8_t *data, size_t n, char text[256], size_t *len)
{
    size_t at = 0;
    *len = 0;
    while (at < n && data[at] != 0) {
        size_t label = data[at];
        if (label > 63 || at + 1 + label >= n || *len + label + 1 > 254)
            return 0;
        if (*len)
            text[(*len)++] = '.';
        memcpy(text + *len, data + at + 1, label);
        *len += label;
        at += 1 + label;
    }
    text[*len] = '\0';
    return at < n ? at + 1 : 0;
}

/* "4.3.2.1.in-addr.arpa" */
static bool reverse_v4(const char *text, size_t n, uint8_t addr[16])
{
    unsigned part = 0, digits = 0, at = 4;
    memset(addr, 0, 10);
    memset(addr + 10, 0xff, 2);
    for (size_t i = 0; i <= n; i++) {
        char c = i < n ? text[i] : '.';
        if (c == '.') {
            if (digits == 0 || part > 255 || at == 0)
                return false;
            addr[12 + --at] = (uint8_t)part;
            part = digits = 0;
        } else if (c >= '0' && c <= '9' && ++digits <= 3) {
            part = part * 10 + (unsigned)(c - '0');
        } else {
            return false;
        }
    }
    return at == 0;
}

/* "f.….1.0.ip6.arpa": 32 digits with dots between them */
static bool reverse_v6(const char *text, size_t n, uint8_t addr[16])
{
    if (n != 63)
        return false;
    for (size_t i = 0; i < 16; i++) {
        int low = hex_digit(text[i * 4]), high = hex_digit(text[i * 4 + 2]);
        if (low < 0 || high < 0 || text[i * 4 + 1] != '.' || (i < 15 && text[i * 4 + 3] != '.'))
            return false;
        addr[15 - i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool ends_in(const char *text, size_t *n, const char *end_reply)
{
    size_t m = strlen(end_reply);
    if (*n <= m)
        return false;
    for (size_t i = 0; i < m; i++)
        if ((text[*n - m + i] | 0x20) != (end_reply[i] | 0x20))
            return false;
    *n -= m;
    return true;
}

static void read_name(struct dns_query *q, const char *text, size_t n)
{
    uint8_t addr[16];
    size_t m = n;
    if (q->type == DNS_PTR && ((ends_in(text, &m, ".in-addr.arpa") && reverse_v4(text, m, addr)) ||
                               (ends_in(text, &m, ".ip6.arpa") && reverse_v6(text, m, addr)))) {
        q->reverse = q->named = true;
        peer_from_address(addr, &q->host);
        return;
    }
    /* an address is not a name to look up, in any spelling */
    q->named = peer_parse(text, n, &q->host) && !q->host.address;
}

/* At most one OPT record may follow the question. */
static bool read_options(const uint8_t *data, size_t n, struct dns_query *q)
{
    if (n < 11 || data[0] != 0 || get16(data + 1) != DNS_OPT)
        return false;
    q->edns = true;
    return n == 11u + get16(data + 9);
}

bool dns_query_read(const uint8_t *data, size_t n, struct dns_query *q, enum dns_code *code)
{
    char text[256];
    size_t len;
    memset(q, 0, sizeof(*q));
    if (n < HEAD || (get16(data + 2) & FLAG_ANSWER))
        return false;
    q->id = get16(data);
    q->flags = get16(data + 2);
    *code = q->flags & FLAGS_OPCODE ? DNS_NOT_KNOWN : DNS_FORMAT;
    if (*code == DNS_NOT_KNOWN || get16(data + 4) != 1 || get16(data + 6) || get16(data + 8) ||
        get16(data + 10) > 1)
        return true;
    size_t used = read_labels(data + HEAD, n - HEAD, text, &len);
    if (used == 0 || n - HEAD - used < 4 || used + 4 > sizeof(q->question))
        return true;
    const uint8_t *at = data + HEAD + used;
    q->type = get16(at);
    uint16_t class = get16(at + 2);
    memcpy(q->question, data + HEAD, used + 4);
    q->question_len = used + 4;
    size_t rest = n - HEAD - q->question_len;
    bool options = get16(data + 10) == 1;
    if (options ? !read_options(at + 4, rest, q) : rest != 0)
        return true;
    if (class != CLASS_IN && class != CLASS_ANY) {
        *code = DNS_NOT_KNOWN;
        return true;
    }
    read_name(q, text, len);
    *code = DNS_OK;
    return true;
}

/* ---- replies ---- */

struct writer {
    uint8_t *out;
    size_t n;
};

static void put16(struct writer *w, uint16_t v)
{
    w->out[w->n++] = (uint8_t)(v >> 8);
    w->out[w->n++] = (uint8_t)v;
}

static void put32(struct writer *w, uint32_t v)
{
    put16(w, (uint16_t)(v >> 16));
    put16(w, (uint16_t)v);
}

static void put_bytes(struct writer *w, const void *data, size_t n)
{
    memcpy(w->out + w->n, data, n);
    w->n += n;
}

static struct writer begin_reply(const struct dns_query *q, enum dns_code code, uint16_t answers,
                                 uint8_t *out)
{
    struct writer w = {out, 0};
    put16(&w, q->id);
    put16(&w, (uint16_t)(FLAG_ANSWER | FLAG_RECURSION_THERE | (q->flags & FLAG_RECURSION_WANTED) |
                         code));
    put16(&w, q->question_len ? 1 : 0);
    put16(&w, answers);
    put16(&w, 0);
    put16(&w, q->edns ? 1 : 0);
    put_bytes(&w, q->question, q->question_len);
    return w;
}

/* why: a message for the user, sent if the client supports EDNS (RFC 8914). */
static size_t end_reply(struct writer *w, const struct dns_query *q, const char *why)
{
    size_t len = why ? strlen(why) : 0;
    if (!q->edns)
        return w->n;
    if (len > 200)
        len = 200;
    w->out[w->n++] = 0;
    put16(w, DNS_OPT);
    put16(w, DNS_MAX);
    put32(w, 0);
    put16(w, why ? (uint16_t)(6 + len) : 0);
    if (why) {
        put16(w, OPTION_EXTENDED_ERROR);
        put16(w, (uint16_t)(2 + len));
        put16(w, ERROR_PROHIBITED);
        put_bytes(w, why, len);
    }
    return w->n;
}

static void put_record(struct writer *w, uint16_t type, uint32_t seconds, uint16_t len)
{
    put16(w, POINTER_TO_QUESTION);
    put16(w, type);
    put16(w, CLASS_IN);
    put32(w, seconds);
    put16(w, len);
}

size_t dns_reply_code(const struct dns_query *q, enum dns_code code, const char *why,
                      uint8_t out[DNS_MAX])
{
    struct writer w = begin_reply(q, code, 0, out);
    return end_reply(&w, q, why);
}

size_t dns_reply_address(const struct dns_query *q, const uint8_t addr[16], uint32_t seconds,
                         uint8_t out[DNS_MAX])
{
    bool v4 = addr_is_v4(addr);
    struct writer w = begin_reply(q, DNS_OK, 1, out);
    put_record(&w, v4 ? DNS_A : DNS_AAAA, seconds, v4 ? 4 : 16);
    put_bytes(&w, v4 ? addr + 12 : addr, v4 ? 4 : 16);
    return end_reply(&w, q, NULL);
}

/* Writes name->len + 2 bytes. */
static void put_labels(struct writer *w, const struct peer *name)
{
    for (size_t at = 0; at < name->len;) {
        const char *dot = memchr(name->name + at, '.', name->len - at);
        size_t label = dot ? (size_t)(dot - name->name) - at : name->len - at;
        w->out[w->n++] = (uint8_t)label;
        put_bytes(w, name->name + at, label);
        at += label + 1;
    }
    w->out[w->n++] = 0;
}

size_t dns_reply_name(const struct dns_query *q, const struct peer *name, uint32_t seconds,
                      uint8_t out[DNS_MAX])
{
    struct writer w = begin_reply(q, DNS_OK, 1, out);
    put_record(&w, DNS_PTR, seconds, (uint16_t)(name->len + 2));
    put_labels(&w, name);
    return end_reply(&w, q, NULL);
}

/* ---- replies with several records ---- */

void dns_reply_begin(struct dns_reply *r, const struct dns_query *q, enum dns_code code,
                     uint8_t *out, size_t cap)
{
    struct writer w = begin_reply(q, code, 0, out);
    /* reserve room for the OPT record */
    *r = (struct dns_reply){.out = out, .n = w.n, .cap = cap - OPTIONS, .code = (uint16_t)code};
}

/* Starts a record with len bytes of data, if there is room. */
static bool reply_record(struct dns_reply *r, uint16_t type, uint32_t seconds, size_t len)
{
    struct writer w = {r->out, r->n};
    if (r->cut || r->cap - r->n < RECORD_HEAD + len) {
        r->cut = true;
        r->record = 0;
        return false;
    }
    put_record(&w, type, seconds, (uint16_t)len);
    r->record = r->n;
    r->n = w.n;
    r->answers++;
    return true;
}

/* "" is the root, which means "no such service". */
static bool is_target(const char *host, struct peer *out)
{
    memset(out, 0, sizeof(*out));
    return !*host || (peer_parse(host, strlen(host), out) && !out->address);
}

static void reply_target(struct dns_reply *r, uint16_t type, const uint16_t *numbers, size_t n,
                         const char *host, uint32_t seconds)
{
    struct peer target;
    if (!is_target(host, &target) ||
        !reply_record(r, type, seconds, n * 2 + target.len + (target.len ? 2 : 1)))
        return;
    struct writer w = {r->out, r->n};
    for (size_t i = 0; i < n; i++)
        put16(&w, numbers[i]);
    put_labels(&w, &target);
    r->n = w.n;
}

void dns_reply_service(struct dns_reply *r, const uint16_t numbers[3], const char *host,
                       uint32_t seconds)
{
    reply_target(r, DNS_SRV, numbers, 3, host, seconds);
}

void dns_reply_mail(struct dns_reply *r, uint16_t preference, const char *host, uint32_t seconds)
{
    reply_target(r, DNS_MX, &preference, 1, host, seconds);
}

void dns_reply_text(struct dns_reply *r, bool first, const void *text, size_t n, uint32_t seconds)
{
    if (n > 255 || (!first && !r->record))
        return; /* the record that it belongs to was dropped */
    if (first && !reply_record(r, DNS_TXT, seconds, n + 1))
        return;
    if (!first && r->cap - r->n < n + 1) {
        r->n = r->record; /* drop the incomplete record */
        r->record = 0;
        r->answers--;
        r->cut = true;
        return;
    }
    struct writer w = {r->out, r->n};
    w.out[w.n++] = (uint8_t)n;
    put_bytes(&w, text, n);
    r->n = w.n;
    struct writer len = {r->out, r->record + RECORD_HEAD - 2};
    put16(&len, (uint16_t)(r->n - r->record - RECORD_HEAD));
}

size_t dns_reply_end(struct dns_reply *r, const struct dns_query *q)
{
    struct writer w = {r->out, 2}, count = {r->out, 6};
    put16(&w, (uint16_t)(FLAG_ANSWER | FLAG_RECURSION_THERE | (q->flags & FLAG_RECURSION_WANTED) |
                         (r->cut ? FLAG_CUT : 0) | r->code));
    put16(&count, r->answers);
    w.n = r->n;
    return end_reply(&w, q, NULL);
}
