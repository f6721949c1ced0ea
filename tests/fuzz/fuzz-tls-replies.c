/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: replies of buckle-tls, as if strangers had taken it over: for each a byte of the gate's
 * next step, then what the reply says. They wait in the socket when the gate calls. Nothing is read
 * beyond what was asked for, a reason is a text, and an end that failed stays so.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "net/tls-end.h"

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

/* The size of a reply is wrong, too, at times. */
static void say(int to, const uint8_t s[SPOKEN])
{
    struct tls_reply r = {
        .result = s[1] % 6,
        .after = s[2] % 6,
        .nplain = number_of(s + 3),
        .nout = number_of(s + 6),
        .number = number_of(s + 9),
        .asking = s[12] & 1,
        .offered = s[12] >> 1,
        .chosen = s[13],
        .alert = s[13],
    };
    if (s[12] > 250)
        memset(r.wrong, 'x', sizeof(r.wrong)); /* no end */
    send(to, &r, sizeof(r) - (s[13] == 255), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* failed: a handshake has. Returns whether it has now. */
static bool step(struct tls_end *t, uint8_t what, bool failed)
{
    static char out[READ + 1];
    size_t got = 0, n;
    enum tls_result result = TLS_DONE;
    out[READ] = 'e';
    if (what % 5 == 0)
        result = tls_end_shake(t);
    else if (what % 5 == 1)
        tls_end_feed(t, out, READ);
    else if (what % 5 == 2)
        result = tls_end_read(t, out, READ, &got);
    else if (what % 5 == 3)
        result = tls_end_write(t, out, READ) ? TLS_DONE : TLS_FAILED;
    else
        tls_end_close(t);
    require(got <= READ && out[READ] == 'e' && result <= TLS_FAILED);
    require(!failed || what % 5 == 1 || what % 5 == 4 || result == TLS_FAILED);
    require(result != TLS_FAILED || strnlen(tls_end_wrong(t), TLS_WRONG) < TLS_WRONG);
    require(tls_end_output(t, &n) || n == 0);
    if (what & 0x80)
        tls_end_sent(t);
    return failed || (what % 5 == 0 && result == TLS_FAILED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2];
    OWN(buf) struct buf pem = {0};
    const struct peer host = {.name = "a.b", .len = 3};
    const struct tls_reply begun = {.result = TLS_DONE, .nplain = 8};
    size_t n = size / SPOKEN < STEPS ? size / SPOKEN : STEPS;
    struct tls_areas *areas =
        mmap(NULL, sizeof(*areas), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(areas != MAP_FAILED && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    send(ends[1], &begun, sizeof(begun), 0);
    for (size_t i = 0; i < n; i++)
        say(ends[1], data + i * SPOKEN);
    shutdown(ends[1], SHUT_WR); /* nobody waits for more */
    struct tls_helper *h = tls_helper_new(ends[0], areas, "a.b", NULL, &pem);
    require(h && pem.n == 8);
    struct tls_end *t = n && data[0] & 1 ? tls_end_accept(h, &host) : tls_end_connect(h, &host, 3);
    bool failed = false;
    for (size_t i = 1; i < n && t; i++)
        failed = step(t, data[i * SPOKEN], failed);
    tls_end_free(t);
    tls_helper_free(h);
    close(ends[1]);
    return 0;
}
