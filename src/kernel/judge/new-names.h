/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_NEW_NAMES_H
#define BK_KERNEL_JUDGE_NEW_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Names that a judged call creates or moves, where reading is denied by patterns and the sentry
 * searches for what matches (struct plan_search): such a name has its sentry before the call is
 * answered.
 */
struct judge;

/* Of one call. */
struct new_names {
    uint32_t n; /* how many names get a sentry */
};

/* Whether a name will need a sentry. Counts it. */
bool new_names_add(struct judge *j, struct new_names *n, const char *path, size_t len, mode_t type);
/* Call it before the names are created. Returns 0, or -ENOSPC if there can be no more. */
int new_names_room(struct judge *j, const struct new_names *n);
/* Call it afterwards, with the path that was created. Ends the run if there is no sentry. */
void new_names_made(struct judge *j, const struct new_names *n, const char *path, size_t len);
/* Call it after a name that had a sentry of its own was removed or moved. */
void new_names_unmounted(struct judge *j);

#endif
