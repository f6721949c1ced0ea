/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: calls of the gate, each with what a peer sent. They go to the code of buckle-tls, which
 * answers every one, and says nothing that does not fit. There is one end for a client and one for
 * a server, and ends that don't exist.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tls/serve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Only the last call's bytes are in the memory that both share, so one call has them. */
enum { CALLS = 24 };

static struct tls_areas areas;

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void call(int to, struct tls_call c)
{
    require(send(to, &c, sizeof(c), 0) == sizeof(c));
}

/* Reads the answers; how many there were. */
static size_t check_replies(int from)
{
    struct tls_reply r;
    size_t n = 0;
    for (; recv(from, &r, sizeof(r), MSG_DONTWAIT) == sizeof(r); n++) {
        require(r.result <= TLS_FAILED && r.after <= TLS_FAILED);
        require(r.nplain <= TLS_AREA && r.nout <= TLS_AREA);
        require(memchr(r.wrong, 0, sizeof(r.wrong)) != NULL);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2];
    size_t asked = 3, ncalls = size ? data[0] % CALLS : 0;
    if (size < 1 + 2 * ncalls || size > TLS_AREA)
        return 0;
    const uint8_t *words = data + 1, *bytes = words + 2 * ncalls;
    uint32_t n = (uint32_t)(size - 1 - 2 * ncalls);
    setenv("SSL_CERT_FILE", "/dev/null", 1); /* reading the host's certificates takes long */
    setenv("SSL_CERT_DIR", "/nonexistent", 1);
    require(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    memset(areas.in, 'a', sizeof(areas.in));
    call(ends[0], (struct tls_call){.op = TLS_BEGIN});
    call(ends[0], (struct tls_call){.op = TLS_ACCEPT, .n = 3});
    call(ends[0], (struct tls_call){.op = TLS_CONNECT, .n = 3, .protocols = TLS_HTTP1 | TLS_H2});
    memcpy(areas.in, bytes, n);
    for (size_t i = 0; i < ncalls; i++) {
        struct tls_call c = {.op = TLS_SHAKE + words[2 * i] % 6, /* TLS_FREE and an unknown one */
                             .number = words[2 * i] >> 6,
                             .n = words[2 * i + 1] & 1 ? n : words[2 * i + 1] % (n + 1),
                             .want = words[2 * i + 1] * 64U,
                             .protocols = words[2 * i + 1] >> 6,
                             .answered = words[2 * i] >> 5 & 1};
        asked += c.op != TLS_FREE;
        call(ends[0], c);
    }
    shutdown(ends[0], SHUT_WR);
    require(tls_serve(ends[1], &areas) == 0);
    require(check_replies(ends[0]) == asked);
    close(ends[0]);
    close(ends[1]);
    return 0;
}
