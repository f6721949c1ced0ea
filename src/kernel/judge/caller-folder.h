/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_CALLER_FOLDER_H
#define BK_KERNEL_JUDGE_CALLER_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Keeps the working folders of callers from one call to the next (in struct cached_thread). */

struct judge;
struct request;

enum { FOLDERS_CHANGING = 64 };

struct caller_folders {
    bool kept;                        /* the filter reports every change */
    uint64_t mount;                   /* only folders on this mount are kept */
    uint64_t as_of;                   /* counts the changes; a folder is kept for one count */
    pid_t changing[FOLDERS_CHANGING]; /* threads whose change may not be complete */
    size_t nchanging;
};

/* cwd: where the run was started. */
void caller_folders_begin(struct judge *j, const char *cwd);
/* Call it for every call before it is answered. */
void caller_folder_observe(struct judge *j, const struct request *r);
/* Returns the caller's working folder, or -1 if it is not kept. The descriptor is good until the
 * next request; it is the caller's if this one is valid afterwards. The folder is neither a
 * sentry's view nor in a procfs. */
int caller_folder(struct judge *j, const struct request *r);
/* Keeps a copy of a folder that was opened during this request, if it will stay the caller's until
 * a change is reported, and the caller has called before. */
void caller_folder_keep(struct judge *j, const struct request *r, int folder);

#endif
