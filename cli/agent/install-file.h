/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_INSTALL_FILE_H
#define BK_CLI_AGENT_INSTALL_FILE_H

#include <limits.h>
#include <sys/types.h>

#include "settings/json.h"
#include "settings/lock.h"

/* A file of another program that is about to change: its text before and after. */
struct install_file {
    char path[PATH_MAX];
    struct settings_lock lock;
    struct json_text old; /* s is NULL if the file does not exist */
    mode_t mode;          /* of a new file */
};

/* Opens a file for a change. `inside`: a project's folder that no symlink on the way may leave;
 * NULL for a file of the user's. Refuses files and folders of other users. `dry`: change nothing,
 * not even by a lock. `create`: make missing folders. Close it with install_close() if this
 * succeeded. */
int install_open(struct install_file *f, struct arena *a, const char *path, const char *inside,
                 bool dry, bool create, struct bk_err *err);
/* Writes the new text, or removes the file if it is NULL; with `dry` prints the difference. Returns
 * 1 if nothing changes. */
int install_finish(struct install_file *f, const struct buf *text, bool dry, struct bk_err *err);
void install_close(struct install_file *f);

#endif
