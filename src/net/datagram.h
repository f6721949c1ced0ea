/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_DATAGRAM_H
#define BK_NET_DATAGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct gate;

/* The two ends of a packet inside the sandbox. */
struct flow_key {
    uint8_t client[16], to[16];
    uint16_t client_port, port;
};

/* Like recv(). Sets the port of an unknown end to 0. */
ssize_t datagram_receive(int fd, void *data, size_t cap, struct flow_key *k);
/* Sends to the client from the address it sent to. Needs the raw sockets. */
void datagram_answer(const struct gate *g, const struct flow_key *k, const void *data, size_t n);
/* Sends "port unreachable". */
void datagram_refuse(const struct gate *g, const struct flow_key *k);

#endif
