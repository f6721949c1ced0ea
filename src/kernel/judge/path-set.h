/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_PATH_SET_H
#define BK_KERNEL_JUDGE_PATH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A set of paths, allocated once: repositories that the command created and may therefore
 * configure, and its own folders. When it is full, later ones are not added and stay protected, as
 * if they had existed before.
 */
enum { PATH_SET_MAX = 8192 };

struct path_set {
    char *text;
    size_t used;
    uint32_t n;
    uint32_t start[PATH_SET_MAX + 1]; /* offset of each path in text; the last: their end */
    uint16_t slots[2 * PATH_SET_MAX]; /* by hash: index of a path plus one; 0: free */
};

/* A hash of a path, byte by byte: the hash of every folder above it is found on the way. */
#define PATH_HASH_START UINT64_C(14695981039346656037)

static inline uint64_t path_hash_step(uint64_t hash, char c)
{
    return (hash ^ (unsigned char)c) * UINT64_C(1099511628211);
}

/* m must be zeroed. Returns 0, or -1 without memory. */
int path_set_init(struct path_set *m);
void path_set_add(struct path_set *m, const char *path, size_t len);
/* Path i of m->n; it is not NUL-terminated. */
const char *path_set_at(const struct path_set *m, uint32_t i, size_t *len);
/* Whether the path head + tail is a member or inside one. Either part may be empty. */
bool path_set_covers(const struct path_set *m, const char *head, size_t nhead, const char *tail,
                     size_t ntail);
/* The length of the first member on the way there, or 0. */
size_t path_set_covering(const struct path_set *m, const char *head, size_t nhead, const char *tail,
                         size_t ntail);
/* Removes the members at or below a path. */
void path_set_forget(struct path_set *m, const char *path, size_t len);
/* A folder was renamed: adds the new paths of members at or below it. */
void path_set_moved(struct path_set *m, const char *from, size_t nfrom, const char *to, size_t nto);

#endif
