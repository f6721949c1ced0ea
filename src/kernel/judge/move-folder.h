/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_MOVE_FOLDER_H
#define BK_KERNEL_JUDGE_MOVE_FOLDER_H

/*
 * Renames a folder that an overlay refuses to rename (EXDEV), because it is in the layer below:
 * makes new folders, renames each file to them, and removes the old folders. It appears under its
 * new name at once, when it is complete. Flags: 0 or RENAME_NOREPLACE.
 *
 * Returns 0 or a negative errno; then everything is where it was. -EXDEV: it is too large, or
 * something in it cannot be moved.
 * links: called first for each file in it that has other names.
 */
struct move_links {
    void (*copy)(void *arg, int folder, const char *name);
    void *arg;
};
int move_folder(int from, const char *name, int to, const char *as, unsigned flags,
                const struct move_links *links);

/* Attributes, owner as far as it can be given, mode and times, of open files or folders. Returns 0
 * or a negative errno. */
struct stat;
int copy_looks(int from, int to, const struct stat *st);

#endif
