/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_UTF8_H
#define BK_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed UTF-8 character at s (1 to 4), or 0 when the n bytes do not start one:
 * overlong forms, surrogates and values past U+10FFFF do not. */
size_t utf8_width(const char *s, size_t n);
/* Which character these w bytes are, as utf8_width() counted them. */
uint32_t utf8_value(const char *s, size_t w);

/* Whether the w-byte character at s, which is not ASCII, is one that a person cannot see or that
 * changes how others are seen: C1 controls, which terminals obey, direction marks, line separators,
 * zero-width characters, tags. */
bool utf8_is_hidden(const char *s, size_t w);

#endif
