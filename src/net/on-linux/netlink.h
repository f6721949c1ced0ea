/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_NETLINK_H
#define BK_NET_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Messages to the kernel about addresses, routes and packet rules. They are written one after
 * another into one buffer and sent at once. If a write doesn't fit, netlink_send() fails.
 */
enum { NETLINK_BYTES = 8192 };

struct netlink {
    size_t n;       /* bytes written */
    size_t message; /* where the current message starts */
    uint32_t sequence;
    uint32_t acks_due; /* messages that need an acknowledgement */
    bool full;
    _Alignas(4) uint8_t bytes[NETLINK_BYTES];
};

/* Starts a message with the header of its family. */
void netlink_begin(struct netlink *b, uint16_t type, uint16_t flags, const void *head, size_t n);
void netlink_end(struct netlink *b);

void netlink_attr(struct netlink *b, uint16_t type, const void *data, size_t n);
void netlink_str(struct netlink *b, uint16_t type, const char *s);
void netlink_be32(struct netlink *b, uint16_t type, uint32_t v);
/* Starts a nested attribute. Pass the result to netlink_close(). */
size_t netlink_open(struct netlink *b, uint16_t type);
void netlink_close(struct netlink *b, size_t at);

/* Sends everything and reads all acknowledgements. Returns 0 or a negative errno. */
int netlink_send(int fd, const struct netlink *b);

#endif
