/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_UTF8_H
#define BK_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the well-formed UTF-8 character at s (1 to 4), or 0 when the n bytes do not start one:
 * overlong forms, surrogates and values past U+10FFFF do not. */
size_t utf8_width(const char *s, size_t n);

/* Whether the w-byte character at s is a C1 control (U+0080 to U+009F), which terminals obey. */
bool utf8_is_c1(const char *s, size_t w);

#endif
