/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* What a name in a pinned folder is, with sentries out of the way. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/own.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/resolve.h"

/* A sentry is mounted on the name itself: what is behind it counts. */
static int stat_below_sentry(const struct judge *j, struct pinned *out)
{
    OWN(fd) int fd = guarded_paths_open(j->guarded, out->path, out->path_len);
    out->found = fd >= 0 && fstat(fd, &out->st) == 0;
    return out->found || fd == -ENOENT ? 0 : fd < 0 ? fd : -errno;
}

/* The same for a name that was searched for. */
static int stat_bare(const struct judge *j, struct pinned *out)
{
    ino_t seen = out->st.st_ino;
    OWN(fd) int fd = guarded_paths_open_bare(j->guarded, out->path, out->path_len);
    if (fd < 0 || fstat(fd, &out->st) < 0)
        return fd < 0 ? fd : -errno;
    out->guarded = true;
    return out->st.st_ino == seen ? 0 : -EPERM;
}

int pin_stat(const struct judge *j, struct pinned *out)
{
    char name[256 + 1];
    if (guarded_paths_covers(j->guarded, out->path, out->path_len))
        return stat_below_sentry(j, out);
    size_t n = strlen(out->name);
    while (n > 1 && out->name[n - 1] == '/')
        n--;
    if (n >= sizeof(name))
        return -ENAMETOOLONG;
    memcpy(name, out->name, n);
    name[n] = '\0';
    out->found = fstatat(out->parent, name, &out->st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!out->found)
        return errno == ENOENT ? 0 : -errno;
    return j->guarded->bare > 0 && out->st.st_dev == j->guarded->dev ? stat_bare(j, out) : 0;
}
