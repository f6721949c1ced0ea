/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Bump allocation in chunks that double from 16 KiB to 1 MiB. A request larger than a chunk gets
 * its own chunk.
 *
 * Touching a page for the first time is what costs, so memory is zeroed only when it is handed out:
 * calloc() would clear the whole chunk. Large chunks come from mmap(), which zeroes, and their
 * pages are fetched a window at a time: one fault for each page takes longer than the work done in
 * it.
 */

#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 8, CHUNK_MIN = 16 << 10, CHUNK_LARGE = 128 << 10, CHUNK_MAX = 1 << 20 };
enum { WINDOW = 64 << 10, PAGE = 4 << 10 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    _Alignas(ALIGN) unsigned char data[];
};

/* Large chunks are mappings of their own. By the whole size: an adopted mapping has a head, too. */
static bool is_mapped(size_t size)
{
    return sizeof(struct arena_chunk) + size >= CHUNK_LARGE;
}

void arena_init(struct arena *a, size_t limit)
{
    memset(a, 0, sizeof(*a));
    a->limit = limit;
}

void arena_free(struct arena *a)
{
    struct arena_chunk *c = a->chunks;
    while (c) {
        struct arena_chunk *next = c->next;
        if (is_mapped(c->size))
            munmap(c, sizeof(*c) + c->size);
        else
            free(c);
        c = next;
    }
    arena_init(a, a->limit);
}

static void *map_pages(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* A failure costs only time: the pages then come one by one. */
static void fetch_pages(unsigned char *from, size_t n)
{
#ifdef MADV_POPULATE_WRITE
    size_t before = (uintptr_t)from % PAGE;
    madvise(from - before, before + n, MADV_POPULATE_WRITE);
#else
    (void)from, (void)n;
#endif
}

/* Opens the next window of the newest chunk, if the request fits into the chunk. */
static bool open_window(struct arena *a, size_t need)
{
    size_t left = a->chunks ? (size_t)(a->chunks->data + a->chunks->size - a->at) : 0;
    if (!left || left < need)
        return false;
    size_t n = left < WINDOW ? left : need > WINDOW ? need : WINDOW;
    fetch_pages(a->at, n);
    a->end = a->at + n;
    return true;
}

/* Adds a chunk. No window of it is open yet if it is a large one. */
static int grow(struct arena *a, size_t need)
{
    size_t size = a->chunks ? a->chunks->size * 2 : CHUNK_MIN;
    if (size > CHUNK_MAX)
        size = CHUNK_MAX;
    if (size < need)
        size = need;
    bool large = is_mapped(size);
    struct arena_chunk *c = large ? map_pages(sizeof(*c) + size) : malloc(sizeof(*c) + size);
    if (!c)
        return -1;
    a->zeroed = large;
    c->size = size;
    c->next = a->chunks;
    a->chunks = c;
    a->at = c->data;
    a->end = c->data + (large ? 0 : size);
    return 0;
}

static int make_room(struct arena *a, size_t need)
{
    if (open_window(a, need))
        return 0;
    if (grow(a, need) < 0)
        return -1;
    if (a->at == a->end)
        open_window(a, need);
    return 0;
}

/* Most requests are a few cells, for which a call to memset() takes longer than the writes. A loop
 * will not do: compilers turn it into that call. */
static void *zero(unsigned char *p, size_t n)
{
    switch (n / ALIGN) {
    case 8:
        memset(p + 7 * ALIGN, 0, ALIGN); /* fall through */
    case 7:
        memset(p + 6 * ALIGN, 0, ALIGN); /* fall through */
    case 6:
        memset(p + 5 * ALIGN, 0, ALIGN); /* fall through */
    case 5:
        memset(p + 4 * ALIGN, 0, ALIGN); /* fall through */
    case 4:
        memset(p + 3 * ALIGN, 0, ALIGN); /* fall through */
    case 3:
        memset(p + 2 * ALIGN, 0, ALIGN); /* fall through */
    case 2:
        memset(p + ALIGN, 0, ALIGN); /* fall through */
    case 1:
        memset(p, 0, ALIGN);
        return p;
    default:
        return memset(p, 0, n);
    }
}

void arena_reserve(struct arena *a, size_t n)
{
    if (is_mapped(n))
        (void)!grow(a, n); /* on failure a later arena_alloc() tries again */
}

void arena_adopt(struct arena *a, void *mapping, size_t n)
{
    struct arena_chunk *c = mapping;
    c->next = NULL;
    c->size = n - sizeof(*c);
    *a = (struct arena){
        .chunks = c, .at = c->data, .end = c->data + c->size, .zeroed = true, .limit = c->size};
}

void *arena_alloc(struct arena *a, size_t n)
{
    if (n > SIZE_MAX - ALIGN)
        return NULL;
    n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (n > a->limit - a->used)
        return NULL;
    if ((!a->chunks || (size_t)(a->end - a->at) < n) && make_room(a, n) < 0)
        return NULL;
    void *p = a->at;
    a->at += n;
    a->used += n;
    return a->zeroed ? p : zero(p, n);
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t n;
    if (__builtin_mul_overflow(count, size, &n))
        return NULL;
    return arena_alloc(a, n);
}

void *arena_dup(struct arena *a, const void *p, size_t n)
{
    void *q = arena_alloc(a, n);
    if (q && n)
        memcpy(q, p, n);
    return q;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    if (n == SIZE_MAX)
        return NULL;
    char *q = arena_alloc(a, n + 1);
    if (q && n)
        memcpy(q, s, n);
    return q;
}
