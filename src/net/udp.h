/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_UDP_H
#define BK_NET_UDP_H

#include <stdint.h>

struct gate;
struct listener;

void udp_datagrams(struct gate *g, int fd);
void udp_local(const struct listener *l);       /* to a port of the host's loopback */
void udp_answered(struct gate *g, uint32_t id); /* resumes flows that wait for the answer */
void udp_sweep(struct gate *g);                 /* ends silent flows */
void udp_end(struct gate *g);

#endif
