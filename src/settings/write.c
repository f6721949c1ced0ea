/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Writes files under another name and renames them, so that readers see the old or the new file. */

#include "settings/write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/own.h"

int settings_make_folders(const char *path, struct bk_err *err)
{
    char folder[PATH_MAX];
    if (strlen(path) >= sizeof(folder))
        return err_set(err, BK_E_INPUT, "the path is too long");
    memcpy(folder, path, strlen(path) + 1);
    for (char *at = folder + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        if (mkdir(folder, 0700) < 0 && errno != EEXIST && access(folder, F_OK) < 0)
            return err_sys(err, "cannot create %s", folder);
        *at = '/';
    }
    return 0;
}

static int replace(const char *path, const char *other, const struct buf *text, mode_t mode,
                   struct bk_err *err)
{
    struct stat old;
    OWN(fd) int fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return err_sys(err, "cannot write %s", other);
    if (stat(path, &old) == 0)
        fchmod(fd, old.st_mode & 0777);
    if (fd_write_all(fd, text->s, text->n) == 0 && fsync(fd) == 0 && rename(other, path) == 0)
        return 0;
    err_sys(err, "cannot write %s", path);
    unlink(other);
    return -1;
}

int settings_write_file(const char *path, const struct buf *text, mode_t mode, struct bk_err *err)
{
    char real[PATH_MAX], other[PATH_MAX + 32];
    if (!buf_ok(text))
        return err_nomem(err);
    if (settings_make_folders(path, err) < 0)
        return -1;
    if (realpath(path, real))
        path = real;
    snprintf(other, sizeof(other), "%s.%d.new", path, (int)getpid());
    return replace(path, other, text, mode, err);
}
