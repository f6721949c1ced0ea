/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_GATE_NETNS_SOCKETS_H
#define BK_KERNEL_GATE_NETNS_SOCKETS_H

#include "net/netns-setup.h"

/* A laid network's sockets, from one process to another: the same there, with other numbers. Both
 * answer 0 or a negated errno. */
int netns_sockets_send(int to, struct netns_sockets *net);
int netns_sockets_receive(int from, struct netns_sockets *net);

#endif
