/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * How fast denials are reported.
 *
 *   bench-events latency BUCKLE FOLDER N  one after the other; a line of nanoseconds for each, from
 *                                         before the denied call to the subscriber's callback
 *   bench-events flood BUCKLE FOLDER N    as fast as possible; nanoseconds, how many the session
 *                                         counted, and how many it has
 *   bench-events store THREADS N          into a store by threads, N each, with a subscriber;
 *                                         nanoseconds, counted, kept, and how often it was called
 *   bench-events attack FOLDER N PAUSE    runs in the sandbox for the first two: the time is in
 *                                         the name of the file that it may not create
 *
 * The first two take the whole way of `buckle mcp`: system call, judge, run, socket, session,
 * store, subscriber. Both clocks are CLOCK_MONOTONIC.
 */

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/session.h"

enum { SESSION_FD = 8 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void __attribute__((noreturn)) give_up(const char *why)
{
    fprintf(stderr, "bench-events: %s\n", why);
    exit(2);
}

/* ---- inside ---- */

static int attack(const char *folder, long n, long pause_us)
{
    char path[512];
    for (long i = 0; i < n; i++) {
        if (pause_us)
            usleep((useconds_t)pause_us);
        snprintf(path, sizeof(path), "%s/%llu", folder, (unsigned long long)now_ns());
        if (open(path, O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0)
            give_up("it was not denied");
    }
    return 0;
}

/* ---- an event's path ---- */

struct received {
    uint64_t *took;
    size_t n, cap, calls;
};

static void on_violation(void *arg, struct store *s)
{
    struct received *h = arg;
    uint64_t now = now_ns();
    h->calls++;
    if (h->n == h->cap)
        return;
    struct violations *v = store_get(s, &(struct store_wanted){.limit = 1});
    const char *name = v && v->n ? strrchr(v->at[0].line, '/') : NULL;
    if (name)
        h->took[h->n++] = now - strtoull(name + 1, NULL, 10);
    free(v);
}

static pid_t start(int session, const char *buckle, const char *folder, const char *n,
                   const char *pause_us)
{
    char self[512];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (len <= 0)
        give_up("who am I?");
    self[len] = '\0';
    pid_t pid = fork();
    if (pid == 0) {
        dup2(session, SESSION_FD);
        execl(buckle, buckle, "run", "--here", "--no-settings", "--report=none", "--session=fd:8",
              "--", self, "attack", folder, n, pause_us, (char *)NULL);
        _exit(127);
    }
    close(session);
    return pid;
}

/* Runs until the command has ended and all its output was received; returns its exit status. */
static int listen_to(struct session *k, pid_t pid)
{
    int status;
    for (;;) {
        struct pollfd p = {k->fds.fd, POLLIN, 0};
        poll(&p, 1, 100);
        bool over = waitpid(pid, &status, WNOHANG) == pid;
        fd_watch_all(&k->fds);
        if (over)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    }
}

static int whole_way(const char *buckle, const char *folder, const char *n, const char *pause_us,
                     bool latency)
{
    struct session k;
    struct bk_err err;
    uint64_t number;
    struct received h = {.cap = latency ? strtoul(n, NULL, 10) : 0};
    h.took = calloc(h.cap + 1, sizeof(*h.took));
    if (!h.took || session_open(&k, "bench", 0, NULL, NULL, &err) < 0 ||
        store_subscribe(k.store, on_violation, &h) < 0)
        give_up("no session");
    int session = session_admit(&k, "attack", &number, &err);
    uint64_t began = now_ns();
    pid_t pid = session >= 0 ? start(session, buckle, folder, n, pause_us) : -1;
    if (pid < 0 || listen_to(&k, pid) != 0)
        give_up("the run failed");
    uint64_t took = now_ns() - began;
    for (size_t i = 0; i < h.n; i++)
        printf("%llu\n", (unsigned long long)h.took[i]);
    if (!latency)
        printf("%llu %llu %zu\n", (unsigned long long)took,
               (unsigned long long)store_total(k.store), store_count(k.store));
    session_close(&k);
    free(h.took);
    return 0;
}

/* ---- the store alone ---- */

struct adder {
    struct store *store;
    long n;
};

static void *add(void *arg)
{
    const struct adder *a = arg;
    static const struct violation one = {
        .command_id = 7,
        .command = "npm install",
        .line = "node(4711) deny(1) file-write-create /home/user/.npmrc",
        .json = "{\"operation\": \"file-write-create\", \"path\": \"/home/user/.npmrc\"}"};
    for (long i = 0; i < a->n; i++)
        store_add(a->store, &one);
    return NULL;
}

static int store_alone(long threads, long n)
{
    enum { MOST = 64 };
    pthread_t ids[MOST];
    struct received h = {0};
    struct store *s = store_new(0);
    struct adder a = {s, n};
    if (!s || threads < 1 || threads > MOST || store_subscribe(s, on_violation, &h) < 0)
        give_up("no store");
    uint64_t began = now_ns();
    for (long i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, add, &a) != 0)
            give_up("no thread");
    for (long i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    uint64_t took = now_ns() - began;
    struct violations *v = store_get(s, NULL);
    bool newest = v && v->n && v->at[v->n - 1].number == store_total(s) &&
                  v->at[0].number == store_total(s) - v->n + 1;
    printf("%llu %llu %zu %zu\n", (unsigned long long)took, (unsigned long long)store_total(s),
           newest ? v->n : 0, h.calls);
    free(v);
    store_free(s);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (argc == 5 && strcmp(what, "latency") == 0)
        return whole_way(argv[2], argv[3], argv[4], "500", true);
    if (argc == 5 && strcmp(what, "flood") == 0)
        return whole_way(argv[2], argv[3], argv[4], "0", false);
    if (argc == 4 && strcmp(what, "store") == 0)
        return store_alone(strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10));
    if (argc == 5 && strcmp(what, "attack") == 0)
        return attack(argv[2], strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10));
    give_up("latency | flood | store | attack");
}
