/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GIT_POINTER_H
#define BK_GIT_POINTER_H

#include <stdbool.h>
#include <stddef.h>

/* Files that say where part of a repository is, with one path each. */
enum git_pointer {
    GIT_POINTER_DOTGIT,    /* .git of a linked working tree or a submodule: "gitdir: PATH" */
    GIT_POINTER_GITDIR,    /* worktrees/NAME/gitdir: the .git file that points here */
    GIT_POINTER_COMMONDIR, /* worktrees/NAME/commondir: the main repository */
};

/*
 * The path that a pointer file in folder has, normalised and absolute (path.h says how). True only
 * for exactly what git writes: one line, ended by one newline, without control characters. Whether
 * there are links on the way is for the caller to find out. False leaves out alone.
 */
bool git_pointer_read(const char *text, size_t n, enum git_pointer kind, const char *folder,
                      char *out, size_t out_size);

#endif
