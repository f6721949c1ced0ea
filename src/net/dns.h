/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_DNS_H
#define BK_NET_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/peer.h"

/*
 * Questions to the stub resolver, and its replies. Nothing is forwarded as it came. Questions about
 * names that are not allowed never reach a name server, so no data can leak out in labels.
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

/* Maximum size of a reply: with EDNS, without it, and over TCP. */
enum { DNS_MAX = 1232, DNS_PLAIN_MAX = 512, DNS_STREAM_MAX = 16384, DNS_QUESTION = 255 + 4 };

struct dns_query {
    uint16_t id, flags, type;
    bool edns;
    bool reverse; /* a PTR question; host is the address */
    bool named;   /* host is valid; false if the name cannot be a host's */
    struct peer host;
    uint8_t question[DNS_QUESTION]; /* as received, to send back */
    size_t question_len;
};

/* Returns false if no reply is due: the message is too short or is itself a reply. *code is DNS_OK,
 * or the code to answer a malformed question with. */
bool dns_query_read(const uint8_t *data, size_t n, struct dns_query *out, enum dns_code *code);

/* Each writes a complete message and returns its size. */
size_t dns_reply_code(const struct dns_query *q, enum dns_code code, const char *why,
                      uint8_t out[DNS_MAX]);
size_t dns_reply_address(const struct dns_query *q, const uint8_t addr[16], uint32_t seconds,
                         uint8_t out[DNS_MAX]);
size_t dns_reply_name(const struct dns_query *q, const struct peer *name, uint32_t seconds,
                      uint8_t out[DNS_MAX]);

/* A reply with several records. A record that doesn't fit is dropped and the reply marked as
 * truncated. A record whose target is not a host name is dropped silently. cap: at least
 * DNS_PLAIN_MAX. */
struct dns_reply {
    uint8_t *out;
    size_t n, cap;
    uint16_t code, answers;
    size_t record; /* start of the last record while text may be added to it; 0: none */
    bool cut;
};

void dns_reply_begin(struct dns_reply *r, const struct dns_query *q, enum dns_code code,
                     uint8_t *out, size_t cap);
/* numbers: priority, weight, port */
void dns_reply_service(struct dns_reply *r, const uint16_t numbers[3], const char *host,
                       uint32_t seconds);
void dns_reply_mail(struct dns_reply *r, uint16_t preference, const char *host, uint32_t seconds);
/* Adds a string of at most 255 bytes, to a new record or to the last one. */
void dns_reply_text(struct dns_reply *r, bool first, const void *text, size_t n, uint32_t seconds);
size_t dns_reply_end(struct dns_reply *r, const struct dns_query *q);

#endif
