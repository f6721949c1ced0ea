/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_LINUX_UPPER_H
#define BK_WORLD_LINUX_UPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Files of a tree that somebody else chose. Every path is relative to a folder, and leads neither
 * through a symlink nor out of it. */

/* A folder by its absolute path, which must not lead through a symlink. -1: there is none. */
int canonical_open(const char *path);

/* Flags as for open(); "" is the folder itself. Returns a descriptor or a negative errno. */
int beneath_open(int folder, const char *path, int flags);
/* Opens the folder above the last name of a path, and finds that name. */
int beneath_above(int folder, const char *path, const char **name);
int beneath_stat(int folder, const char *path, struct stat *st);

/* How an overlay marks what it wrote. fd: O_PATH is fine. */
bool upper_is_whiteout(int above, const char *name, const struct stat *st);
bool upper_is_opaque(int fd);
/* Whether it was copied from below. Stores the first words of that file's handle, or zeros; one of
 * them is the lower half of its inode number. */
bool upper_origin(int above, const char *name, uint32_t words[2]);
/* Removes the overlay's own attributes. */
void upper_strip(int above, const char *name, const struct stat *st);

/* Compares and copies extended attributes, without the overlay's own. fd: O_PATH is fine. */
bool xattrs_equal(int one, int other);
int xattrs_copy(int from, int to);
/* All of them, the overlay's own included. */
int xattrs_copy_all(int from, int to);

#endif
