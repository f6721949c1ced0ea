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
 */
int move_folder(int from, const char *name, int to, const char *as, unsigned flags);

#endif
