/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_DNS_H
#define BK_NET_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/peer.h"

/*
 * Questions to the stub resolver, and its answers. Nothing is passed on as it came: what a sandbox
 * asks about names that are not allowed never reaches a name server, so nothing can be told to the
 * world in labels.
 */

enum dns_type {
    DNS_A = 1,
    DNS_NS = 2,
    DNS_CNAME = 5,
    DNS_SOA = 6,
    DNS_PTR = 12,
    DNS_MX = 15,
    DNS_TXT = 16,
    DNS_AAAA = 28,
    DNS_SRV = 33,
    DNS_OPT = 41,
    DNS_HTTPS = 65,
    DNS_ANY = 255,
};

enum dns_code {
    DNS_OK = 0,
    DNS_FORMAT = 1,
    DNS_FAILED = 2,
    DNS_NO_NAME = 3,
    DNS_NOT_KNOWN = 4,
    DNS_REFUSED = 5,
};

/* What an answer may have: with EDNS, without, and over a connection. */
enum { DNS_MAX = 1232, DNS_PLAIN_MAX = 512, DNS_STREAM_MAX = 16384, DNS_QUESTION = 255 + 4 };

struct dns_query {
    uint16_t id, flags, type;
    bool edns;
    bool reverse; /* a PTR question about an address: host is it */
    bool named;   /* host could be read; it cannot when it is no host's name */
    struct peer host;
    uint8_t question[DNS_QUESTION]; /* as it came, to be sent back */
    size_t question_len;
};

/* False when there is nothing to answer: too short, or an answer itself. *code is DNS_OK, or what a
 * malformed question is answered with. */
bool dns_query_read(const uint8_t *data, size_t n, struct dns_query *out, enum dns_code *code);

/* Each writes a whole message and returns its size. */
size_t dns_reply_code(const struct dns_query *q, enum dns_code code, const char *why,
                      uint8_t out[DNS_MAX]);
size_t dns_reply_address(const struct dns_query *q, const uint8_t addr[16], uint32_t seconds,
                         uint8_t out[DNS_MAX]);
size_t dns_reply_name(const struct dns_query *q, const struct peer *name, uint32_t seconds,
                      uint8_t out[DNS_MAX]);

/* An answer of several records, each of which is left out, and the answer marked as cut, when it
 * does not fit; or left out silently when what it names is no host. cap: DNS_PLAIN_MAX or more. */
struct dns_reply {
    uint8_t *out;
    size_t n, cap;
    uint16_t code, answers;
    size_t record; /* where the last one begins, while text may be added to it; 0: none */
    bool cut;
};

void dns_reply_begin(struct dns_reply *r, const struct dns_query *q, enum dns_code code,
                     uint8_t *out, size_t cap);
/* numbers: priority, weight, port */
void dns_reply_service(struct dns_reply *r, const uint16_t numbers[3], const char *host,
                       uint32_t seconds);
void dns_reply_mail(struct dns_reply *r, uint16_t preference, const char *host, uint32_t seconds);
/* A string of at most 255 bytes, in a record of its own or in the last one. */
void dns_reply_text(struct dns_reply *r, bool first, const void *text, size_t n, uint32_t seconds);
size_t dns_reply_end(struct dns_reply *r, const struct dns_query *q);

#endif
