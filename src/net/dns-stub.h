/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_DNS_STUB_H
#define BK_NET_DNS_STUB_H

#include <stdbool.h>
#include <stddef.h>

#include "net/datagram.h"

struct conn;

/* The sender of a question. */
struct dns_client {
    struct conn *conn; /* or NULL, and then */
    int fd;            /* the socket that received it; -1: the client has gone */
    struct flow_key key;
};

void dns_stub_datagram(struct gate *g, int fd);
bool dns_stub_stream(struct conn *c); /* false if more bytes are needed */
void dns_stub_reply(const struct gate *g, const struct dns_client *to, const void *data, size_t n);

#endif
