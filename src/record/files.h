/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RECORD_FILES_H
#define BK_RECORD_FILES_H

#include "base/sha256.h"
#include "record/record.h"

/* Files that changed since a run began, by their change times. Others may have changed them too. */
struct record_scan {
    uint64_t since_ns; /* file_clock_ns() at the run's start */
    const char *skip;  /* a path; what begins with it is left out */
};

struct record_written {
    const char *path;
    uint64_t size;
    char digest[SHA256_HEX + 1]; /* "": it cannot be read, or is too large */
};

/* Calls `each` for all of them below a folder, or for a file. Symlinks are not followed. Returns
 * how many entries had to be left out: there are limits. */
typedef void record_written_fn(void *arg, const struct record_written *w);
uint64_t record_files(const struct record_scan *scan, const char *path, record_written_fn *each,
                      void *arg);

#endif
