/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "net/session-link.h"

#include <errno.h>
#include <unistd.h>

#include "system/descriptors.h"

int link_send(int sock, enum link_kind kind, uint16_t port, int passed)
{
    struct link_message m = {(uint16_t)kind, port};
    return fd_packet_send(sock, &m, sizeof(m), passed, true) == sizeof(m) ? 0 : -errno;
}

int link_receive(int sock, struct link_message *m, int *passed)
{
    ssize_t n = fd_packet_receive(sock, m, sizeof(*m), passed, true);
    if (n < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    if (n == sizeof(*m) && m->port && (m->kind == LINK_CALL) == (*passed >= 0))
        return 1;
    if (*passed >= 0)
        close(*passed);
    *passed = -1;
    return n == 0 ? 0 : -EPROTO;
}
