/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Judged calls that block, by the thousand, each in a thread of this process. None of them may cost
 * the judge a thread, or delay its answers to others. When all of them wait it prints "slow", the
 * 98th percentile of other calls in milliseconds, "slowest", their maximum, and "waiting". A line
 * on standard input makes it provide what they wait for. At the end, "came" is how many returned
 * with the expected result.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "escape.h"

enum { MOST = 10000, STACK = 64 << 10 };

static pthread_t threads[MOST];
static int numbers[MOST];
static atomic_int begun, came, failed;

static void begin(int n, void *(*work)(void *))
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    for (int i = 0; i < n; i++) {
        numbers[i] = i;
        must(-pthread_create(&threads[i], &small, work, &numbers[i]), "thread");
    }
    while (atomic_load(&begun) < n)
        usleep(1000);
}

static void still_judged(const char *out)
{
    int fd = open("quick", O_WRONLY | O_CREAT, 0600);
    report("own: the judge answers", fd);
    close(fd);
    fd = open(in_folder(out, "victim"), O_WRONLY);
    report("the judge refuses", fd);
}

static int later(const void *a, const void *b)
{
    return *(const double *)a > *(const double *)b ? 1 : -1;
}

/* The latency of other calls meanwhile, once the last thread has had time to call. */
static void measure(const char *out, int n)
{
    enum { TIMES = 300, ODD = 6 };
    static double took[TIMES];
    int escaped = 0;
    usleep(100000 + 50 * (unsigned)n);
    still_judged(out); /* earlier calls have been received */
    for (int i = 0; i < TIMES; i++) {
        double before = now();
        int fd = open("quick", O_WRONLY | O_CREAT, 0600);
        must(fd, "open");
        close(fd);
        fd = open(in_folder(out, "victim"), O_WRONLY);
        escaped += fd >= 0 && close(fd) == 0;
        took[i] = now() - before;
        usleep(1000);
    }
    qsort(took, TIMES, sizeof(took[0]), later);
    if (escaped)
        printf("opened what it may not: ok\n");
    printf("early %d\nslow %d\nslowest %d\nwaiting\n", atomic_load(&came),
           (int)(took[TIMES - ODD] * 1000), (int)(took[TIMES - 1] * 1000));
    fflush(stdout);
    (void)!getchar();
}

static int sum_up(int n)
{
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    printf("came %d\nfailed %d\n", atomic_load(&came), atomic_load(&failed));
    return 0;
}

static void count(bool good)
{
    atomic_fetch_add(good ? &came : &failed, 1);
}

/* ---- both ends of a pipe ---- */

/* O_TRUNC makes reading judged as well, where only writing is. */
enum { READS = O_RDONLY | O_TRUNC, WRITES = O_WRONLY };

static int open_end(int i, int flags)
{
    char name[32];
    snprintf(name, sizeof(name), "pipe-%d", i);
    return open(name, flags);
}

static void make_pipes(int n)
{
    char name[32];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "pipe-%d", i);
        must(mkfifo(name, 0600), "mkfifo");
    }
}

/* Passes one byte through an end, which shows that both ends work. */
static bool exchange(int fd, int flags)
{
    char c = 'x';
    bool blocks = fd >= 0 && !(fcntl(fd, F_GETFL) & O_NONBLOCK);
    bool good = fd >= 0 && blocks && (flags == WRITES ? write(fd, &c, 1) : read(fd, &c, 1)) == 1;
    if (fd >= 0)
        close(fd);
    return good && c == 'x';
}

static int waits_as(int i)
{
    return i % 3 ? READS : WRITES;
}

static void *wait_for_end(void *arg)
{
    int i = *(int *)arg;
    atomic_fetch_add(&begun, 1);
    count(exchange(open_end(i, waits_as(i)), waits_as(i)));
    return NULL;
}

/* As many pipes as waiting ends; then their other ends, the last one first. */
static int wait_opens(char **a)
{
    int n = atoi(a[2]), wrong = 0;
    make_pipes(n);
    begin(n, wait_for_end);
    measure(a[1], n);
    for (int i = n; i-- > 0;) {
        /* readers here are not judged, and wait in the kernel */
        int flags = waits_as(i) == READS ? WRITES : O_RDONLY;
        wrong += !exchange(open_end(i, flags), flags);
    }
    printf("other ends that failed %d\n", wrong);
    return sum_up(n);
}

static void *wait_for_one(void *arg)
{
    (void)arg;
    atomic_fetch_add(&begun, 1);
    count(exchange(open_end(0, READS), READS));
    return NULL;
}

/* All on the same pipe: one writer releases them all. */
static int wait_same(char **a)
{
    int n = atoi(a[2]);
    make_pipes(1);
    begin(n, wait_for_one);
    measure(a[1], n);
    int fd = open_end(0, WRITES);
    for (int i = 0; i < n; i++)
        must(write(fd, "x", 1), "write");
    return sum_up(n);
}

/* Each reads one pipe and then writes to the next, so each needs the previous one. */
static void *pass_on(void *arg)
{
    int i = *(int *)arg;
    atomic_fetch_add(&begun, 1);
    bool good = exchange(open_end(i, READS), READS);
    count(good && exchange(open_end(i + 1, WRITES), WRITES));
    return NULL;
}

static int wait_chain(char **a)
{
    int n = atoi(a[2]);
    make_pipes(n + 1);
    begin(n, pass_on);
    measure(a[1], n);
    bool first = exchange(open_end(0, WRITES), WRITES);
    bool last = exchange(open_end(n, READS), READS);
    printf("the chain's ends: %s\n", first && last ? "ok" : "broken");
    return sum_up(n);
}

/* ---- sockets ---- */

static struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "socket"};

static void *wait_to_connect(void *arg)
{
    int sock = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)arg;
    atomic_fetch_add(&begun, 1);
    char c;
    count(connect(sock, (struct sockaddr *)&at, sizeof(at)) == 0 && read(sock, &c, 1) == 1);
    close(sock);
    return NULL;
}

static int wait_connects(char **a)
{
    int n = atoi(a[2]), server = socket(AF_UNIX, SOCK_STREAM, 0);
    must(bind(server, (struct sockaddr *)&at, sizeof(at)), "bind");
    must(listen(server, 1), "listen");
    begin(n, wait_to_connect);
    measure(a[1], n);
    for (int i = 0; i < n; i++) {
        int guest = accept(server, NULL, NULL);
        must(guest, "accept");
        must(write(guest, "x", 1), "write");
        close(guest);
    }
    return sum_up(n);
}

enum { LETTER = 8000 };

static void *wait_to_send(void *arg)
{
    static const char letter[LETTER];
    int sock = socket(AF_UNIX, SOCK_DGRAM, 0);
    (void)arg;
    atomic_fetch_add(&begun, 1);
    count(sendto(sock, letter, LETTER, 0, (struct sockaddr *)&at, sizeof(at)) == LETTER);
    close(sock);
    return NULL;
}

static int wait_sends(char **a)
{
    static char letter[LETTER];
    int n = atoi(a[2]), server = socket(AF_UNIX, SOCK_DGRAM, 0);
    must(bind(server, (struct sockaddr *)&at, sizeof(at)), "bind");
    begin(n, wait_to_send);
    measure(a[1], n);
    for (int i = 0; i < n; i++)
        must(recv(server, letter, LETTER, 0) == LETTER ? 0 : -1, "recv");
    return sum_up(n);
}

/* Connected sockets whose messages the judge forwards: as many of the largest as fit, and no
 * reader. */
static int wait_carried(char **a)
{
    enum { LARGE = 60000 };
    static char letter[LARGE];
    int n = atoi(a[2]), server = socket(AF_UNIX, SOCK_DGRAM, 0);
    must(bind(server, (struct sockaddr *)&at, sizeof(at)), "bind");
    for (int i = 0; i < n; i++) {
        int sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        must(connect(sock, (struct sockaddr *)&at, sizeof(at)), "connect");
        for (int k = 0; k < 20; k++, usleep(200))
            if (send(sock, letter, LARGE, 0) == LARGE)
                atomic_fetch_add(&begun, 1);
    }
    measure(a[1], n);
    while (recv(server, letter, LARGE, 0) == LARGE && atomic_fetch_add(&came, 1) + 1 < begun)
        ;
    printf("own: all were carried: %s\n", atomic_load(&came) == atomic_load(&begun) ? "ok" : "no");
    return sum_up(0);
}

/* ---- interrupted calls ---- */

static void on_signal(int sig)
{
    (void)sig;
}

static void *wait_in_vain(void *arg)
{
    int i = *(int *)arg;
    atomic_fetch_add(&begun, 1);
    count(open_end(i % 10, waits_as(i % 10)) < 0 && errno == EINTR);
    return NULL;
}

/* A signal interrupts each of them. */
static int wait_signals(char **a)
{
    struct sigaction act = {.sa_handler = on_signal};
    int n = atoi(a[2]);
    sigaction(SIGUSR1, &act, NULL);
    make_pipes(10);
    begin(n, wait_in_vain);
    measure(a[1], n);
    for (int i = 0; i < n; i++)
        pthread_kill(threads[i], SIGUSR1);
    return sum_up(n);
}

static atomic_int refused;

static void *wait_if_there_is_room(void *arg)
{
    atomic_fetch_add(&begun, 1);
    int i = *(int *)arg, fd = open_end(i, waits_as(i));
    if (fd < 0 && errno == ENFILE)
        atomic_fetch_add(&refused, 1);
    else
        count(fd >= 0);
    return NULL;
}

/* More of them than the judge has descriptors. */
static int wait_full(char **a)
{
    int n = atoi(a[2]);
    make_pipes(n);
    begin(n, wait_if_there_is_room);
    usleep(300000);
    still_judged(a[1]);
    for (int i = 0; i < n; i++) {
        int fd = open_end(i, O_RDWR | O_NONBLOCK);
        must(fd, "open");
        usleep(300); /* the waiting thread is woken, and has time to open it */
        close(fd);
    }
    sum_up(n);
    printf("refused %d\n", atomic_load(&refused));
    return 0;
}

const struct attack attacks_wear_wait[] = {{"wait-opens", 3, wait_opens},
                                           {"wait-same", 3, wait_same},
                                           {"wait-chain", 3, wait_chain},
                                           {"wait-connects", 3, wait_connects},
                                           {"wait-sends", 3, wait_sends},
                                           {"wait-signals", 3, wait_signals},
                                           {"wait-full", 3, wait_full},
                                           {"wait-carried", 3, wait_carried},
                                           {0}};
