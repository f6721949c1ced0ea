/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The minimum cost of a relay:
 *
 *     bench-floor-relay HOW HANDSHAKE ADDRESS PORT TO_ADDRESS TO_PORT
 *     bench-floor-relay HOW HANDSHAKE fd LISTENER TO_ADDRESS TO_PORT
 *
 * One process, one epoll; each connection is joined to a new one to the given destination, and
 * bytes are forwarded: through one shared buffer (HOW: copy), or through a pipe per direction
 * (splice). Nothing is decided or parsed. HANDSHAKE is what the client receives first: none;
 * connect or socks, where any request is answered as such a proxy would. An inherited listener
 * receives redirected connections: the relay looks up each one's destination, unless a handshake
 * names it.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 1 << 20, EVENTS = 64 };

struct pair;

struct end {
    int fd;
    struct pair *pair;
    bool ended, reported; /* has sent everything; its peer has been shut down */
    uint32_t asked;       /* what epoll watches for */
    int pipe[2];          /* splice: on the way to this end, */
    size_t waiting;       /* and how much of it */
    char *rest;           /* copy: the same */
    size_t rest_at, rest_to;
};

struct pair {
    struct end ends[2]; /* client, server */
    struct pair *next_dead;
    unsigned answered; /* answers of the handshake */
    bool dead;
};

struct answer {
    const char *text;
    size_t n;
};

#define ANSWER(text)                                                                               \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
static const struct answer connect_answers[] = {ANSWER("HTTP/1.1 200 OK\r\n\r\n"), {NULL, 0}};
static const struct answer socks_answers[] = {
    ANSWER("\5\2"), ANSWER("\1\0"), ANSWER("\5\0\0\1\0\0\0\0\0\0"), {NULL, 0}};
static const struct answer no_answers[] = {{NULL, 0}};

static bool splicing, handed_over;
static const struct answer *answers = no_answers;
static int events_fd;
static struct sockaddr_in destination;
static struct pair *dead;
static char buffer[BUFFER];

static void __attribute__((noreturn)) give_up(const char *what)
{
    fprintf(stderr, "bench-floor-relay: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* ---- handing on; each false when the connection is broken ---- */

static bool is_nothing(ssize_t n)
{
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static bool splice_out(struct end *to)
{
    ssize_t n = splice(to->pipe[0], NULL, to->fd, NULL, to->waiting, SPLICE_F_NONBLOCK);
    if (n > 0)
        to->waiting -= (size_t)n;
    return n > 0 || is_nothing(n);
}

static bool splice_on(struct end *from, struct end *to)
{
    ssize_t n = splice(from->fd, NULL, to->pipe[1], NULL, BUFFER, SPLICE_F_NONBLOCK);
    from->ended = n == 0;
    if (n <= 0)
        return n == 0 || is_nothing(n);
    to->waiting += (size_t)n;
    return splice_out(to);
}

static bool copy_out(struct end *to)
{
    ssize_t n = send(to->fd, to->rest + to->rest_at, to->rest_to - to->rest_at, MSG_NOSIGNAL);
    if (n <= 0)
        return is_nothing(n);
    to->rest_at += (size_t)n;
    if (to->rest_at < to->rest_to)
        return true;
    free(to->rest);
    to->rest = NULL;
    to->rest_at = to->rest_to = 0;
    return true;
}

static bool copy_on(struct end *from, struct end *to)
{
    ssize_t n = read(from->fd, buffer, BUFFER), sent;
    from->ended = n == 0;
    if (n <= 0)
        return n == 0 || is_nothing(n);
    sent = send(to->fd, buffer, (size_t)n, MSG_NOSIGNAL);
    if (sent < 0 && !is_nothing(sent))
        return false;
    if (sent < 0)
        sent = 0;
    if (sent == n)
        return true;
    to->rest_to = (size_t)(n - sent);
    to->rest = malloc(to->rest_to);
    if (to->rest)
        memcpy(to->rest, buffer + sent, to->rest_to);
    return to->rest != NULL;
}

static bool is_owed(const struct end *to)
{
    return to->waiting || to->rest;
}

static bool shake_hands(struct end *client)
{
    const struct answer *a = &answers[client->pair->answered];
    ssize_t n = read(client->fd, buffer, BUFFER);
    if (n <= 0)
        return is_nothing(n);
    client->pair->answered++;
    return send(client->fd, a->text, a->n, MSG_NOSIGNAL) == (ssize_t)a->n;
}

/* ---- pairs ---- */

static void part(struct pair *p)
{
    if (p->dead)
        return;
    p->dead = true;
    p->next_dead = dead;
    dead = p;
    for (int i = 0; i < 2; i++) {
        struct end *e = &p->ends[i];
        close(e->fd);
        free(e->rest);
        if (splicing) {
            close(e->pipe[0]);
            close(e->pipe[1]);
        }
    }
}

static void bury(void)
{
    for (struct pair *next; dead; dead = next) {
        next = dead->next_dead;
        free(dead);
    }
}

/* While an end has pending output, its peer is not read. */
static void ask_for(struct end *e, struct end *other)
{
    uint32_t wanted = (e->ended || is_owed(other) ? 0 : EPOLLIN) | (is_owed(e) ? EPOLLOUT : 0);
    struct epoll_event event = {wanted, {.ptr = e}};
    if (wanted != e->asked)
        epoll_ctl(events_fd, EPOLL_CTL_MOD, e->fd, &event);
    e->asked = wanted;
}

static bool pass_end(struct end *from, struct end *to)
{
    if (from->ended && !is_owed(to) && !to->reported) {
        shutdown(to->fd, SHUT_WR);
        to->reported = true;
    }
    return !(from->reported && to->reported);
}

static bool hand_on(struct end *e, struct end *other, uint32_t what)
{
    bool fine = true;
    if (e == &e->pair->ends[0] && answers[e->pair->answered].text)
        return shake_hands(e);
    if (is_owed(e) && what & (EPOLLOUT | EPOLLHUP | EPOLLERR))
        fine = splicing ? splice_out(e) : copy_out(e);
    if (fine && !e->ended && !is_owed(other) && what & (EPOLLIN | EPOLLHUP | EPOLLERR))
        fine = splicing ? splice_on(e, other) : copy_on(e, other);
    return fine && pass_end(e, other) && pass_end(other, e);
}

static void handle_events(struct end *e, uint32_t what)
{
    struct pair *p = e->pair;
    struct end *other = &p->ends[e == &p->ends[0]];
    if (p->dead)
        return;
    if (!hand_on(e, other, what)) {
        part(p);
        return;
    }
    ask_for(e, other);
    ask_for(other, e);
}

static bool watch(struct end *e)
{
    struct epoll_event event = {EPOLLIN, {.ptr = e}};
    int one = 1;
    e->asked = EPOLLIN;
    setsockopt(e->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return epoll_ctl(events_fd, EPOLL_CTL_ADD, e->fd, &event) == 0;
}

static void join(int client)
{
    struct pair *p = calloc(1, sizeof(*p));
    int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (!p || server < 0)
        give_up("a connection");
    p->ends[0] = (struct end){.fd = client, .pair = p};
    p->ends[1] = (struct end){.fd = server, .pair = p};
    for (int i = 0; i < 2 && splicing; i++) {
        if (pipe2(p->ends[i].pipe, O_NONBLOCK | O_CLOEXEC) < 0)
            give_up("pipe");
        fcntl(p->ends[i].pipe[0], F_SETPIPE_SZ, BUFFER); /* as far as permitted */
    }
    socklen_t n = sizeof(destination);
    if (handed_over && getsockname(client, (struct sockaddr *)&destination, &n) < 0)
        give_up("getsockname");
    bool fine = connect(server, (struct sockaddr *)&destination, sizeof(destination)) == 0 ||
                errno == EINPROGRESS;
    if (!fine || !watch(&p->ends[0]) || !watch(&p->ends[1]))
        part(p);
}

/* ---- beginning ---- */

static struct sockaddr_in place(const char *address, const char *port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    if (inet_pton(AF_INET, address, &in.sin_addr) != 1)
        give_up(address);
    return in;
}

static int listen_at(const char *address, const char *port)
{
    bool inherited = strcmp(address, "fd") == 0;
    struct sockaddr_in in = inherited ? (struct sockaddr_in){0} : place(address, port);
    int fd =
        inherited ? atoi(port) : socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int one = 1;
    handed_over = inherited && !answers->text;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (!inherited && (bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0 || listen(fd, 4096) < 0))
        give_up("listen");
    struct epoll_event event = {EPOLLIN, {.ptr = NULL}};
    epoll_ctl(events_fd, EPOLL_CTL_ADD, fd, &event);
    return fd;
}

static void accept_all(int listener)
{
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
        join(fd);
}

int main(int argc, char **argv)
{
    struct epoll_event events[EVENTS];
    if (argc != 7) {
        fprintf(stderr, "usage: bench-floor-relay copy|splice none|connect|socks ADDRESS PORT "
                        "TO_ADDRESS TO_PORT\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN); /* splice() knows no MSG_NOSIGNAL */
    splicing = strcmp(argv[1], "splice") == 0;
    answers = strcmp(argv[2], "connect") == 0 ? connect_answers
              : strcmp(argv[2], "socks") == 0 ? socks_answers
                                              : no_answers;
    events_fd = epoll_create1(EPOLL_CLOEXEC);
    destination = place(argv[5], argv[6]);
    int listener = listen_at(argv[3], argv[4]);
    for (;;) {
        int n = epoll_wait(events_fd, events, EVENTS, -1);
        for (int i = 0; i < n; i++)
            if (events[i].data.ptr)
                handle_events(events[i].data.ptr, events[i].events);
            else
                accept_all(listener);
        bury();
    }
}
