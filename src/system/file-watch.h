/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SYSTEM_FILE_WATCH_H
#define BK_SYSTEM_FILE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Files that may change, be replaced or removed, or be created together with their folders.
 */
enum { WATCH_NAMES = 64 };

struct watch_files {
    int fd; /* readable after a change; -1: not open */
    size_t n;
    struct watched_name {
        int folder;   /* the watch of the folder */
        char *path;   /* the name that is expected there; owned */
        int file;     /* macOS: the watch of the file itself, or -1, */
        uint64_t ino; /* and what the name was; 0: nothing */
    } at[WATCH_NAMES];
};

/* Returns false when the host is out of watches. Closing a watch takes the kernel about 15 ms, so
 * don't open one for a command that may end at once. */
bool watch_open(struct watch_files *w);
void watch_close(struct watch_files *w);
/* Watches an absolute path, or one relative to the working directory. Ignores more than
 * WATCH_NAMES. */
void watch_path(struct watch_files *w, const char *path);
/* Forgets all paths; the caller adds those that still matter again. */
void watch_forget(struct watch_files *w);
/* Whether one of the files may have changed. If so, the caller has to add all paths again, because
 * other folders may lead there now. */
bool watch_read_changes(struct watch_files *w);

#endif
