/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_SESSION_LINK_H
#define BK_NET_SESSION_LINK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Loopback within a session. Each of its commands has a network of its own, with its own policy and
 * gate, and yet a server that one command has started is at "localhost" for the others. Each gate
 * has a link to the session (a sequenced socket), which passes on what they send:
 *
 *   LISTENS, ENDED   a server of the sender listens at this port, or no longer does
 *   CALL             a connection to this port, as a descriptor: for the gate whose server it is
 */
enum link_kind { LINK_LISTENS = 1, LINK_ENDED, LINK_CALL };

struct link_message {
    uint16_t kind, port;
};

/* Never blocks. passed: a descriptor that goes along, or -1; it stays open here. Returns 0 or a
 * negative errno. */
int link_send(int sock, enum link_kind kind, uint16_t port, int passed);
/* Returns 1 with a message, and the descriptor that came along or -1; 0 at the end; a negative
 * errno otherwise, -EAGAIN if there is none yet. */
int link_receive(int sock, struct link_message *m, int *passed);

/* Ports at which other commands of the session listen. The gate writes, the judge reads. */
struct link_ports {
    uint8_t bits[(UINT16_MAX + 1) / 8];
};

static inline bool link_ports_has(const struct link_ports *p, uint16_t port)
{
    return __atomic_load_n(&p->bits[port / 8], __ATOMIC_RELAXED) >> port % 8 & 1;
}

static inline void link_ports_set(struct link_ports *p, uint16_t port, bool on)
{
    uint8_t bit = (uint8_t)(1u << port % 8);
    if (on)
        __atomic_or_fetch(&p->bits[port / 8], bit, __ATOMIC_RELAXED);
    else
        __atomic_and_fetch(&p->bits[port / 8], (uint8_t)~bit, __ATOMIC_RELAXED);
}

#endif
