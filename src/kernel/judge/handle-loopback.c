/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Loopback in a network namespace. The sandbox has its own, and programs mean by "localhost" both
 * the servers of the command and those of this machine. So the judge first connects inside. If no
 * server listens there, but one does at that port of this machine, the connection leads to it where
 * the policy allows such ports: the judge connects the socket to the gate and announces the
 * destination, and the gate decides and dials. Where the policy does not, the attempt is reported:
 * the program sees a refused connection in either case, and the user could not know why.
 *
 * In a session, servers of its other commands count like servers inside, whatever the policy says.
 *
 * Looking first whether this machine has a server keeps closed ports closed. The gate can only
 * accept before it dials, and programs wait for a server by connecting until that works.
 */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "graph/net.h"
#include "graph/peer.h"
#include "kernel/gate/gate-main.h"
#include "kernel/judge/handle-socket.h"
#include "kernel/judge/judge.h"
#include "kernel/shared/socket-table.h"

static const uint8_t loopback4[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1},
                     loopback6[16] = {[15] = 1};

/* ---- servers of this machine ---- */

void loopback_tables_open(struct host_servers *h, int proc, pid_t whose)
{
    static const char *const tables[HOST_TABLES] = {"tcp", "tcp6"};
    for (size_t i = 0; i < HOST_TABLES; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%d/net/%s", whose, tables[i]);
        int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
        h->tables[i] = fd < 0 ? NULL : fdopen(fd, "r");
        if (fd >= 0 && !h->tables[i])
            close(fd);
    }
    h->opened = true;
}

/* The controller is in this machine's network. Most commands need none of this, so it waits for the
 * first that does; where a connection may lead out, the tables are opened before the walls. */
static bool host_serves(struct judge *j, const uint8_t addr[16], uint16_t port)
{
    struct host_servers *h = &j->net.host;
    if (!h->opened)
        loopback_tables_open(h, j->proc, getppid());
    for (size_t i = 0; i < HOST_TABLES; i++)
        if (socket_table_listens(h->tables[i], addr, port))
            return true;
    return false;
}

/* Whether another command of the session has a server there, which counts as one inside. */
static bool session_serves(const struct judge *j, uint16_t port)
{
    const struct link_ports *ports = j->net.gate ? j->net.gate->link_ports : NULL;
    return ports && link_ports_has(ports, port);
}

/* ---- connecting ---- */

/* Returns false if it is not a loopback address. The unspecified address means this machine. */
static bool read_address(const union address *to, socklen_t len, struct dialled *d)
{
    static const uint8_t any4[16] = {[10] = 0xff, [11] = 0xff}, any6[16] = {0};
    int family = to->any.sa_family;
    if ((family != AF_INET || len < sizeof(struct sockaddr_in)) &&
        (family != AF_INET6 || len < sizeof(struct sockaddr_in6)))
        return false;
    if (!addr_from_sockaddr(&to->storage, d->addr, &d->port) || d->port == 0)
        return false;
    if (memcmp(d->addr, any4, 16) == 0)
        memcpy(d->addr, loopback4, 16);
    if (memcmp(d->addr, any6, 16) == 0)
        memcpy(d->addr, loopback6, 16);
    return memcmp(d->addr, loopback4, 13) == 0 || memcmp(d->addr, loopback6, 16) == 0;
}

bool loopback_is(const union address *to, socklen_t len)
{
    struct dialled d;
    return read_address(to, len, &d);
}

/* The same family, so that sockets for IPv6 only work, too. */
static socklen_t set_gate_address(const union address *to, const uint8_t addr[16],
                                  union address *at)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)at;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)at;
    memset(at, 0, sizeof(*at));
    at->any.sa_family = to->any.sa_family;
    if (to->any.sa_family == AF_INET) {
        v4->sin_port = htons(NETNS_LOOP_PORT);
        v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return sizeof(*v4);
    }
    v6->sin6_port = htons(NETNS_LOOP_PORT);
    memcpy(&v6->sin6_addr, addr_is_v4(addr) ? loopback4 : loopback6, 16);
    return sizeof(*v6);
}

/* Connects inside. A socket that does not block reports later that it was refused, but on loopback
 * that is known already. */
static int connect_inside(int sock, const union address *to, socklen_t len)
{
    struct pollfd p = {sock, POLLOUT, 0};
    int err = socket_connect_at_once(sock, to, len);
    if (err == -EINPROGRESS && poll(&p, 1, 0) > 0 && p.revents & POLLERR)
        err = connect(sock, &to->any, len) < 0 ? -errno : 0;
    return err;
}

int loopback_connect(struct judge *j, const struct request *r, int sock, const union address *to,
                     socklen_t len, struct dialled *d)
{
    union address gate;
    int err = connect_inside(sock, to, len);
    if (err != -ECONNREFUSED || !read_address(to, len, d))
        return err;
    d->peer = session_serves(j, d->port);
    if (!d->peer && !host_serves(j, d->addr, d->port))
        return err;
    if (!d->peer && !j->net.local_all) {
        dial_report_local(j, r, d->addr, d->port);
        return err;
    }
    d->announced = true;
    len = set_gate_address(to, d->addr, &gate);
    return socket_connect_at_once(sock, &gate, len);
}
