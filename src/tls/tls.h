/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TLS_TLS_H
#define BK_TLS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/peer.h"
#include "net/tls-call.h"
#include "tls/tls-authority.h"

/*
 * One end of a TLS connection that the gate terminates, without I/O: encrypted bytes go in with
 * tls_feed(), and come out in tls_output(). The gate is the server for the client, and a client for
 * the server.
 */

/* What all connections share. */
struct tls_engine;
struct tls_engine *tls_engine_new(struct tls_authority *a, const struct tls_library *lib);
void tls_engine_free(struct tls_engine *e); /* NULL is fine; frees the authority too */

struct tls;
/* Both return NULL without memory. */
struct tls *tls_accept(struct tls_engine *e, const struct peer *host);
/* Verifies the server's certificate against the host's store. protocols: what to offer; 0: nothing.
 */
struct tls *tls_connect(struct tls_engine *e, const struct peer *host, unsigned protocols);
void tls_free(struct tls *t); /* NULL is fine */

bool tls_feed(struct tls *t, const void *data, size_t n); /* false without memory */
enum tls_result tls_handshake(struct tls *t);
/* The client's hello waits for this: the protocol that the server has chosen, or 0. */
bool tls_is_asking(const struct tls *t);
unsigned tls_offered(const struct tls *t);
bool tls_offers_others(const struct tls *t); /* only protocols that are neither */
void tls_answer(struct tls *t, unsigned protocol);
unsigned tls_chosen(const struct tls *t); /* once the handshake is complete */

/* Whether encrypted bytes wait to be read. */
bool tls_has_bytes(const struct tls *t);
/* Reads at most n decrypted bytes; *got is how many. */
enum tls_result tls_read(struct tls *t, char *out, size_t n, size_t *got);
bool tls_write(struct tls *t, const void *data, size_t n); /* false if it failed */
void tls_close(struct tls *t);                             /* announces the end */
/* Encrypted bytes to send. Call tls_sent() after taking them. */
const char *tls_output(struct tls *t, size_t *n);
void tls_sent(struct tls *t);

const char *tls_wrong(const struct tls *t);
/* For the client, if the server's handshake failed: the number of the alert. */
uint8_t tls_alert(const struct tls *server);

#endif
