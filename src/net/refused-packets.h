/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_REFUSED_PACKETS_H
#define BK_NET_REFUSED_PACKETS_H

struct listener;

/* Reports packets that the kernel refused. */
void refused_packets_receive(const struct listener *l);

#endif
