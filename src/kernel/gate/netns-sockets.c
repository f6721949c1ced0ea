/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "kernel/gate/netns-sockets.h"

#include <errno.h>

#include "kernel/shared/fd-pass.h"

_Static_assert((int)LAY_PLACES <= (int)PASS_MANY, "every listener fits into one message");

int laid_receive(int from, struct laid_network *net)
{
    int fds[LAY_PLACES], *places[LAY_PLACES];
    size_t got, used = 0;
    if (pass_receive_many(from, net, sizeof(*net), fds, LAY_PLACES, &got) != sizeof(*net))
        return -EIO;
    size_t n = lay_places(net, places);
    for (size_t i = 0; i < n; i++)
        if (*places[i] >= 0)
            *places[i] = used < got ? fds[used++] : -1;
    return used == got ? 0 : -EIO;
}

int laid_send(int to, struct laid_network *net)
{
    int fds[LAY_PLACES], *places[LAY_PLACES];
    size_t n = lay_places(net, places), used = 0;
    for (size_t i = 0; i < n; i++)
        if (*places[i] >= 0)
            fds[used++] = *places[i];
    return pass_send_many(to, net, sizeof(*net), fds, used);
}
