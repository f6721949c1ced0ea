/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: calls of the gate, each with what a peer sent. They go to the code of buckle-tls, which
 * answers every one, and says nothing that does not fit. There is one end for a client and one for
 * a server, and ends that don't exist. The calls come as packets, or through the memory that both
 * share while buckle-tls watches it.
 */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/tls-turn.h"
#include "tls/serve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Only the last call's bytes are in the memory that both share, so one call has them. */
enum { CALLS = 24, QUICK = 192, WAIT_MS = 100 };

static struct tls_areas areas;

static void require(bool holds)
{
    if (!holds)
        abort();
}

static struct tls_call read_call(const uint8_t words[2], uint32_t n)
{
    static const uint32_t ops[] = {TLS_SHAKE, TLS_READ, TLS_WRITE,    TLS_PASS,
                                   TLS_END,   TLS_FREE, TLS_FREE + 1, TLS_BATCH};
    return (struct tls_call){.op = ops[words[0] & 7], /* also an unknown one */
                             .njobs = (words[0] & 0x38) == 0x38 ? TLS_JOBS + 1 : words[0] >> 3 & 7,
                             .number = words[0] >> 6,
                             .to = words[1] >> 4 & 3,
                             .n = words[1] & 1 ? n : words[1] % (n + 1),
                             .want = words[1] * 64U,
                             .protocols = words[1] >> 6,
                             .answered = words[0] >> 5 & 1,
                             .nfreed = words[1] >> 5 == 7 ? TLS_FREED + 1 : words[1] >> 7,
                             .freed = {words[0] >> 6, words[1] & 3}};
}

static void check_reply(const struct tls_reply *r)
{
    require(r->result <= TLS_FAILED && r->after <= TLS_FAILED);
    require(r->nplain <= TLS_AREA && r->nout <= TLS_OUT);
    require(memchr(r->wrong, 0, sizeof(r->wrong)) != NULL);
}

/* The bytes of all calls, and the jobs of those that are batches: as many as there are calls, with
 * lengths that may be too large together. */
static void fill_areas(const uint8_t *words, size_t ncalls, const uint8_t *bytes, uint32_t n)
{
    memcpy(areas.in, bytes, n);
    for (size_t i = 0; i < ncalls; i++) {
        struct tls_call c = read_call(words + 2 * i, n);
        areas.jobs[i] = (struct tls_job){c.op, c.number, c.to, c.n, c.want};
    }
}

static void check_jobs(const struct tls_call *c)
{
    size_t plain = 0, out = 0;
    for (uint32_t i = 0; c->op == TLS_BATCH && i < c->njobs && i < TLS_JOBS; i++) {
        check_reply(&areas.replies[i]);
        plain += areas.replies[i].nplain;
        out += areas.replies[i].nout;
    }
    require(plain <= TLS_AREA && out <= TLS_OUT);
}

static void send_call(int to, struct tls_call c)
{
    require(send(to, &c, sizeof(c), 0) == sizeof(c));
}

/* Reads the answers; how many there were. */
static size_t check_replies(int from)
{
    struct tls_reply r;
    size_t n = 0;
    for (; recv(from, &r, sizeof(r), MSG_DONTWAIT) == sizeof(r); n++)
        check_reply(&r);
    return n;
}

/* ---- the quick way ---- */

static void *serve(void *arg)
{
    require(tls_serve(*(int *)arg, &areas) == 0);
    return NULL;
}

/* As the gate does: by the memory while it is watched, else by a packet. */
static void call_now(int to, struct tls_call c)
{
    struct tls_reply r = {0};
    uint32_t watched = TLS_WATCHED;
    areas.call = c;
    if (atomic_compare_exchange_strong(&areas.turn, &watched, TLS_CALLED)) {
        tls_turn_wake(&areas.turn);
        while (atomic_load(&areas.turn) == TLS_CALLED) {
            atomic_store(&areas.sleeps, 1);
            tls_turn_wait(&areas.turn, TLS_CALLED, WAIT_MS);
            atomic_store(&areas.sleeps, 0);
        }
        r = areas.reply;
    } else {
        ssize_t n = sizeof(r);
        send_call(to, c);
        while (c.op != TLS_FREE && (n = recv(to, &r, sizeof(r), 0)) < 0 && errno == EINTR)
            ; /* the fuzzer's clock */
        require(n == sizeof(r));
    }
    check_reply(&r);
    check_jobs(&c);
}

static void fuzz_quickly(int ends[2], const uint8_t *words, size_t ncalls, const uint8_t *bytes,
                         uint32_t n)
{
    pthread_t other;
    atomic_store(&areas.turn, TLS_PACKETS);
    atomic_store(&areas.quick, 1);
    require(pthread_create(&other, NULL, serve, &ends[1]) == 0);
    call_now(ends[0], (struct tls_call){.op = TLS_BEGIN});
    call_now(ends[0], (struct tls_call){.op = TLS_ACCEPT, .n = 3, .host = 3});
    call_now(ends[0], (struct tls_call){.op = TLS_CONNECT, .n = 3, .host = 3, .protocols = 3});
    fill_areas(words, ncalls, bytes, n);
    for (size_t i = 0; i < ncalls; i++)
        call_now(ends[0], read_call(words + 2 * i, n));
    shutdown(ends[0], SHUT_WR);
    require(pthread_join(other, NULL) == 0);
    atomic_store(&areas.quick, 0);
}

/* ---- packets ---- */

static void fuzz_packets(int ends[2], const uint8_t *words, size_t ncalls, const uint8_t *bytes,
                         uint32_t n)
{
    size_t asked = 3;
    send_call(ends[0], (struct tls_call){.op = TLS_BEGIN});
    send_call(ends[0], (struct tls_call){.op = TLS_ACCEPT, .n = 3, .host = 3});
    send_call(ends[0], (struct tls_call){.op = TLS_CONNECT, .n = 3, .host = 3, .protocols = 3});
    fill_areas(words, ncalls, bytes, n);
    for (size_t i = 0; i < ncalls; i++) {
        struct tls_call c = read_call(words + 2 * i, n);
        asked += c.op != TLS_FREE;
        send_call(ends[0], c);
    }
    shutdown(ends[0], SHUT_WR);
    require(tls_serve(ends[1], &areas) == 0);
    require(check_replies(ends[0]) == asked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2];
    size_t ncalls = size ? data[0] % CALLS : 0;
    if (size < 1 + 2 * ncalls || size > TLS_AREA)
        return 0;
    const uint8_t *words = data + 1, *bytes = words + 2 * ncalls;
    uint32_t n = (uint32_t)(size - 1 - 2 * ncalls);
    setenv("SSL_CERT_FILE", "/dev/null", 1); /* reading the host's certificates takes long */
    setenv("SSL_CERT_DIR", "/nonexistent", 1);
    require(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    memset(areas.in, 'a', sizeof(areas.in));
    if (size && data[0] >= QUICK)
        fuzz_quickly(ends, words, ncalls, bytes, n);
    else
        fuzz_packets(ends, words, ncalls, bytes, n);
    close(ends[0]);
    close(ends[1]);
    return 0;
}
