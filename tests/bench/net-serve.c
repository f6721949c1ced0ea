/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The server of the network benchmarks: bench-net-serve ADDRESS PORT
 *
 * Answers "GET /N …" with N bytes over HTTP, and "#N\n", which is no known protocol, with N bytes
 * and nothing else. One process, one epoll; a request arrives in one piece.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE = 1 << 20, EVENTS = 64, REQUEST = 4096 };

struct client {
    int fd;
    size_t owed; /* bytes of an answer that are still to be sent */
};

static char piece[PIECE];

static void __attribute__((noreturn)) give_up(const char *what)
{
    fprintf(stderr, "bench-net-serve: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* Returns false when there is no room for more now. */
static int pay(struct client *c)
{
    while (c->owed) {
        ssize_t n = send(c->fd, piece, c->owed < PIECE ? c->owed : PIECE, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        c->owed -= (size_t)n;
    }
    return 1;
}

static int answer(struct client *c, const char *request)
{
    char text[160];
    size_t size = 0;
    const char *number = strncmp(request, "GET /", 5) == 0 ? request + 5 : request + 1;
    size_t body = strtoull(number, NULL, 10);
    if (*request != '#')
        size = (size_t)snprintf(text, sizeof(text),
                                "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", body);
    if (body + size < sizeof(text)) { /* a small answer in one piece, as servers do */
        memset(text + size, 'x', body);
        return send(c->fd, text, size + body, MSG_NOSIGNAL) < 0 ? -1 : 1;
    }
    if (size && send(c->fd, text, size, MSG_NOSIGNAL | MSG_MORE) < 0)
        return -1;
    c->owed = body;
    return pay(c);
}

static void serve(struct client *c)
{
    char request[REQUEST];
    int fine = pay(c);
    while (fine > 0) {
        ssize_t n = read(c->fd, request, sizeof(request) - 1);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0)
            break;
        request[n] = '\0';
        fine = answer(c, request);
    }
    if (fine == 0)
        return;
    close(c->fd);
    free(c);
}

static void welcome(int listener, int events)
{
    int fd, one = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct client *c = calloc(1, sizeof(*c));
        if (!c)
            give_up("memory");
        c->fd = fd;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        struct epoll_event e = {EPOLLIN | EPOLLOUT | EPOLLET, {.ptr = c}};
        epoll_ctl(events, EPOLL_CTL_ADD, fd, &e);
    }
}

static int listen_at(const char *address, const char *port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    inet_pton(AF_INET, address, &in.sin_addr);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0 || listen(fd, 4096) < 0)
        give_up("listen");
    return fd;
}

int main(int argc, char **argv)
{
    struct epoll_event got[EVENTS], listening = {EPOLLIN, {.ptr = NULL}};
    struct rlimit files;
    if (argc != 3) {
        fprintf(stderr, "usage: bench-net-serve ADDRESS PORT\n");
        return 2;
    }
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    int listener = listen_at(argv[1], argv[2]), events = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(events, EPOLL_CTL_ADD, listener, &listening);
    for (;;) {
        int n = epoll_wait(events, got, EVENTS, -1);
        for (int i = 0; i < n; i++)
            if (got[i].data.ptr)
                serve(got[i].data.ptr);
            else
                welcome(listener, events);
    }
}
