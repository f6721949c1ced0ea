/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle connect`: connects standard input and output through the proxy that the environment
 * names. Inside a sandbox GIT_SSH_COMMAND makes ssh use it, because nc and socat may be missing.
 */

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/args.h"
#include "net/upstream.h"
#include "system/descriptors.h"

static const struct cli_option options[] = {{0}};

static int dial(const struct upstream *u, struct bk_err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    char port[8];
    snprintf(port, sizeof(port), "%u", u->port);
    int why = getaddrinfo(u->host.name, port, &hints, &found);
    if (why)
        return err_set(err, BK_E_SYSTEM, "the proxy %s: %s", u->host.name, gai_strerror(why));
    int fd = -1;
    for (struct addrinfo *i = found; i && fd < 0; i = i->ai_next) {
        fd = fd_socket(i->ai_family, i->ai_socktype, FD_BLOCK);
        if (fd >= 0 && connect(fd, i->ai_addr, i->ai_addrlen) < 0) {
            int last = errno;
            close(fd);
            fd = -1;
            errno = last;
        }
    }
    freeaddrinfo(found);
    return fd < 0 ? err_sys(err, "cannot connect to the proxy %s", u->host.name) : fd;
}

static int send_all(int fd, const void *data, size_t n)
{
    for (const char *at = data; n;) {
        ssize_t did = write(fd, at, n);
        if (did < 0 && errno != EINTR)
            return -errno;
        at += did > 0 ? did : 0;
        n -= did > 0 ? (size_t)did : 0;
    }
    return 0;
}

/* Talks to the proxy until the connection is open; leaves the bytes behind its answer for the
 * relay. */
static int talk(int fd, struct upstream_exchange *t)
{
    uint8_t data[UPSTREAM_IN_MAX];
    int least = 1;
    upstream_begin(t);
    while (!t->done) {
        int err = t->nout ? send_all(fd, t->out, t->nout) : 0;
        t->nout = 0;
        if (err < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)) < 0)
            return err < 0 ? err : -errno;
        ssize_t got = recv(fd, data, sizeof(data), MSG_PEEK);
        if (got < 0 && errno == EINTR)
            continue;
        ssize_t used = got >= least ? upstream_read(t, data, (size_t)got) : -ECONNRESET;
        if (used < 0)
            return (int)used;
        if (used > 0 && recv(fd, data, (size_t)used, MSG_WAITALL) != used)
            return -ECONNRESET;
        least = used > 0 ? 1 : (int)got + 1; /* incomplete */
    }
    least = 1;
    return setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)) < 0 ? -errno : 0;
}

/* Relays one direction; false at its end. */
static bool pass(int from, int to)
{
    char data[65536];
    ssize_t n = read(from, data, sizeof(data));
    if (n < 0 && errno == EINTR)
        return true;
    return n > 0 && send_all(to, data, (size_t)n) == 0;
}

static void relay(int fd)
{
    struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {fd, POLLIN, 0}};
    while (fds[1].fd >= 0) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return;
        if (fds[0].revents && !pass(STDIN_FILENO, fd)) {
            shutdown(fd, SHUT_WR);
            fds[0].fd = -1;
        }
        if (fds[1].revents && !pass(fd, STDOUT_FILENO))
            fds[1].fd = -1;
    }
}

static int connect_to(const char *url, const char *where, struct bk_err *err)
{
    struct upstream u;
    struct peer host;
    uint16_t port;
    if (upstream_parse(url, &u, err) < 0)
        return -1;
    if (!peer_parse_authority(where, strlen(where), 0, &host, &port))
        return err_set(err, BK_E_INPUT, "%.300s is not a host and port", where);
    OWN(fd) int fd = dial(&u, err);
    if (fd < 0)
        return -1;
    struct upstream_exchange t = {.to = &u, .host = &host, .port = port};
    int why = talk(fd, &t);
    if (why == -EPERM || why == -EACCES)
        return err_set(err, BK_E_SYSTEM, "the sandbox's policy denies %.300s", where);
    if (why < 0) {
        errno = -why;
        return err_sys(err, "cannot connect to %.300s", where);
    }
    relay(fd);
    return 0;
}

static int cmd_connect_run(struct cli_args *args)
{
    struct bk_err err;
    char where[PEER_TEXT + 2];
    const char *url = getenv("ALL_PROXY");
    if (args->npos != 2)
        return cli_usage(args, "give a host and a port");
    if (!url || !*url) {
        err_set(&err, BK_E_INPUT, "ALL_PROXY is not set, so there is no proxy to connect through");
        err_hint(&err, "Buckle sets it inside a sandbox with a filtered network");
        return cli_fail(&err);
    }
    bool v6 = strchr(args->pos[0], ':') && args->pos[0][0] != '[';
    snprintf(where, sizeof(where), v6 ? "[%s]:%s" : "%s:%s", args->pos[0], args->pos[1]);
    return connect_to(url, where, &err) < 0 ? cli_fail(&err) : CLI_OK;
}

const struct cli_command cmd_connect = {
    .name = "connect",
    .usage = "HOST PORT",
    .brief = "connect standard input and output through a sandbox's proxy",
    .about =
        "Connects to HOST through the proxy in ALL_PROXY (http://… or socks5h://…) and relays\n"
        "standard input and output. Use it as ssh's ProxyCommand; inside a sandbox with a\n"
        "filtered network, GIT_SSH_COMMAND does.",
    .options = options,
    .run = cmd_connect_run,
};
