/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "net/packets.h"

#include "net/datagram.h"
#include "net/orig-dst.h"
#include "net/refused-packets.h"
#include "net/udp.h"

static bool destination(struct conn *c, bool as_sent, bool v6)
{
    return as_sent ? orig_dst_as_sent(c) : orig_dst_redirected(c, v6);
}

const struct gate_packets gate_packets = {
    .destination = destination,
    .datagrams = udp_datagrams,
    .local = udp_local,
    .answered = udp_answered,
    .sweep = udp_sweep,
    .end = udp_end,
    .refused = refused_packets_receive,
    .receive = datagram_receive,
    .answer = datagram_answer,
};
