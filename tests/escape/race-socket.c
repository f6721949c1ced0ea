/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Races to servers. IN/socket is the attacker's server, which may be reached; OUT/socket is the
 * test's, which must not receive anything. Addresses, descriptors and links are swapped while they
 * are judged.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "escape.h"
#include "race.h"

enum { RACING_FD = 100 };

static int choice_fd[2];

/* ---- connecting ---- */

static struct sockaddr_un racing_address = {.sun_family = AF_UNIX};

static struct sockaddr_un address_in(const char *folder, const char *below)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof(a.sun_path), "%.80s/%ssocket", folder, below);
    return a;
}

static void *flip_address(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !atomic_load_explicit(&race_over, memory_order_relaxed); i++)
        ((volatile char *)racing_address.sun_path)[race_at.differs_at] = race_at.choice[i & 1];
    return NULL;
}

static void *hammer_connect(void *arg)
{
    (void)arg;
    while (!atomic_load(&race_over)) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        race_count(connect(fd, (struct sockaddr *)&racing_address, sizeof(racing_address)));
        close(fd);
    }
    return NULL;
}

/* Tries the denied socket all the time: if the result were cached anywhere, it could be mixed
 * up. */
static void *hammer_denied(void *arg)
{
    struct sockaddr_un to = address_in(race_at.outside, "");
    (void)arg;
    while (!atomic_load(&race_over)) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        race_count(connect(fd, (struct sockaddr *)&to, sizeof(to)));
        close(fd);
    }
    return NULL;
}

static void *accept_all(void *arg)
{
    for (;;) {
        int fd = accept(*(int *)arg, NULL, NULL);
        if (fd >= 0)
            close(fd);
    }
    return NULL;
}

/* The server that may be reached. */
static void serve(void)
{
    static int server;
    pthread_t thread;
    server = socket(AF_UNIX, SOCK_STREAM, 0);
    racing_address = address_in(race_at.inside, "");
    must(bind(server, (struct sockaddr *)&racing_address, sizeof(racing_address)), "bind");
    must(listen(server, 64), "listen");
    must(-pthread_create(&thread, NULL, accept_all, &server), "thread");
}

static int race_connect(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_connect, hammer_connect, hammer_denied};
    race_prepare(a);
    serve();
    return race_run(atof(a[0]), flip_address, hammers, 3);
}

/* Through IN/swap, a link that another process keeps changing (race-link-flip). */
static int race_connect_link(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_connect, hammer_connect, hammer_denied};
    race_prepare(a);
    serve();
    racing_address = address_in(race_at.inside, "swap/");
    return race_run(atof(a[0]), NULL, hammers, 3);
}

/* A socket of one family with an address of another: what is judged as one must not be performed as
 * the other. */
static void *flip_family(void *arg)
{
    struct sockaddr_in port = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un own = address_in(race_at.inside, ""),
                       other = address_in(race_at.outside, "");
    const struct {
        int family;
        const void *address;
        size_t size;
    } turns[] = {{AF_UNIX, &own, sizeof(own)},
                 {AF_INET, &port, sizeof(port)},
                 {AF_UNIX, &other, sizeof(other)},
                 {AF_INET, &other, sizeof(other)}};
    port.sin_port = htons(9);
    (void)arg;
    for (unsigned i = 0; !atomic_load_explicit(&race_over, memory_order_relaxed); i++) {
        int fd = socket(turns[i % 4].family, SOCK_STREAM, 0);
        memcpy(&racing_address, turns[i % 4].address, turns[i % 4].size);
        if (fd >= 0 && dup2(fd, RACING_FD) >= 0)
            close(fd);
        sched_yield();
    }
    return NULL;
}

static void *hammer_racing_socket(void *arg)
{
    (void)arg;
    while (!atomic_load(&race_over))
        race_count(connect(RACING_FD, (struct sockaddr *)&racing_address, sizeof(racing_address)));
    return NULL;
}

static int race_connect_family(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_racing_socket, hammer_racing_socket,
                                               hammer_denied};
    race_prepare(a);
    serve();
    return race_run(atof(a[0]), flip_family, hammers, 3);
}

/* ---- datagrams ---- */

/* Exchanges the descriptor and the address at once. */
static void *flip_both(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !atomic_load_explicit(&race_over, memory_order_relaxed); i++) {
        ((volatile char *)racing_address.sun_path)[race_at.differs_at] = race_at.choice[i & 1];
        if (i % 7 == 0)
            dup2(choice_fd[i / 7 & 1], RACING_FD);
    }
    return NULL;
}

static void *hammer_messages(void *arg)
{
    struct iovec one = {(void *)(uintptr_t) "x", 1};
    struct mmsghdr m = {.msg_hdr = {.msg_name = &racing_address,
                                    .msg_namelen = sizeof(racing_address),
                                    .msg_iov = &one,
                                    .msg_iovlen = 1}};
    (void)arg;
    while (!atomic_load(&race_over)) {
        race_count(sendmsg(RACING_FD, &m.msg_hdr, MSG_NOSIGNAL | MSG_DONTWAIT));
        race_count(sendto(RACING_FD, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT,
                          (struct sockaddr *)&racing_address, sizeof(racing_address)));
        race_count(sendmmsg(RACING_FD, &m, 1, MSG_NOSIGNAL | MSG_DONTWAIT));
    }
    return NULL;
}

static void *receive_all(void *arg)
{
    char byte;
    for (;;)
        recv(*(int *)arg, &byte, 1, 0);
    return NULL;
}

/* A stream socket, which the kernel may continue with, becomes a datagram socket meanwhile. */
static int race_datagram(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_messages, hammer_messages};
    static int server, ends[2];
    pthread_t thread;
    race_prepare(a);
    racing_address = address_in(race_at.inside, "");
    server = socket(AF_UNIX, SOCK_DGRAM, 0);
    must(bind(server, (struct sockaddr *)&racing_address, sizeof(racing_address)), "bind");
    must(-pthread_create(&thread, NULL, receive_all, &server), "thread");
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    must(-pthread_create(&thread, NULL, receive_all, &ends[1]), "thread");
    choice_fd[0] = ends[0];
    choice_fd[1] = socket(AF_UNIX, SOCK_DGRAM, 0);
    must(dup2(choice_fd[0], RACING_FD), "dup2");
    return race_run(atof(a[0]), flip_both, hammers, 2);
}

/* ---- Internet addresses ---- */

static struct sockaddr_in dialled = {.sin_family = AF_INET};
static struct in_addr dial_choice[2];

static void *flip_dialled(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !atomic_load_explicit(&race_over, memory_order_relaxed); i++)
        *(volatile uint32_t *)&dialled.sin_addr.s_addr = dial_choice[i & 1].s_addr;
    return NULL;
}

/* Passed: the server answered. */
static void *hammer_dial(void *arg)
{
    static const char ask[] = "hello\r\n";
    char byte;
    (void)arg;
    while (!atomic_load(&race_over)) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        long got = connect(fd, (struct sockaddr *)&dialled, sizeof(dialled));
        if (got == 0 &&
            (send(fd, ask, sizeof(ask) - 1, MSG_NOSIGNAL) < 0 || recv(fd, &byte, 1, 0) != 1)) {
            errno = EACCES;
            got = -1;
        }
        race_count(got);
        close(fd);
    }
    return NULL;
}

/* SECONDS, an address that may be reached, one that may not, a port. */
static int race_dial(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_dial, hammer_dial};
    dialled.sin_port = htons((uint16_t)atoi(a[3]));
    for (int i = 0; i < 2; i++)
        must(inet_pton(AF_INET, a[1 + i], &dial_choice[i]) - 1, a[1 + i]);
    dialled.sin_addr = dial_choice[0];
    return race_run(atof(a[0]), flip_dialled, hammers, 2);
}

const struct attack attacks_race_socket[] = {
    {"race-connect", 3, race_connect},
    {"race-connect-link", 3, race_connect_link},
    {"race-connect-family", 3, race_connect_family},
    {"race-datagram", 3, race_datagram},
    {"race-dial", 4, race_dial},
    {0},
};
