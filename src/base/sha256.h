/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_SHA256_H
#define BK_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* SHA-256 (FIPS 180-4). A library for it would cost more at every start than the few lines here. */
enum { SHA256_BYTES = 32, SHA256_HEX = 64 };

struct sha256 {
    uint32_t state[8];
    uint64_t total;
    uint8_t block[64];
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, size_t n);
void sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES]);
/* Writes 64 lower-case digits and a NUL. */
void sha256_write_hex(const uint8_t bytes[SHA256_BYTES], char out[SHA256_HEX + 1]);
void sha256_end_hex(struct sha256 *s, char out[SHA256_HEX + 1]);
/* All of it in one call. */
void sha256_hex(const void *bytes, size_t n, char out[SHA256_HEX + 1]);

/* HMAC (RFC 2104) */
void sha256_hmac(const void *key, size_t nkey, const void *text, size_t n,
                 uint8_t out[SHA256_BYTES]);

#endif
