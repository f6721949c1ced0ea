/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Listeners on the host's loopback, at free ports, for a command without a network namespace. Its
 * connections are announced (gate-announce.c).
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "net/netns-setup.h"

static int listen_anywhere(uint16_t *port)
{
    struct sockaddr_in at;
    socklen_t n = sizeof(at);
    OWN(fd) int fd = netns_listen(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        return fd;
    if (getsockname(fd, (struct sockaddr *)&at, &n) < 0)
        return -errno;
    *port = ntohs(at.sin_port);
    return steal_fd(&fd);
}

int netns_loopback(struct netns_sockets *out, struct netns_ports *ports)
{
    const struct {
        enum netns_socket kind;
        uint16_t *port;
    } list[] = {
        {NETNS_TCP4, &ports->tcp}, {NETNS_HTTP, &ports->http}, {NETNS_SOCKS, &ports->socks}};
    netns_none(out);
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        int fd = listen_anywhere(list[i].port);
        if (fd < 0) {
            netns_close(out);
            return fd;
        }
        out->fds[list[i].kind] = fd;
    }
    return 0;
}
