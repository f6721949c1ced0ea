/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A mark is a socket in the abstract namespace. A gate tries to connect to the name. Only
 * ECONNREFUSED says that there is no such socket: a Landlock scope answers EPERM if there is one,
 * and other errors count as a yes.
 */

#include "net/window-port.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/own.h"

static socklen_t name_of(uint16_t port, struct sockaddr_un *a)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "buckle-ui-%u", (unsigned)port);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int window_port_mark(uint16_t port)
{
    struct sockaddr_un a;
    socklen_t n = name_of(port, &a);
    OWN(fd) int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (sock < 0 || bind(sock, (struct sockaddr *)&a, n) < 0 || listen(sock, 64) < 0)
        return -1;
    return steal_fd(&sock);
}

bool window_port_is_marked(uint16_t port)
{
    struct sockaddr_un a;
    socklen_t n = name_of(port, &a);
    OWN(fd) int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return sock < 0 || connect(sock, (struct sockaddr *)&a, n) == 0 || errno != ECONNREFUSED;
}
