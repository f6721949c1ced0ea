/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * As an overlay looks names up: the topmost layer that has a name shows it. A folder shows what is
 * in the same folder of the layers below it as well, unless it is opaque, or a layer between has
 * something else there.
 */

#include "world/on-linux/old-side.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "world/on-linux/upper.h"

void old_close(struct old_side *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->fds[i] >= 0)
            close(o->fds[i]);
    o->n = 0;
}

/* One step down. */
static int enter(struct old_side *o, const char *name)
{
    struct old_side next = {.n = 0};
    struct stat st;
    for (size_t i = 0; i < o->n; i++) {
        if (fstatat(o->fds[i], name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (!S_ISDIR(st.st_mode))
            break;
        int fd = openat(o->fds[i], name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) {
            int err = -errno;
            old_close(&next);
            return err;
        }
        next.fds[next.n++] = fd;
        if (upper_is_opaque(fd))
            break;
    }
    old_close(o);
    *o = next;
    return o->n ? 0 : -ENOENT;
}

static int open_tops(const struct world_place *p, struct old_side *out)
{
    for (size_t i = 0; i <= p->nbelow; i++) {
        int from = i < p->nbelow ? p->below[i] : p->lower;
        int fd = from < 0 ? -1 : openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            return from < 0 ? -ENOENT : -errno;
        out->fds[out->n++] = fd;
    }
    return 0;
}

static int open_all(const struct world_place *p, const char *path, struct old_side *out)
{
    char name[NAME_MAX + 1];
    int err = open_tops(p, out);
    while (err == 0 && *path) {
        size_t n = strcspn(path, "/");
        if (n > NAME_MAX)
            return -ENAMETOOLONG;
        memcpy(name, path, n);
        name[n] = '\0';
        err = enter(out, name);
        path += n + (path[n] == '/');
    }
    return err;
}

int old_open(const struct world_place *p, const char *path, struct old_side *out)
{
    *out = (struct old_side){.n = 0};
    if (p->nbelow == 0) {
        int fd = beneath_open(p->lower, path, O_RDONLY | O_DIRECTORY);
        if (fd < 0)
            return fd;
        out->fds[out->n++] = fd;
        return 0;
    }
    int err = open_all(p, path, out);
    if (err < 0)
        old_close(out);
    return err;
}

int old_find(const struct old_side *o, const char *name, struct stat *st)
{
    for (size_t i = 0; i < o->n; i++)
        if (fstatat(o->fds[i], name, st, AT_SYMLINK_NOFOLLOW) == 0)
            return upper_is_whiteout(o->fds[i], name, st) ? -1 : (int)i;
    return -1;
}

int old_above(const struct world_place *p, const char *path, const char **name)
{
    char above[PATH_MAX];
    struct stat st;
    if (p->nbelow == 0)
        return beneath_above(p->lower, path, name);
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (n >= sizeof(above))
        return -ENAMETOOLONG;
    memcpy(above, path, n);
    above[n] = '\0';
    *name = slash ? slash + 1 : path;
    OWN(old_side) struct old_side o;
    int err = old_open(p, above, &o);
    int found = err < 0 ? -1 : old_find(&o, *name, &st);
    if (found < 0)
        return err < 0 ? err : -ENOENT;
    return steal_fd(&o.fds[found]);
}
