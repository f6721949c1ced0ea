/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SYSTEM_FOLDER_ID_H
#define BK_SYSTEM_FOLDER_ID_H

#include <stdint.h>

/* Which folder it is, whatever its path. */
struct folder_id {
    uint64_t dev, ino;
    int64_t born; /* nanoseconds since 1970; 0: unknown */
};

/* What a descriptor's folder and a name in it refer to, without following a symlink. Returns 0 or a
 * negative errno; born is 0 if the file system does not know it. */
int folder_id_get(int folder, const char *name, struct folder_id *id);

#endif
