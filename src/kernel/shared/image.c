/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A file is the arena's memory from its beginning to the end of what is used: the arena's own
 * bytes, the head, the data and the inputs. The sum finds files that were cut off or damaged. It
 * cannot tell a forged file, which only the user could put there.
 */

#include "kernel/shared/image.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { TRIES = 4, ALIGN_BITS = 21, PAGE = 4096, IMAGE_MOST = 8 << 20, IMAGE_LEAST = 128 << 10 };

/* Where no system puts anything by itself, and far from both ends. */
#define LOWEST UINT64_C(0x100000000000)
#define SPAN_BITS 45

struct image_head {
    char magic[16];
    uint64_t sum; /* of everything after it */
    uint64_t base, size;
    uint64_t root;   /* an address */
    uint64_t inputs; /* an address; of `ninputs` bytes */
    uint64_t ninputs;
};

static const char magic[16] = "buckle image 1\n";
enum { HEAD_AT = 16, SUM_FROM = HEAD_AT + offsetof(struct image_head, base) };

/* Four lanes, so that multiplications overlap. */
uint64_t image_sum(const void *bytes, size_t n)
{
    static const uint64_t odd[4] = {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9),
                                    UINT64_C(0x94d049bb133111eb), UINT64_C(0xd6e8feb86659fd93)};
    const unsigned char *at = bytes;
    uint64_t lane[4] = {n, 1, 2, 3}, word;
    for (; n >= 32; n -= 32, at += 32)
        for (int i = 0; i < 4; i++) {
            memcpy(&word, at + 8 * i, 8);
            lane[i] = (lane[i] ^ word) * odd[i];
            lane[i] ^= lane[i] >> 29;
        }
    for (int i = 0; n > 0; i = (i + 1) % 4) {
        size_t part = n < 8 ? n : 8;
        word = 0;
        memcpy(&word, at, part);
        lane[i] = (lane[i] ^ word) * odd[i];
        lane[i] ^= lane[i] >> 29;
        at += part;
        n -= part;
    }
    for (int i = 1; i < 4; i++)
        lane[0] = ((lane[0] << 17 | lane[0] >> 47) ^ lane[i]) * odd[i];
    return lane[0] ^ lane[0] >> 32;
}

/* ---- making ---- */

static void *map_somewhere(size_t cap)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t random;
        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
            return NULL;
        uint64_t base = LOWEST + (random >> (64 - SPAN_BITS) >> ALIGN_BITS << ALIGN_BITS);
        void *at = mmap((void *)(uintptr_t)base, cap, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (at == (void *)(uintptr_t)base)
            return at;
        if (at != MAP_FAILED)
            munmap(at, cap); /* a kernel that does not know the flag */
    }
    return NULL;
}

int image_begin(struct image *m, size_t cap)
{
    cap = (cap + PAGE - 1) & ~(size_t)(PAGE - 1);
    void *at = cap >= IMAGE_LEAST && cap <= IMAGE_MOST ? map_somewhere(cap) : NULL;
    *m = (struct image){0};
    if (!at)
        return -1;
    arena_adopt(&m->arena, at, cap);
    m->head = arena_new(&m->arena, struct image_head);
    if ((void *)m->head != (char *)at + HEAD_AT)
        return -1;
    m->head->base = (uintptr_t)at;
    return 0;
}

static int write_all(int fd, const unsigned char *at, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? -errno : -EIO;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

int image_write(struct image *m, int fd, const void *root, const struct image_inputs *from)
{
    struct image_head *h = m->head;
    void *inputs = arena_dup(&m->arena, from->bytes, from->n);
    if (!inputs || !root)
        return -ENOMEM;
    memcpy(h->magic, magic, sizeof(magic));
    h->size = (uintptr_t)m->arena.at - h->base;
    h->root = (uintptr_t)root;
    h->inputs = (uintptr_t)inputs;
    h->ninputs = from->n;
    const unsigned char *base = (const void *)(uintptr_t)h->base;
    h->sum = image_sum(base + SUM_FROM, h->size - SUM_FROM);
    return write_all(fd, base, h->size);
}

void image_free(struct image *m)
{
    arena_free(&m->arena);
    *m = (struct image){0};
}

/* ---- using ---- */

/* Whether n bytes at an address are in the image. */
static bool is_inside(const struct image_head *h, uint64_t at, uint64_t n)
{
    return at >= h->base && at - h->base <= h->size && n <= h->size - (at - h->base);
}

static bool is_sound(const struct image_head *h, size_t size, const struct image_inputs *from)
{
    return memcmp(h->magic, magic, sizeof(magic)) == 0 && h->size == size && h->base >= LOWEST &&
           h->base < LOWEST + (UINT64_C(1) << SPAN_BITS) && h->base % PAGE == 0 &&
           h->ninputs == from->n && is_inside(h, h->root, 1) && is_inside(h, h->inputs, h->ninputs);
}

static bool is_same(const struct image_head *h, const struct image_inputs *from)
{
    const unsigned char *base = (const void *)(uintptr_t)h->base;
    return memcmp((const void *)(uintptr_t)h->inputs, from->bytes, from->n) == 0 &&
           image_sum(base + SUM_FROM, h->size - SUM_FROM) == h->sum;
}

const void *image_map(int fd, size_t size, const struct image_inputs *from)
{
    struct image_head h;
    if (size < SUM_FROM || size > IMAGE_MOST || pread(fd, &h, sizeof(h), HEAD_AT) != sizeof(h) ||
        !is_sound(&h, size, from))
        return NULL;
    void *base = (void *)(uintptr_t)h.base;
    void *at = mmap(base, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE | MAP_FIXED_NOREPLACE, fd, 0);
    if (at == MAP_FAILED)
        return NULL;
    const struct image_head *mapped = (const void *)((const char *)at + HEAD_AT);
    /* the file may have changed since */
    if (at == base && memcmp(mapped, &h, sizeof(h)) == 0 && is_same(mapped, from))
        return (const void *)(uintptr_t)h.root;
    munmap(at, size);
    return NULL;
}

/* Small ones do not cross the boundary that their address was rounded to. */
void image_unmap(const void *root)
{
    uintptr_t base = (uintptr_t)root >> ALIGN_BITS << ALIGN_BITS;
    const struct image_head *h = (const void *)(base + HEAD_AT);
    munmap((void *)base, h->size);
}
