/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_LOCK_H
#define BK_SETTINGS_LOCK_H

#include <limits.h>

#include "base/err.h"

/* Keeps others who want to change the same file away, from reading it to having written it. */
struct settings_lock {
    int fd; /* -1: not locked */
    char name[PATH_MAX + 8];
};

#define SETTINGS_UNLOCKED                                                                          \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Waits for its turn. Where its folder is missing there is nothing to be lost, and nothing locked.
 */
int settings_lock(struct settings_lock *l, const char *path, struct bk_err *err);
void settings_unlock(struct settings_lock *l);
#define OWN_settings_lock settings_unlock

#endif
