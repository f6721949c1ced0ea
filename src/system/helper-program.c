/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Our other programs are beside this one (../libexec/buckle). For programs that link the library
 * they are in the library's own folder, as in a wheel, or where Buckle was installed. A file that
 * another user could have put there is not started.
 */

#include "system/helper-program.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "system/process.h"

static int open_program(const char *path)
{
    struct stat st;
    OWN(fd) int fd = helper_program_open_path(path);
    bool ours = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & (S_IWGRP | S_IWOTH));
    return ours ? steal_fd(&fd) : -1;
}

bool helper_program_is_ours(const char *path)
{
    OWN(fd) int fd = open_program(path);
    return fd >= 0;
}

/* What has this path from the folder of a file, which is named by its full path. */
static int open_beside(const char *file, const char *below)
{
    char path[PATH_MAX];
    const char *slash = file[0] == '/' ? strrchr(file, '/') : NULL;
    if (!slash)
        return -1;
    int n = snprintf(path, sizeof(path), "%.*s%s", (int)(slash + 1 - file), file, below);
    return n < (int)sizeof(path) ? open_program(path) : -1;
}

int helper_program_open(const char *name)
{
    char own[PATH_MAX], below[NAME_MAX], installed[PATH_MAX];
    Dl_info library;
    int fd = -1;
    snprintf(below, sizeof(below), "../libexec/buckle/%s", name);
    snprintf(installed, sizeof(installed), "%s/%s", BK_LIBEXEC, name);
    if (process_own_path(own) == 0)
        fd = open_beside(own, below);
    if (fd < 0 && dladdr(BK_LIBEXEC, &library) && library.dli_fname)
        fd = open_beside(library.dli_fname, name);
    return fd >= 0 ? fd : open_program(installed);
}
