/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_WINDOW_PORT_H
#define BK_NET_WINDOW_PORT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which ports of 127.0.0.1 are pages of `buckle ui`. No gate connects to one, whatever its policy
 * allows: the page can change the policy. A mark ends with
 * its process, and every gate can see it.
 */

/* Marks a port until the descriptor is closed. -1 and errno. */
int window_port_mark(uint16_t port);
/* addr: as the gate has them, IPv4 mapped into IPv6. */
bool window_port_is(const uint8_t addr[16], uint16_t port);
/* Whether a port of this machine is marked; true if that is unknown. */
bool window_port_is_marked(uint16_t port);

#endif
