/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SYSTEM_FILES_H
#define BK_SYSTEM_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Which folder it is, whatever its path. */
struct folder_id {
    uint64_t dev, ino;
    int64_t born; /* nanoseconds since 1970; 0: unknown */
};

/* What a descriptor's folder and a name in it refer to, without following a symlink. Returns 0 or a
 * negative errno; born is 0 if the file system does not know it. */
int folder_id_get(int folder, const char *name, struct folder_id *id);

/* Like rename(), but fails with EEXIST if there is something at `to`. */
int file_rename_new(const char *from, const char *to);

/* A file without a name, in memory where the system can. -1 and errno. */
int file_unnamed(void);

/* When a file or its metadata changed, in nanoseconds since 1970, and the clock that says so. */
uint64_t file_changed_ns(const struct stat *st);
uint64_t file_clock_ns(void);

/* Opens a folder without following a symlink: to list it, or with `pass` only to look up names in
 * it, for which it need not be readable. -1 and errno. */
int folder_open(int at, const char *name, bool pass);

/* One name in a folder. type: DT_LNK, DT_DIR, … or DT_UNKNOWN */
struct folder_entry {
    const char *name;
    unsigned char type;
};

/* Calls fn for each name except "." and "..", until it returns something other than 0, and returns
 * that. Returns 0 after the last one, or -1 and errno if the folder cannot be listed. again: the
 * descriptor was used for it before. */
typedef int folder_fn(void *arg, const struct folder_entry *e);
int folder_list(int folder, bool again, folder_fn *fn, void *arg);

#endif
