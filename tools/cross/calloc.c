/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * calloc() for C libraries whose own writes every byte. Buckle allocates large tables of which a
 * run touches little, and writing to them costs more page faults than the rest of a launch. Whole
 * pages are given back to the kernel instead, which returns them empty. That holds for whatever
 * malloc() does, since an allocator's memory is private and anonymous.
 *
 * Compiled without built-in functions: the compiler would replace malloc() and memset() by
 * calloc().
 */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGE = 32 * 1024 };

static void clear_large(char *p, size_t n)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    size_t before = (size_t)(-(uintptr_t)p & (page - 1));
    size_t pages = (n - before) & ~(page - 1);
    memset(p, 0, before);
    if (madvise(p + before, pages, MADV_DONTNEED) < 0)
        memset(p + before, 0, pages);
    memset(p + before + pages, 0, n - before - pages);
}

void *calloc(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    char *p = malloc(bytes);
    if (p && bytes >= LARGE)
        clear_large(p, bytes);
    else if (p)
        memset(p, 0, bytes);
    return p;
}
