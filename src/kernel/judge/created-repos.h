/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_CREATED_REPOS_H
#define BK_KERNEL_JUDGE_CREATED_REPOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Folders that the command made itself and may therefore treat as its own: repositories, so far. A
 * set of paths in memory that is taken once. When it is full, later ones are not remembered, and
 * stay protected as if they had existed before.
 */
enum { MADE_MAX = 8192 };

struct created_repos {
    char *text;
    size_t used;
    uint32_t n;
    uint32_t
        start[MADE_MAX + 1]; /* where each path begins in text; the last entry: where they end */
    uint16_t slots[2 * MADE_MAX]; /* by hash: number of a path plus one, 0: free */
};

/* m is zeroed. 0, or -1 when memory is short. */
int created_repos_init(struct created_repos *m);
void created_repos_add(struct created_repos *m, const char *path, size_t len);
/* Path number i of m->n, which is not terminated. */
const char *created_repos_at(const struct created_repos *m, uint32_t i, size_t *len);
/* Whether the path head + tail is one of them or lies in one. Either part may be empty. */
bool created_repos_covers(const struct created_repos *m, const char *head, size_t nhead,
                          const char *tail, size_t ntail);
/* A folder has been renamed: what was remembered at or below its old name is at the new one, too.
 */
void created_repos_moved(struct created_repos *m, const char *from, size_t nfrom, const char *to,
                         size_t nto);

#endif
