/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Where core files go (core(5)). */

#include "kernel/launch/core-files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/own.h"

/* The folder in the kernel's pattern. Returns false if the pattern has no fixed folder. */
static bool find_folder(char folder[256])
{
    OWN(fd) int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, folder, 255);
    folder[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (folder[0] != '/' || slash == folder)
        return false;
    *slash = '\0';
    return !strchr(folder, '%');
}

static bool contains(const char *folder, const char *path)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

int core_files_redirect(const char *tmpdir, const char *cwd)
{
    char folder[256];
    /* other processes keep working there */
    if (!find_folder(folder) || contains(folder, tmpdir) || contains(folder, cwd) ||
        contains(folder, "/tmp") || contains(folder, "/var/tmp"))
        return 0;
    if (mount(tmpdir, folder, NULL, MS_BIND, NULL) < 0 && errno != ENOENT && errno != ENOTDIR)
        return -errno;
    return 0;
}
