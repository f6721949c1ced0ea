/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_FILE_WATCH_H
#define BK_RUN_FILE_WATCH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Files that may change, be replaced, vanish, or come to be together with the folders that they are
 * in.
 */
enum { WATCH_NAMES = 64 };

struct watch_files {
    int fd; /* readable when something has happened; -1 for none */
    size_t n;
    struct {
        int folder;
        char *path; /* owned: the folder's, and the name that is awaited in it */
    } at[WATCH_NAMES];
};

/* False when this host has no more watches to give. Closing one takes the kernel some 15 ms: a
 * command that ends at once should not have had it. */
bool watch_open(struct watch_files *w);
void watch_close(struct watch_files *w);
/* An absolute path, or one from the working directory. More than WATCH_NAMES are not watched. */
void watch_path(struct watch_files *w, const char *path);
/* Forgets all paths: those that are still meant are named anew. */
void watch_forget(struct watch_files *w);
/* Whether one of them may be another one now; then their paths are to be named anew, because other
 * folders may lead there. */
bool watch_heard(struct watch_files *w);

#endif
