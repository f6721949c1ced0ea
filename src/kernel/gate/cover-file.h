/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_GATE_COVER_FILE_H
#define BK_KERNEL_GATE_COVER_FILE_H

#include <stddef.h>

/* Files that replace the host's in the sandbox's mount namespace. They are in a small file system
 * of their own, which nothing else can reach. */

/* size: its capacity, as mount options have it. Returns a descriptor or a negative errno. */
int cover_begin(const char *size);
/* Mounts a file with this text over the one at path. name: its name in the file system. A missing
 * path stays missing. Returns 0 or a negative errno. */
int cover_file(int top, const char *name, const char *path, const char *text, size_t n);

#endif
