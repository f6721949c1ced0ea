/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_PEER_H
#define BK_GRAPH_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * A host in canonical form: a lower-case name without a trailing dot, or an address. Everything
 * that the C library accepts as an address is one here ("127.1", "0x7f000001", "017700000001",
 * "::ffff:127.0.0.1"), so that no spelling bypasses a rule about names.
 */

enum { PEER_MAX = 253 };

struct peer {
    bool address;
    uint8_t addr[16]; /* address: IPv4 as ::ffff:a.b.c.d */
    uint32_t len;
    char name[PEER_MAX + 1]; /* the name, or the address as text; the last member, so that copies
                                can be cut short */
};

/* Accepts brackets around an IPv6 address. Returns false if it is not a host: empty, too long, with
 * invalid bytes or with a zone. */
bool peer_parse(const char *s, size_t n, struct peer *out);
/* Parses "host:port" or "[v6]:port". If there is no port, *port is fallback; a fallback of 0 makes
 * the port mandatory. */
bool peer_parse_authority(const char *s, size_t n, uint16_t fallback, struct peer *out,
                          uint16_t *port);
void peer_from_address(const uint8_t addr[16], struct peer *out);
/* Writes "host:port", with brackets around IPv6 addresses. Returns the length. */
enum { PEER_TEXT = PEER_MAX + 10 };
size_t peer_text(const struct peer *p, uint16_t port, char out[PEER_TEXT]);
/* "localhost" or a name below it, which means the same. */
bool peer_is_localhost(const struct peer *p);
bool peer_equal(const struct peer *a, const struct peer *b);

bool addr_is_v4(const uint8_t addr[16]);
bool addr_is_loopback(const uint8_t addr[16]); /* 127.0.0.0/8 or ::1 */
/* Converts a socket address; false for other families. */
bool addr_from_sockaddr(const struct sockaddr_storage *from, uint8_t addr[16], uint16_t *port);
socklen_t addr_to_sockaddr(const uint8_t addr[16], uint16_t port, struct sockaddr_storage *to);

/* The reason why an allowed name may not lead to this address, or NULL. Special addresses are
 * this machine, link-local, multicast and cloud metadata. Only a rule that names the address
 * allows it. */
const char *addr_is_special(const uint8_t addr[16]);
/* Extracts the IPv4 address that an IPv6 address embeds (NAT64, 6to4); false if there is none. */
bool addr_carries(const uint8_t addr[16], uint8_t v4[16]);

#endif
