/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_BYTES_H
#define BK_BASE_BYTES_H

#include <stddef.h>
#include <string.h>

/* What not every C library has. */

/* The last such byte, or NULL. */
static inline const char *bytes_find_last(const char *s, char c, size_t n)
{
    while (n > 0)
        if (s[--n] == c)
            return s + n;
    return NULL;
}

/* Overwrites secrets; the compiler cannot leave it out. */
static inline void bytes_wipe(void *p, size_t n)
{
    memset(p, 0, n);
    __asm__ volatile("" : : "r"(p) : "memory");
}

#endif
