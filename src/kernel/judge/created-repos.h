/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_CREATED_REPOS_H
#define BK_KERNEL_JUDGE_CREATED_REPOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Repositories that the command created and may therefore configure: a set of paths, allocated
 * once. When it is full, later ones are not added and stay protected, like repositories that
 * existed before.
 */
enum { CREATED_REPOS_MAX = 8192 };

struct created_repos {
    char *text;
    size_t used;
    uint32_t n;
    uint32_t start[CREATED_REPOS_MAX + 1]; /* offset of each path in text; the last: their end */
    uint16_t slots[2 * CREATED_REPOS_MAX]; /* by hash: index of a path plus one; 0: free */
};

/* m must be zeroed. Returns 0, or -1 without memory. */
int created_repos_init(struct created_repos *m);
void created_repos_add(struct created_repos *m, const char *path, size_t len);
/* Path i of m->n; it is not NUL-terminated. */
const char *created_repos_at(const struct created_repos *m, uint32_t i, size_t *len);
/* Whether the path head + tail is a member or inside one. Either part may be empty. */
bool created_repos_covers(const struct created_repos *m, const char *head, size_t nhead,
                          const char *tail, size_t ntail);
/* Removes the members at or below a path. */
void created_repos_forget(struct created_repos *m, const char *path, size_t len);
/* A folder was renamed: adds the new paths of members at or below it. */
void created_repos_moved(struct created_repos *m, const char *from, size_t nfrom, const char *to,
                         size_t nto);

#endif
