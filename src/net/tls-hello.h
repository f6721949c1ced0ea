/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_TLS_HELLO_H
#define BK_NET_TLS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/peer.h"

/*
 * The first message of a TLS client, which has the server's name in clear text. Nothing is
 * decrypted or changed; the bytes are read and passed on.
 */

enum tls_hello_result {
    HELLO_MORE,  /* incomplete */
    HELLO_OTHER, /* it is not TLS */
    HELLO_BAD,   /* TLS, but malformed, unusual or too large */
    HELLO_FOUND, /* complete */
};

struct hello {
    bool named; /* it contains a name */
    struct peer name;
};

enum { HELLO_MAX = 17 << 10 };

enum tls_hello_result tls_hello_read(const uint8_t *data, size_t n, struct hello *out);

#endif
