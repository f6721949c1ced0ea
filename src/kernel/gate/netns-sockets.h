/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_GATE_NETNS_SOCKETS_H
#define BK_KERNEL_GATE_NETNS_SOCKETS_H

#include "net/netns-setup.h"

/* Passes the sockets of a network namespace from one process to another. Both return 0 or a
 * negative errno. */
int netns_sockets_send(int to, struct netns_sockets *net);
int netns_sockets_receive(int from, struct netns_sockets *net);

#endif
