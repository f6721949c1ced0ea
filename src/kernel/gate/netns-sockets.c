/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "kernel/gate/netns-sockets.h"

#include <errno.h>

#include "kernel/shared/fd-pass.h"

_Static_assert((int)NETNS_PLACES <= (int)FD_PASS_MANY, "every listener fits into one message");

int netns_sockets_receive(int from, struct netns_sockets *net)
{
    int fds[NETNS_PLACES], *places[NETNS_PLACES];
    size_t got, used = 0;
    if (fd_pass_receive_many(from, net, sizeof(*net), fds, NETNS_PLACES, &got) != sizeof(*net))
        return -EIO;
    size_t n = netns_places(net, places);
    for (size_t i = 0; i < n; i++)
        if (*places[i] >= 0)
            *places[i] = used < got ? fds[used++] : -1;
    return used == got ? 0 : -EIO;
}

int netns_sockets_send(int to, struct netns_sockets *net)
{
    int fds[NETNS_PLACES], *places[NETNS_PLACES];
    size_t n = netns_places(net, places), used = 0;
    for (size_t i = 0; i < n; i++)
        if (*places[i] >= 0)
            fds[used++] = *places[i];
    return fd_pass_send_many(to, net, sizeof(*net), fds, used);
}
