/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The proxies are a forked process that runs the gate. It sends each denial as a length and an
 * event over a pipe, and stops when its other pipe is closed.
 */

#include "macos/macos-proxies.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "macos/child.h"

enum { BACKLOG = 128, PATIENCE_MS = 1000 };

/* ---- events ---- */

/* Runs in the proxies' process. */
static void on_denial(void *arg, const struct gate_denial *d)
{
    static struct event e;
    const int *to = arg;
    char host[PEER_TEXT];
    if (d->port)
        peer_text(d->host, d->port, host);
    else
        snprintf(host, sizeof(host), "%s", d->host->name);
    e = (struct event){.time_ns = date_ns(),
                       .rule = d->verdict.rule,
                       .op = OP_NETWORK_OUTBOUND,
                       .allow = d->verdict.allow,
                       .flags = d->verdict.flags,
                       .err = d->verdict.allow ? 0 : EPERM,
                       .count = 1};
    int n = snprintf(e.path, sizeof(e.path), d->why ? "%s (%s)" : "%s", host, d->why);
    e.path_len = (uint32_t)n;
    if (d->request)
        snprintf(e.detail, sizeof(e.detail), "%s", d->request);
    uint32_t size = (uint32_t)event_wire_size(&e);
    /* the reader may have gone */
    if (fd_write_all(*to, &size, sizeof(size)) == 0)
        (void)fd_write_all(*to, &e, size);
}

bool proxies_read(struct proxies *p, void (*on_event)(void *arg, const struct event *e), void *arg)
{
    static struct event e;
    ssize_t n = read(p->events, p->bytes + p->n, sizeof(p->bytes) - p->n);
    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    p->n += (size_t)n;
    size_t at = 0;
    for (uint32_t size; p->n - at >= sizeof(size); at += sizeof(size) + size) {
        memcpy(&size, p->bytes + at, sizeof(size));
        if (size > sizeof(struct event))
            return false;
        if (p->n - at - sizeof(size) < size)
            break;
        if (event_from_wire(p->bytes + at + sizeof(size), size, &e) == 0)
            on_event(arg, &e);
    }
    memmove(p->bytes, p->bytes + at, p->n - at);
    p->n -= at;
    return true;
}

/* ---- listening ---- */

static int listen_somewhere(uint16_t *port, struct bk_err *err)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(to);
    int one = 1;
    OWN(fd) int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        return err_sys(err, "cannot create a socket");
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* inherited by accepted sockets */
    if (bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&to, &n) < 0)
        return err_sys(err, "cannot listen on loopback");
    *port = ntohs(to.sin_port);
    return steal_fd(&fd);
}

static int make_token(char token[33], struct bk_err *err)
{
    uint8_t bytes[16];
    if (getentropy(bytes, sizeof(bytes)) < 0)
        return err_sys(err, "cannot get random numbers");
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(token + i * 2, 3, "%02x", bytes[i]);
    return 0;
}

/* ---- the process ---- */

static int serve_proxies(struct gate_options *o, int http, int socks)
{
    netns_none(&o->sockets);
    o->sockets.fds[NETNS_HTTP] = http;
    o->sockets.fds[NETNS_SOCKS] = socks;
    static const int defaults[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD};
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
        signal(defaults[i], SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN); /* Ctrl-C is for the command */
    signal(SIGQUIT, SIG_IGN);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2 && null >= 0; fd++) /* don't hold the command's output open */
        dup2(null, fd);
    return gate_run(o);
}

int proxies_start(struct proxies *p, const struct graph *g, const struct parent_proxies *parents,
                  struct bk_err *err)
{
    int stop[2], events[2];
    *p = (struct proxies){.pid = -1, .stop = -1, .events = -1};
    OWN(fd) int http = listen_somewhere(&p->http_port, err);
    OWN(fd) int socks = http < 0 ? -1 : listen_somewhere(&p->socks_port, err);
    if (socks < 0 || make_token(p->token, err) < 0 || child_pipe(stop, err) < 0)
        return -1;
    OWN(fd) int stop_read = stop[0];
    OWN(fd) int stop_write = stop[1];
    if (child_pipe(events, err) < 0)
        return -1;
    OWN(fd) int events_read = events[0];
    OWN(fd) int events_write = events[1];
    pid_t pid = fork();
    if (pid == 0) {
        struct gate_options o = {.graph = g,
                                 .token = p->token,
                                 .parents = parents,
                                 .on_denial = on_denial,
                                 .answers = -1,
                                 .no_tls = "Buckle does not decrypt TLS on macOS",
                                 .arg = &events_write,
                                 .until = stop_read};
        close(stop_write);
        close(events_read);
        _exit(serve_proxies(&o, http, socks) < 0);
    }
    if (pid < 0)
        return err_sys(err, "cannot start a process for the proxies");
    p->pid = pid;
    p->stop = steal_fd(&stop_write);
    p->events = steal_fd(&events_read);
    fcntl(p->events, F_SETFL, O_NONBLOCK);
    return 0;
}

void proxies_stop(struct proxies *p)
{
    own_close_fd(&p->stop);
    if (p->pid > 0)
        child_stop(p->pid, PATIENCE_MS);
    own_close_fd(&p->events);
    p->pid = p->stop = p->events = -1;
}
