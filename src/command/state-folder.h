/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_COMMAND_STATE_FOLDER_H
#define BK_COMMAND_STATE_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* Buckle's folder of state: $XDG_STATE_HOME/buckle or ~/.local/state/buckle. No policy lets a
 * command write there (run/own-rules.h). */

/* The path of a name in it. Returns false if there is no such path. */
bool state_path(char path[PATH_MAX], const char *name);

/* Creates what is missing at the end of a path, at most so many folders, below one of the user's
 * only: root must not leave folders in somebody else's home, and nobody a home. Returns whether the
 * folder is there and can be written by the user alone. */
enum { STATE_FOLDERS = 3 }; /* .local/state/buckle */
bool state_make_folders(const char *path, int most);

/* Whether it is a plain file of the user's, with one name, that nobody else can open. */
bool state_file_is_private(int fd, struct stat *st);

/* A file in a world's folder (world/world.h). */
#define WORLD_UNLISTED "unlisted"

#endif
