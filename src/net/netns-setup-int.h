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

/* The sandbox's own addresses. Lookups with AI_ADDRCONFIG need one per family besides loopback. */
static const uint8_t netns_own_v4[4] = {198, 18, 0, 1};
static const uint8_t netns_own_v6[16] = {0xfd, 0x62, 0x75, 0x63, 0x6b, 0x6c, [15] = 1};

/* ---- netns-setup.c ---- */

/* Both return -1 and set errno. */
int netns_stream_options(int fd); /* for a listener, before bind() */
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
