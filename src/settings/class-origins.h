/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_CLASS_ORIGINS_H
#define BK_SETTINGS_CLASS_ORIGINS_H

#include "settings/settings.h"
#include "vocab/protected-classes.h"

/* Which settings allow each class of protected names (filesystem.allowProtected). */
struct class_origins {
    const char *by[PROTECTED_CLASSES];      /* "user settings, line 3"; NULL: none */
    const char *file[PROTECTED_CLASSES];    /* its path; NULL: none */
    const char *ignored[PROTECTED_CLASSES]; /* why one that allows it does not count, or NULL */
};

/* Returns -1 when out of memory. */
int class_origins(struct settings *s, struct class_origins *out);

#endif
