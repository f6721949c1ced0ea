/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_TLS_END_H
#define BK_NET_TLS_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "graph/peer.h"
#include "net/tls-call.h"

/*
 * One end of a TLS connection that the gate terminates, without I/O: encrypted bytes go in with
 * tls_end_feed(), and come out in tls_end_output(). The gate is the server for the client, and a
 * client for the server. The work is done by another process, buckle-tls (src/tls): the gate is
 * part of a static program, and has neither keys nor a TLS library.
 */

/* The other process. */
struct tls_helper;
/* Takes over the socket and the memory, and makes an authority for these hosts (NULL: all), whose
 * certificate is appended as PEM. authority: certificate and key of the one to use instead, or
 * NULL. On failure it returns NULL, with errno: ENOEXEC if the process does not answer, ENOTSUP if
 * it can make none. */
struct tls_helper *tls_helper_new(int sock, struct tls_areas *areas, const char *names,
                                  const char *authority, struct buf *pem);
/* What a system may have to make calls cheaper. */
struct tls_means {
    int (*processor)(void); /* that we run on, and on which the other process should work */
    void (*wait)(_Atomic uint32_t *turn, uint32_t value, unsigned ms); /* net/tls-turn.h */
    void (*wake)(_Atomic uint32_t *turn);
};
void tls_helper_use(struct tls_helper *h, const struct tls_means *means);
void tls_helper_free(struct tls_helper *h); /* NULL is fine */

struct tls_end;
/* Both return NULL on failure. data: the client's first bytes. */
struct tls_end *tls_end_accept(struct tls_helper *h, const struct peer *host, const void *data,
                               size_t n);
/* Verifies the server's certificate against the host's store. protocols: what to offer; 0: nothing.
 */
struct tls_end *tls_end_connect(struct tls_helper *h, const struct peer *host, unsigned protocols);
void tls_end_free(struct tls_end *t); /* NULL is fine */

bool tls_end_feed(struct tls_end *t, const void *data, size_t n); /* false without memory */
enum tls_result tls_end_shake(struct tls_end *t);
/* The client's hello waits for this: the protocol that the server has chosen, or 0. */
bool tls_end_is_asking(const struct tls_end *t);
unsigned tls_end_offered(const struct tls_end *t);
bool tls_end_offers_others(const struct tls_end *t); /* only protocols that are neither */
void tls_end_answer(struct tls_end *t, unsigned protocol);
unsigned tls_end_chosen(const struct tls_end *t); /* once the handshake is complete */

/* Reads at most n decrypted bytes; *got is how many. */
enum tls_result tls_end_read(struct tls_end *t, char *out, size_t n, size_t *got);
/* The same, and what was read is encrypted for another end as well, whose output it is. */
enum tls_result tls_end_pass(struct tls_end *t, struct tls_end *to, char *out, size_t n,
                             size_t *got);
bool tls_end_write(struct tls_end *t, const void *data, size_t n); /* false if it failed */
void tls_end_close(struct tls_end *t);                             /* announces the end */
/* Encrypted bytes to send. Call tls_end_sent() after taking them. buckle-tls may change them, so
 * they are not to be read. */
const char *tls_end_output(struct tls_end *t, size_t *n);
void tls_end_sent(struct tls_end *t);

/*
 * Reads and writes of several ends in one call, which tls_helper_settle() makes, or any other call
 * before it does its own work. Afterwards the results are there, as if each had had its own call:
 * tls_end_read() has what was read, tls_end_output() what to send.
 */
/* Nothing was read that nobody has taken, and it has not failed. */
bool tls_end_is_idle(const struct tls_end *t);
/* Where encrypted bytes of the peer can be received: *n of them. NULL if there is no room before
 * the next call, or the end is not idle. */
char *tls_end_room(const struct tls_end *t, size_t *n);
/* Reads the n bytes that are there now. to: the end that gets what was read, as tls_end_pass()
 * does, or NULL. */
void tls_end_read_later(struct tls_end *t, struct tls_end *to, size_t n);
bool tls_end_write_later(struct tls_end *t, const void *data, size_t n);
void tls_helper_settle(struct tls_helper *h);
bool tls_end_has_failed(const struct tls_end *t);
/* What the next read returns is encrypted for another end already. */
bool tls_end_was_passed(const struct tls_end *t);

const char *tls_end_wrong(const struct tls_end *t);
/* For the client, if the server's handshake failed: the alert with the server's error. */
enum { TLS_ALERT = 7 };
void tls_end_alert(const struct tls_end *server, uint8_t out[TLS_ALERT]);

#endif
