/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TLS_TLS_AUTHORITY_H
#define BK_TLS_TLS_AUTHORITY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "graph/peer.h"
#include "tls/tls-library.h"

/*
 * A certificate authority for one run. Its key exists only in this process, and its
 * certificate is valid only for the hosts whose requests are checked. It signs a certificate for
 * each of those, on first use.
 */
struct tls_authority;

/* names: permitted hosts as OpenSSL's configuration has them, "permitted;DNS:a.b,permitted;IP:…";
 * NULL: all. Returns NULL on failure. */
struct tls_authority *tls_authority_new(const struct tls_library *lib, const char *names);
/* The same with a certificate and its key as PEM, which the caller wipes. */
struct tls_authority *tls_authority_read(const struct tls_library *lib, const char *pem, size_t n);
void tls_authority_free(struct tls_authority *a); /* NULL is fine */

/* Appends its certificate as PEM. */
bool tls_authority_pem(const struct tls_authority *a, struct buf *out);

/* A certificate for the host, which a owns, and its key; NULL on failure. */
X509 *tls_authority_leaf(struct tls_authority *a, const struct peer *host);
EVP_PKEY *tls_authority_leaf_key(const struct tls_authority *a);

#endif
