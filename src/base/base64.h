/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_BASE64_H
#define BK_BASE_BASE64_H

#include <stddef.h>

/* RFC 4648, with padding. */
#define BASE64_SIZE(n) (((n) + 2) / 3 * 4)

/* Writes BASE64_SIZE(n) bytes, not terminated, and returns that count. */
size_t base64_encode(const void *data, size_t n, char *out);

/* Writes at most n / 4 * 3 bytes. Returns how many, or -1 when base64_encode() would not write this
 * text. out may be the text itself. */
long base64_decode(const char *text, size_t n, void *out);

#endif
