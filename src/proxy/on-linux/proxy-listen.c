/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Listeners. Only loopback without a word of the user: a proxy that other machines reach carries
 * their requests under this one's name. A Unix socket is for its owner alone.
 */

#include "proxy/on-linux/proxy-listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/own.h"
#include "graph/peer.h"
#include "net/netns-setup.h"
#include "system/descriptors.h"

/* ---- Unix sockets ---- */

/* A file that a proxy left behind answers nobody. */
static void remove_stale(const struct sockaddr_un *at)
{
    struct stat st;
    OWN(fd) int fd = fd_socket(AF_UNIX, SOCK_STREAM, FD_NONBLOCK);
    if (lstat(at->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) && fd >= 0 &&
        connect(fd, (const struct sockaddr *)at, sizeof(*at)) < 0 && errno == ECONNREFUSED)
        unlink(at->sun_path);
}

static int listen_local(const char *path, struct proxy_listener *out, struct bk_err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (!*path || strlen(path) >= sizeof(at.sun_path))
        return err_set(err, BK_E_INPUT, "a socket's path has 1 to %zu bytes",
                       sizeof(at.sun_path) - 1);
    strcpy(at.sun_path, path);
    remove_stale(&at);
    mode_t was = umask(0077);
    OWN(fd) int fd = fd_socket(AF_UNIX, SOCK_STREAM, FD_NONBLOCK);
    int bound = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&at, sizeof(at));
    umask(was);
    if (bound < 0 || listen(fd, NETNS_BACKLOG) < 0)
        return err_sys(err, "cannot listen at %s", path);
    snprintf(out->where, sizeof(out->where), "%s", path);
    out->local = true;
    out->fd = steal_fd(&fd);
    return 0;
}

/* ---- addresses ---- */

static int name_listener(struct proxy_listener *l, struct bk_err *err)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof(at);
    uint8_t addr[16];
    uint16_t port;
    struct peer host;
    char text[PEER_TEXT];
    if (getsockname(l->fd, (struct sockaddr *)&at, &n) < 0)
        return err_sys(err, "not a socket");
    if (at.ss_family == AF_UNIX) {
        struct sockaddr_un *un = (struct sockaddr_un *)&at;
        l->local = true;
        snprintf(l->where, sizeof(l->where), "%.107s", un->sun_path);
        return 0;
    }
    if (!addr_from_sockaddr(&at, addr, &port))
        return err_set(err, BK_E_INPUT, "a listener must be a TCP or Unix socket");
    peer_from_address(addr, &host);
    peer_text(&host, port, text);
    snprintf(l->where, sizeof(l->where), "%.150s", text);
    return 0;
}

/* "localhost" is 127.0.0.1; port 0 is any. */
static bool parse_place(const char *text, struct peer *host, uint16_t *port)
{
    const char *colon = strrchr(text, ':');
    char *end;
    unsigned long number = colon ? strtoul(colon + 1, &end, 10) : 0;
    if (!colon || !colon[1] || *end || number > UINT16_MAX || colon == text)
        return false;
    *port = (uint16_t)number;
    if ((size_t)(colon - text) == 9 && strncmp(text, "localhost", 9) == 0)
        return peer_parse("127.0.0.1", 9, host);
    return peer_parse(text, (size_t)(colon - text), host) && host->address;
}

static int listen_address(const struct proxy_options *o, const char *text,
                          struct proxy_listener *out, struct bk_err *err)
{
    struct peer host;
    uint16_t port;
    struct sockaddr_storage at;
    if (!parse_place(text, &host, &port))
        return err_set(err, BK_E_INPUT,
                       "an address to listen at is ADDRESS:PORT or unix:PATH, not %.80s", text);
    if (!addr_is_loopback(host.addr) && !o->any_interface) {
        err_set(err, BK_E_INPUT, "%.80s is not a loopback address", text);
        err_remedy(err, REMEDY_ANY_INTERFACE);
        return -1;
    }
    socklen_t n = addr_to_sockaddr(host.addr, port, &at);
    OWN(fd) int fd = fd_socket(at.ss_family, SOCK_STREAM, FD_NONBLOCK);
    if (fd < 0 || netns_stream_options(fd) < 0 || bind(fd, (struct sockaddr *)&at, n) < 0 ||
        listen(fd, NETNS_BACKLOG) < 0)
        return err_sys(err, "cannot listen at %s", text);
    out->fd = steal_fd(&fd);
    return name_listener(out, err);
}

int proxy_listen(const struct proxy_options *o, struct proxy_listener *out, struct bk_err *err)
{
    static const char usual[] = "127.0.0.1:0";
    int n = 0, got = 0;
    if (o->listen_fd >= 0) {
        out[n].fd = o->listen_fd;
        got = name_listener(&out[n++], err);
    }
    for (size_t i = 0; i < o->nlisten && got == 0; i++, n++)
        got = strncmp(o->listen[i], "unix:", 5) == 0
                  ? listen_local(o->listen[i] + 5, &out[n], err)
                  : listen_address(o, o->listen[i], &out[n], err);
    if (n == 0 && got == 0)
        got = listen_address(o, usual, &out[n++], err);
    return got < 0 ? -1 : n;
}

void proxy_listen_remove(const struct proxy_listener *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].local && all[i].where[0] == '/')
            unlink(all[i].where);
}
