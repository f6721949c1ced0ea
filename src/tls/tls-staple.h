/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TLS_TLS_STAPLE_H
#define BK_TLS_TLS_STAPLE_H

#include <stdint.h>

#include "tls/tls-library.h"

/* What a server's stapled OCSP answer means for its certificate. */
enum staple {
    STAPLE_FINE, /* it is good, or there is none and the certificate demands none */
    STAPLE_REVOKED,
    STAPLE_UNKNOWN,
    STAPLE_MISSING,
    STAPLE_UNUSABLE, /* the certificate demands one, and this one proves nothing */
};

/* Has the library ask for such answers and call back when a handshake of a client has both the
 * certificate and the answer. The call returns 1 to go on, and 0 to fail. */
void staple_ask(const struct tls_library *l, SSL_CTX *client, int (*then)(SSL *, void *),
                void *arg);

/* In that call. */
enum staple staple_check(const struct tls_library *l, const SSL_CTX *client, SSL *ssl);

const char *staple_text(enum staple s);
uint8_t staple_alert(enum staple s); /* TLS's number for it */

#endif
