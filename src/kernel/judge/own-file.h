/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_OWN_FILE_H
#define BK_KERNEL_JUDGE_OWN_FILE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Files that the command itself created or emptied, and whose contents it may not read: it may go
 * on writing them. They are known by device, inode and birth time, because an inode number is used
 * again. When there are too many the oldest is forgotten, and so is one whose file system has no
 * birth times.
 */
enum { OWN_FILES = 256 };

struct own_file {
    uint64_t dev, ino;
    int64_t born;
    uint32_t born_ns;
};

struct own_files {
    uint32_t n; /* ever added */
    struct own_file list[OWN_FILES];
};

void own_file_add(struct own_files *o, int fd);
bool own_file_is(const struct own_files *o, int fd);

#endif
