/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Loads a network path: bench-net-load WAY ADDRESS PORT [PROXY_ADDRESS PROXY_PORT]
 *
 * WAY is how the server at ADDRESS is reached: direct, connect and absolute (an HTTP proxy), socks.
 * $BENCH_LOGIN is a login for the proxy, as name:password. Commands come on standard input, one per
 * line; each is answered by a line of numbers, times in nanoseconds:
 *
 *     bulk BYTES          time to receive this much over one connection
 *     http BYTES          the same, over HTTP
 *     requests CONNS N    time for N small HTTP requests over this many connections at once
 *     rounds N            median and 99th percentile of N small requests, one after another
 *     fresh N             the same, each over a new connection
 *     hold N              how many of N connections could be opened and used
 *     again               how many of those still answer
 *     drop                closes them
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/base64.h"

enum { PIECE = 1 << 20, TEXT = 1024, SMALL = 64, HELD_MAX = 20000, WAIT_S = 20 };

static struct {
    const char *way, *address, *port;
    struct sockaddr_in first; /* where to connect */
} to;
static char piece[PIECE];
static int held[HELD_MAX];
static size_t nheld;

static void __attribute__((noreturn)) give_up(const char *what)
{
    fprintf(stderr, "bench-net-load: %s: %s\n", what, strerror(errno));
    exit(2);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- connecting ---- */

static bool send_all(int fd, const void *data, size_t n)
{
    return send(fd, data, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static bool receive_all(int fd, void *data, size_t n)
{
    return recv(fd, data, n, MSG_WAITALL) == (ssize_t)n;
}

static bool is_way(const char *name)
{
    return strcmp(to.way, name) == 0;
}

/* "Proxy-Authorization: Basic …\r\n", or nothing. */
static const char *authorization(void)
{
    static char line[256];
    const char *login = getenv("BENCH_LOGIN");
    char coded[200];
    if (!login || *line || BASE64_SIZE(strlen(login)) > sizeof(coded))
        return line;
    int n = (int)base64_encode(login, strlen(login), coded);
    snprintf(line, sizeof(line), "Proxy-Authorization: Basic %.*s\r\n", n, coded);
    return line;
}

static bool ask_http_proxy(int fd)
{
    char text[TEXT];
    int n = snprintf(text, sizeof(text), "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n%s\r\n",
                     to.address, to.port, to.address, to.port, authorization());
    size_t got = 0;
    if (!send_all(fd, text, (size_t)n))
        return false;
    while (got < sizeof(text) - 1) {
        ssize_t more = read(fd, text + got, sizeof(text) - 1 - got);
        if (more <= 0)
            return false;
        got += (size_t)more;
        text[got] = '\0';
        if (strstr(text, "\r\n\r\n"))
            return strstr(text, " 200 ") != NULL;
    }
    return false;
}

static bool log_in(int fd, const char *login)
{
    uint8_t text[512], reply[2];
    const char *colon = strchr(login, ':');
    size_t name = (size_t)(colon - login), secret = strlen(colon + 1);
    text[0] = 1;
    text[1] = (uint8_t)name;
    memcpy(text + 2, login, name);
    text[2 + name] = (uint8_t)secret;
    memcpy(text + 3 + name, colon + 1, secret);
    return send_all(fd, text, 3 + name + secret) && receive_all(fd, reply, 2) && reply[1] == 0;
}

static bool ask_socks_proxy(int fd)
{
    const char *login = getenv("BENCH_LOGIN");
    uint8_t request[10] = {5, 1, 0, 1}, reply[10];
    uint16_t port = htons((uint16_t)atoi(to.port));
    inet_pton(AF_INET, to.address, request + 4);
    memcpy(request + 8, &port, 2);
    if (!send_all(fd, (uint8_t[]){5, 1, login ? 2 : 0}, 3) || !receive_all(fd, reply, 2))
        return false;
    if (login && !log_in(fd, login))
        return false;
    return send_all(fd, request, sizeof(request)) && receive_all(fd, reply, sizeof(reply)) &&
           reply[1] == 0;
}

/* A connection to the server, or -1. */
static int reach(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    struct timeval wait = {WAIT_S, 0};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    bool fine = fd >= 0 && connect(fd, (struct sockaddr *)&to.first, sizeof(to.first)) == 0;
    if (fine && is_way("connect"))
        fine = ask_http_proxy(fd);
    if (fine && is_way("socks"))
        fine = ask_socks_proxy(fd);
    if (fine)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int reach_or_die(void)
{
    int fd = reach();
    if (fd < 0)
        give_up("cannot reach the server");
    return fd;
}

/* ---- requests ---- */

static bool ask_small(int fd)
{
    char text[SMALL], question[16];
    int n = snprintf(question, sizeof(question), "#%d\n", SMALL);
    return send_all(fd, question, (size_t)n) && receive_all(fd, text, sizeof(text));
}

static void receive(int fd, uint64_t bytes)
{
    while (bytes) {
        ssize_t n = read(fd, piece, bytes < PIECE ? bytes : PIECE);
        if (n <= 0)
            give_up("the answer ended");
        bytes -= (uint64_t)n;
    }
}

static size_t http_question(char text[TEXT], uint64_t bytes)
{
    char absolute[64] = "";
    if (is_way("absolute"))
        snprintf(absolute, sizeof(absolute), "http://%s:%s", to.address, to.port);
    return (size_t)snprintf(text, TEXT, "GET %s/%llu HTTP/1.1\r\nHost: %s:%s\r\n%s\r\n", absolute,
                            (unsigned long long)bytes, to.address, to.port,
                            *absolute ? authorization() : "");
}

/* ---- commands ---- */

static void order_bulk(uint64_t bytes)
{
    char question[32];
    int fd = reach_or_die();
    int n = snprintf(question, sizeof(question), "#%llu\n", (unsigned long long)bytes);
    uint64_t start = now_ns();
    send_all(fd, question, (size_t)n);
    receive(fd, bytes);
    printf("%llu\n", (unsigned long long)(now_ns() - start));
    close(fd);
}

/* How much of a whole answer arrived with its head; 0: the head is incomplete. */
static size_t size_of_answer(const char *text, uint64_t body)
{
    const char *end = strstr(text, "\r\n\r\n");
    return end ? (size_t)(end + 4 - text) + body : 0;
}

static void order_http(uint64_t bytes)
{
    char text[TEXT];
    size_t got = 0, whole;
    int fd = reach_or_die();
    uint64_t start = now_ns();
    send_all(fd, text, http_question(text, bytes));
    do {
        ssize_t n = read(fd, text + got, sizeof(text) - 1 - got);
        if (n <= 0)
            give_up("no answer");
        got += (size_t)n;
        text[got] = '\0';
        whole = size_of_answer(text, bytes);
    } while (!whole);
    receive(fd, whole - got);
    printf("%llu\n", (unsigned long long)(now_ns() - start));
    close(fd);
}

struct talker {
    int fd;
    size_t got;
    char text[TEXT];
};

static void receive_answer(struct talker *t, uint64_t *left, uint64_t *asked, const char *question,
                           size_t n)
{
    ssize_t more = read(t->fd, t->text + t->got, sizeof(t->text) - 1 - t->got);
    if (more <= 0)
        give_up("no answer");
    t->got += (size_t)more;
    t->text[t->got] = '\0';
    size_t whole = size_of_answer(t->text, SMALL);
    if (!whole || t->got < whole)
        return;
    t->got = 0;
    --*left;
    if (*asked) {
        --*asked;
        send_all(t->fd, question, n);
    }
}

static void order_requests(uint64_t conns, uint64_t count)
{
    char question[TEXT];
    size_t n = http_question(question, SMALL);
    int events = epoll_create1(EPOLL_CLOEXEC);
    struct talker *talkers = calloc(conns, sizeof(*talkers));
    struct epoll_event got[64];
    for (uint64_t i = 0; i < conns; i++) {
        talkers[i].fd = reach_or_die();
        struct epoll_event e = {EPOLLIN, {.ptr = &talkers[i]}};
        epoll_ctl(events, EPOLL_CTL_ADD, talkers[i].fd, &e);
    }
    uint64_t start = now_ns(), left = count, asked = count - conns;
    for (uint64_t i = 0; i < conns; i++)
        send_all(talkers[i].fd, question, n);
    while (left) {
        int ready = epoll_wait(events, got, 64, WAIT_S * 1000);
        if (ready <= 0)
            give_up("no answer");
        for (int i = 0; i < ready; i++)
            receive_answer(got[i].data.ptr, &left, &asked, question, n);
    }
    printf("%llu\n", (unsigned long long)(now_ns() - start));
    for (uint64_t i = 0; i < conns; i++)
        close(talkers[i].fd);
    free(talkers);
    close(events);
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void print_times(uint64_t *times, size_t n)
{
    qsort(times, n, sizeof(*times), ascending);
    printf("%llu %llu\n", (unsigned long long)times[n / 2],
           (unsigned long long)times[n - 1 - n / 100]);
}

static void order_rounds(uint64_t n)
{
    uint64_t *times = calloc(n, sizeof(*times));
    int fd = reach_or_die();
    for (uint64_t i = 0; i < n; i++) {
        uint64_t start = now_ns();
        if (!ask_small(fd))
            give_up("no answer");
        times[i] = now_ns() - start;
    }
    close(fd);
    print_times(times, n);
    free(times);
}

static void order_fresh(uint64_t n)
{
    uint64_t *times = calloc(n, sizeof(*times));
    struct linger at_once = {1, 0}; /* leaves no TIME_WAIT behind; thousands would add up */
    for (uint64_t i = 0; i < n; i++) {
        uint64_t start = now_ns();
        int fd = reach_or_die();
        if (!ask_small(fd))
            give_up("no answer");
        times[i] = now_ns() - start;
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        close(fd);
    }
    print_times(times, n);
    free(times);
}

static void order_hold(uint64_t n)
{
    uint64_t fine = 0;
    for (uint64_t i = 0; i < n && nheld < HELD_MAX; i++) {
        int fd = reach();
        if (fd >= 0 && ask_small(fd))
            fine++;
        if (fd >= 0)
            held[nheld++] = fd;
    }
    printf("%llu\n", (unsigned long long)fine);
}

static void order_again(void)
{
    unsigned fine = 0;
    for (size_t i = 0; i < nheld; i++)
        fine += ask_small(held[i]);
    printf("%u\n", fine);
}

static void order_drop(void)
{
    while (nheld)
        close(held[--nheld]);
    printf("0\n");
}

static void obey(const char *line)
{
    unsigned long long a = 0, b = 0;
    char word[16] = "";
    int n = sscanf(line, "%15s %llu %llu", word, &a, &b);
    if (strcmp(word, "requests") == 0 && n == 3 && a && b >= a)
        order_requests(a, b);
    else if (strcmp(word, "bulk") == 0 && a)
        order_bulk(a);
    else if (strcmp(word, "http") == 0 && a)
        order_http(a);
    else if (strcmp(word, "rounds") == 0 && a)
        order_rounds(a);
    else if (strcmp(word, "fresh") == 0 && a)
        order_fresh(a);
    else if (strcmp(word, "hold") == 0 && a)
        order_hold(a);
    else if (strcmp(word, "again") == 0)
        order_again();
    else if (strcmp(word, "drop") == 0)
        order_drop();
    else
        give_up(line);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char line[128];
    struct rlimit files;
    if (argc != 4 && argc != 6) {
        fprintf(stderr, "usage: bench-net-load WAY ADDRESS PORT [PROXY_ADDRESS PROXY_PORT]\n");
        return 2;
    }
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    to.way = argv[1];
    to.address = argv[2];
    to.port = argv[3];
    to.first = (struct sockaddr_in){.sin_family = AF_INET,
                                    .sin_port = htons((uint16_t)atoi(argv[argc - 1]))};
    inet_pton(AF_INET, argv[argc - 2], &to.first.sin_addr);
    while (fgets(line, sizeof(line), stdin))
        obey(line);
    return 0;
}
