/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_NETNS_SETUP_INT_H
#define BK_NET_NETNS_SETUP_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "net/netns-setup.h"

/* Shared by the files that set up a network namespace. */

/* Ports that the command has no reason to use; only redirected connections arrive there. */
enum { PORT_TCP = 64053, PORT_DNS = 64054, PORT_DNS_TCP = 64055, PORT_UDP = 64056 };

enum { PORT_NAMES = 53 };

/* ---- netns-setup.c ---- */

/* Returns -1 and sets errno. */
int netns_report_destination(int fd,
                             int family); /* receive the original destination with each datagram */

/* Opens a raw socket for IPPROTO_UDP or ICMP that sends from any address. Returns a negative errno
 * on failure. */
int netns_open_raw(int family, int protocol);

/* ---- netns-setup-nft.c ---- */

/* Installs rules that hand packets over with their destination (not every kernel can) or redirect
 * them. On failure none are left. */
int netns_rules(bool hand_over);

/* ---- netns-setup-ports.c ---- */

/* Without packet rules: opens listeners on all addresses, at the requested ports that are free and
 * at the stub's. */
int netns_ports(const struct netns_wishes *wishes, bool v6, struct netns_sockets *out);

#endif
