/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_PACKER_H
#define BK_BASE_PACKER_H

#include <stdbool.h>
#include <string.h>

#include "base/arena.h"

/* Deep copies into one arena. What does not fit makes it full, which is checked once at the end. */
struct packer {
    struct arena *into;
    bool full;
    const char *last, *copied; /* neighbours often have the same words */
};

/* An array; NULL if it is empty. */
static inline void *pack(struct packer *k, const void *from, size_t count, size_t size)
{
    void *copy = count ? arena_array(k->into, count, size) : NULL;
    if (copy)
        memcpy(copy, from, count * size);
    k->full |= count && !copy;
    return copy;
}

static inline char *pack_string(struct packer *k, const char *s, size_t n)
{
    char *copy = s ? arena_strndup(k->into, s, n) : NULL;
    k->full |= s && !copy;
    return copy;
}

static inline const char *pack_word(struct packer *k, const char *s)
{
    if (s && s != k->last) {
        k->last = s;
        k->copied = pack_string(k, s, strlen(s));
    }
    return s ? k->copied : NULL;
}

#endif
