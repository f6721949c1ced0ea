/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_NETNS_SETUP_INT_H
#define BK_NET_NETNS_SETUP_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "net/netns-setup.h"

/* What the files that lay a network share. */

/* Ports that nobody else has reason to ask for; only redirected connections arrive there. */
enum { PORT_TCP = 64053, PORT_DNS = 64054, PORT_DNS_TCP = 64055, PORT_UDP = 64056 };

enum { PORT_NAMES = 53 };

/* The sandbox's own addresses: lookups with AI_ADDRCONFIG want one of each kind besides loopback.
 */
static const uint8_t netns_own_v4[4] = {198, 18, 0, 1};
static const uint8_t netns_own_v6[16] = {0xfd, 0x62, 0x75, 0x63, 0x6b, 0x6c, [15] = 1};

/* ---- netns-setup.c ---- */

/* Each -1 with errno. */
int netns_stream_options(int fd);                 /* of a listener, before it is bound */
int netns_report_destination(int fd, int family); /* with each datagram, as it was sent */

/* A raw socket for IPPROTO_UDP or one of ICMP's, to send from any address; or a negated errno. */
int netns_open_raw(int family, int protocol);

/* ---- netns-setup-nft.c ---- */

/* Packets are handed over, which not every kernel can do, or redirected. Of what fails nothing is
 * kept. */
int netns_rules(bool hand_over);

/* ---- netns-setup-ports.c ---- */

/* Without those rules: listeners at every address, but only at the ports that are wished for and
 * not taken; and the stub's. */
int netns_ports(const struct netns_wishes *wishes, bool v6, struct netns_sockets *out);

#endif
