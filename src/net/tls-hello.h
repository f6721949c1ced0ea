/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_TLS_HELLO_H
#define BK_NET_TLS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/peer.h"

/*
 * The first message of a TLS client, which says in the open which name it wants. Nothing is
 * decrypted or changed: the bytes are looked at and passed on as they are.
 */

enum tls_hello_result {
    HELLO_MORE,  /* it is one so far, and not all there */
    HELLO_OTHER, /* it is not TLS */
    HELLO_BAD,   /* it is TLS, and broken, odd or more than anybody needs */
    HELLO_FOUND, /* read to its end */
};

struct hello {
    bool named; /* there was a name in it */
    struct peer name;
};

enum { HELLO_MAX = 17 << 10 };

enum tls_hello_result tls_hello_read(const uint8_t *data, size_t n, struct hello *out);

#endif
