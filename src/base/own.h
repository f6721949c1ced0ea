/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_OWN_H
#define BK_BASE_OWN_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Owned resources: `OWN(fd) int fd = open(…);` is closed when the scope ends, on every path.
 * steal_fd() and steal_ptr() pass the resource on, and the owner no longer frees it.
 */
static inline void own_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void own_free_mem(void *p)
{
    free(*(void **)p);
}

static inline void own_close_dir(DIR **d)
{
    if (*d)
        closedir(*d);
}

static inline void own_close_file(FILE **f)
{
    if (*f)
        fclose(*f);
}

#define OWN_fd own_close_fd
#define OWN_mem own_free_mem
#define OWN_file own_close_file
#define OWN_dir own_close_dir
#define OWN(kind) __attribute__((cleanup(OWN_##kind)))

static inline int steal_fd(int *fd)
{
    int r = *fd;
    *fd = -1;
    return r;
}

#define steal_ptr(pp)                                                                              \
    ({                                                                                             \
        __typeof__(*(pp)) stolen_ = *(pp);                                                         \
        *(pp) = NULL;                                                                              \
        stolen_;                                                                                   \
    })

#endif
