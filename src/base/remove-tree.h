/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_REMOVE_TREE_H
#define BK_BASE_REMOVE_TREE_H

/* Removes `name` in a folder (a descriptor) with everything in it, as far as that is possible.
 * Follows no symlink and leaves no file system, whatever other processes do there meanwhile. How
 * deep the tree is does not matter. */
void remove_tree_at(int folder, const char *name);
/* The same for an absolute path, whose last part is removed. */
void remove_tree(const char *path);

#endif
