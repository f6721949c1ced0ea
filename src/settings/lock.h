/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_LOCK_H
#define BK_SETTINGS_LOCK_H

#include <limits.h>

#include "base/err.h"

/* Keeps other writers of the same file out, from reading it until it is written. */
struct settings_lock {
    int fd; /* -1: not locked */
    char name[PATH_MAX + 8];
};

#define SETTINGS_UNLOCKED                                                                          \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Waits for the lock. If the folder is missing there is nothing to lose, and it locks nothing. */
int settings_lock(struct settings_lock *l, const char *path, struct bk_err *err);
void settings_unlock(struct settings_lock *l);
#define OWN_settings_lock settings_unlock

#endif
