/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_ARENA_H
#define BK_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

/*
 * One arena per stage, freed as a whole. An arena has a byte budget, which bounds what hostile
 * input can use: once it is exceeded, arena_alloc() returns NULL. Memory is zeroed, and aligned
 * for every type that has no larger alignment of its own than a pointer.
 */
struct arena_chunk;

struct arena {
    struct arena_chunk *chunks;
    unsigned char *at, *end; /* what can be handed out without asking for more pages */
    bool zeroed;             /* whether the bytes between them are zero */
    size_t used;             /* bytes handed out and reserved so far */
    size_t limit;            /* budget in bytes */
};

void arena_init(struct arena *a, size_t limit);
/* Reserves n bytes in one mapping, zeroed as they are touched. For arenas that are known to
 * grow. */
void arena_reserve(struct arena *a, size_t n);
/* Hands out n bytes of a fresh mapping, of at least 128 KiB, and no others. Freeing unmaps it. */
void arena_adopt(struct arena *a, void *mapping, size_t n);
void arena_free(struct arena *a); /* a zeroed arena is fine; leaves it empty and usable */

/* Returns NULL when the budget or the machine's memory is exhausted. n may be 0. */
void *arena_alloc(struct arena *a, size_t n);
void *arena_array(struct arena *a, size_t count, size_t size); /* overflow-checked */
void *arena_dup(struct arena *a, const void *p, size_t n);
char *arena_strndup(struct arena *a, const char *s, size_t n); /* adds the NUL */

#define OWN_arena arena_free
#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))

#endif
