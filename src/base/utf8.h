/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_UTF8_H
#define BK_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the length (1 to 4) of the well-formed UTF-8 character at s, or 0 when there is none:
 * overlong forms, surrogates and values past U+10FFFF are not well-formed. */
size_t utf8_width(const char *s, size_t n);
/* Returns the code point of the character at s, which has w bytes (see utf8_width()). */
uint32_t utf8_value(const char *s, size_t w);

/* Whether the non-ASCII character at s, w bytes long, is invisible or changes how others look: C1
 * controls (terminals obey them), direction marks, line separators, zero-width characters, tags. */
bool utf8_is_hidden(const char *s, size_t w);

#endif
