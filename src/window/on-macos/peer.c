/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "window/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "agent/caller.h"
#include "system/tcp-holders.h"

/* Returns -1 for one that may not use the page. */
static int check(void *arg, pid_t pid)
{
    bool *found = arg;
    *found = true;
    return caller_is_outside(pid) ? 0 : -1;
}

bool peer_is_user(int sock)
{
    struct sockaddr_in theirs, ours;
    socklen_t n = sizeof(theirs), m = sizeof(ours);
    bool found = false;
    if (getpeername(sock, (struct sockaddr *)&theirs, &n) < 0 || theirs.sin_family != AF_INET ||
        getsockname(sock, (struct sockaddr *)&ours, &m) < 0)
        return false;
    return tcp_holders(ntohs(theirs.sin_port), ntohs(ours.sin_port), check, &found) == 0 && found;
}
