/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: replies of buckle-tls, as if strangers had taken it over: for each a byte of the gate's
 * next step, then what the reply says. They wait in the socket when the gate calls, or come through
 * the memory that both share, as those to the jobs of a batch always do. Nothing is read or sent
 * beyond what was asked for, a reason is a text, and an end that failed stays so.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "net/tls-end.h"
#include "net/tls-turn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SPOKEN = 14, STEPS = 40, READ = 100 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Small numbers and huge ones, around the limits, too. */
static uint32_t number_of(const uint8_t *s)
{
    uint32_t n = (uint32_t)s[1] << 8 | s[2];
    return s[0] & 1 ? n % (READ + 2) : s[0] & 2 ? TLS_AREA - 2 + n % 5 : n << 16 | n;
}

static struct tls_reply read_reply(const uint8_t s[SPOKEN])
{
    struct tls_reply r = {
        .result = s[1] % 6,
        .after = s[2] % 6,
        .nplain = number_of(s + 3),
        .nout = number_of(s + 6),
        .number = number_of(s + 9),
        .created = s[0] >> 6 != 3,
        .asking = s[12] & 1,
        .offered = s[12] >> 1,
        .chosen = s[13],
        .alert = s[13],
    };
    if (s[12] > 250)
        memset(r.wrong, 'x', sizeof(r.wrong)); /* no end */
    return r;
}

/* The size of a reply is wrong, too, at times. */
static void say(int to, const uint8_t s[SPOKEN])
{
    struct tls_reply r = read_reply(s);
    send(to, &r, sizeof(r) - (s[13] == 255), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* To the jobs of a batch, from the i-th on. */
static void say_to_jobs(struct tls_areas *areas, const uint8_t *data, size_t i, size_t n)
{
    for (size_t k = 0; k < TLS_JOBS && i + k < n; k++)
        areas->replies[k] = read_reply(data + (i + k) * SPOKEN);
}

/* ---- the quick way ---- */

struct speaker {
    struct tls_areas *areas;
    const uint8_t *data;
    size_t n;
    _Atomic bool over;
};

static const struct tls_reply fine = {.result = TLS_MORE, .created = 1},
                              over = {.result = TLS_FAILED};

/* Replies in memory, one after the other: the first makes an end, the last ones are failures. */
static void *speak(void *arg)
{
    struct speaker *s = arg;
    for (size_t i = 0; !atomic_load(&s->over);) {
        tls_turn_wait(&s->areas->turn, TLS_WATCHED, 1);
        if (atomic_load(&s->areas->turn) != TLS_CALLED)
            continue;
        s->areas->reply = i == 0 ? fine : i <= s->n ? read_reply(s->data + (i - 1) * SPOKEN) : over;
        say_to_jobs(s->areas, s->data, i, s->n);
        i++;
        atomic_store(&s->areas->turn, TLS_WATCHED);
        tls_turn_wake(&s->areas->turn);
    }
    return NULL;
}

/* ---- the gate ---- */

enum {
    SHAKE,
    FEED,
    READS,
    WRITE,
    CLOSE,
    PASS,
    CALLS,
    READ_LATER = CALLS,
    PASS_LATER,
    WRITE_LATER,
    SETTLE,
    STEPS_OF
};

/* Jobs. */
static enum tls_result step_later(struct tls_helper *h, struct tls_end *t, struct tls_end *other,
                                  unsigned how, const char *out)
{
    size_t room;
    char *at = how == READ_LATER || how == PASS_LATER ? tls_end_room(t, &room) : NULL;
    if (at) {
        require(room <= TLS_AREA);
        memset(at, 'b', room); /* all of it can be written */
        tls_end_read_later(t, how == PASS_LATER ? other : NULL, READ);
    }
    if (how == WRITE_LATER)
        tls_end_write_later(t, out, READ);
    if (how == SETTLE)
        tls_helper_settle(h);
    return tls_end_has_failed(t) ? TLS_FAILED : TLS_DONE;
}

/* All that is to be sent is there. */
static void check_output(struct tls_end *t)
{
    size_t n;
    const volatile char *data = tls_end_output(t, &n);
    require(data || n == 0);
    if (n)
        (void)(data[0] + data[n - 1]);
}

/* failed: a handshake has. Returns whether it has now. */
static bool step(struct tls_helper *h, struct tls_end *t, struct tls_end *other, uint8_t what,
                 bool failed)
{
    static char out[READ + 1];
    size_t got = 0;
    enum tls_result result = TLS_DONE;
    unsigned how =
        (what & 0x60) == 0x60 ? CALLS + what % (STEPS_OF - CALLS) : (what & 0x7f) % CALLS;
    out[READ] = 'e';
    if (how == SHAKE)
        result = tls_end_shake(t);
    else if (how == FEED)
        tls_end_feed(t, out, READ);
    else if (how == READS)
        result = tls_end_read(t, out, READ, &got);
    else if (how == WRITE)
        result = tls_end_write(t, out, READ) ? TLS_DONE : TLS_FAILED;
    else if (how == PASS)
        result = tls_end_pass(t, other, out, READ, &got);
    else if (how == CLOSE)
        tls_end_close(t);
    else
        result = step_later(h, t, other, how, out);
    require(got <= READ && out[READ] == 'e' && result <= TLS_FAILED);
    require(!failed || how == FEED || how == CLOSE || result == TLS_FAILED);
    require(result != TLS_FAILED || strnlen(tls_end_wrong(t), TLS_WRONG) < TLS_WRONG);
    check_output(t);
    check_output(other);
    if (what & 0x80)
        tls_end_sent(t);
    return failed || (how == SHAKE && result == TLS_FAILED);
}

static void run_steps(struct tls_helper *h, const uint8_t *data, size_t n)
{
    const struct peer host = {.name = "a.b", .len = 3};
    bool failed = false;
    struct tls_end *other = tls_end_accept(h, &host, "hello", 5),
                   *t = other ? tls_end_connect(h, &host, 3) : NULL;
    for (size_t i = 1; i < n && t; i++)
        failed = step(h, t, other, data[i * SPOKEN], failed);
    tls_end_free(t);
    tls_end_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tls_means means = {NULL, tls_turn_wait, tls_turn_wake};
    int ends[2];
    OWN(buf) struct buf pem = {0};
    const struct tls_reply begun = {.result = TLS_DONE, .nplain = 8};
    size_t n = size / SPOKEN < STEPS ? size / SPOKEN : STEPS;
    bool quick = n && data[0] & 2;
    struct tls_areas *areas =
        mmap(NULL, sizeof(*areas), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(areas != MAP_FAILED && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    send(ends[1], &begun, sizeof(begun), 0);
    send(ends[1], &fine, sizeof(fine), 0); /* for the end that bytes are passed to */
    say_to_jobs(areas, data, 0, n);
    for (size_t i = 0; i < n && !quick; i++)
        say(ends[1], data + i * SPOKEN);
    shutdown(ends[1], SHUT_WR); /* nobody waits for more */
    struct tls_helper *h = tls_helper_new(ends[0], areas, "a.b", NULL, &pem);
    struct speaker s = {areas, data, n, false};
    pthread_t other;
    require(h && pem.n == 8);
    if (quick) {
        tls_helper_use(h, &means);
        atomic_store(&areas->turn, TLS_WATCHED);
        require(pthread_create(&other, NULL, speak, &s) == 0);
    }
    run_steps(h, data, n);
    atomic_store(&s.over, true);
    if (quick)
        require(pthread_join(other, NULL) == 0);
    tls_helper_free(h);
    close(ends[1]);
    return 0;
}
