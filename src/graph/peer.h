/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_PEER_H
#define BK_GRAPH_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * A host as somebody wrote it, in the one form that policy is asked about: a lower-case name
 * without the root's dot, or an address. Everything that the C library would take for an address is
 * one here ("127.1", "0x7f000001", "017700000001", "::ffff:127.0.0.1"): a rule about names must not
 * be led around by spelling.
 */

enum { PEER_MAX = 253 };

struct peer {
    bool address;
    uint8_t addr[16]; /* address: IPv4 as ::ffff:a.b.c.d */
    uint32_t len;
    char name[PEER_MAX + 1]; /* the name, or the address as text; last, so that it can be cut off */
};

/* Brackets around an IPv6 address are allowed. False when it is no host: empty, too long, with
 * bytes that no name has, or with a zone. */
bool peer_parse(const char *s, size_t n, struct peer *out);
/* "host:port", "[v6]:port"; without a port *port is fallback, and 0 as fallback means it must be
 * there. */
bool peer_parse_authority(const char *s, size_t n, uint16_t fallback, struct peer *out,
                          uint16_t *port);
void peer_from_address(const uint8_t addr[16], struct peer *out);
/* "host:port", with brackets where a colon would mislead; its length. */
enum { PEER_TEXT = PEER_MAX + 10 };
size_t peer_text(const struct peer *p, uint16_t port, char out[PEER_TEXT]);
/* "localhost", or a name below it, which means the same. */
bool peer_is_localhost(const struct peer *p);
bool peer_equal(const struct peer *a, const struct peer *b);

bool addr_is_v4(const uint8_t addr[16]);
/* A socket's address; false for other families. */
bool addr_from_sockaddr(const struct sockaddr_storage *from, uint8_t addr[16], uint16_t *port);
socklen_t addr_to_sockaddr(const uint8_t addr[16], uint16_t port, struct sockaddr_storage *to);

/* Where an allowed name may not lead, unless a rule names that very address: to this machine, its
 * neighbours on the link, everybody at once, or the cloud's metadata. NULL when it may; otherwise
 * what it is, in words. */
const char *addr_is_special(const uint8_t addr[16]);
/* Whether an IPv6 address carries an IPv4 address along, to which it leads somewhere on the way. */
bool addr_carries(const uint8_t addr[16], uint8_t v4[16]);

#endif
