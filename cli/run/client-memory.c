/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Memory for a program that lives as long as one command: nothing is given back. The C library's
 * way costs some twenty system calls and page faults here. Only for musl, which allows it in a
 * static program; without room the client becomes the whole program.
 */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ROOM = 16 << 20, ALIGN = 16 };

static _Alignas(ALIGN) unsigned char room[ROOM];
static size_t used;

/* A size is in front of each block. */
static size_t *size_of(void *block)
{
    return (size_t *)((unsigned char *)block - ALIGN);
}

void *malloc(size_t n)
{
    size_t whole = ((n + ALIGN - 1) & ~(size_t)(ALIGN - 1)) + ALIGN;
    if (n > ROOM || whole > ROOM - used) {
        errno = ENOMEM;
        return NULL;
    }
    void *block = room + used + ALIGN;
    used += whole;
    *size_of(block) = n;
    return block;
}

/* Nothing is used twice, so all of it is zero. */
void *calloc(size_t n, size_t each)
{
    if (each && n > ROOM / each) {
        errno = ENOMEM;
        return NULL;
    }
    return malloc(n * each);
}

void *realloc(void *block, size_t n)
{
    void *grown = malloc(n);
    if (block && grown)
        memcpy(grown, block, *size_of(block) < n ? *size_of(block) : n);
    return grown;
}

void free(void *block)
{
    (void)block;
}
