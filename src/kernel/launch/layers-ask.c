/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What the judge asks about layers: whether a path is in one, and what is there below it. Nothing
 * here mounts anything.
 */

#include "kernel/launch/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/own.h"
#include "base/path.h"

bool layers_is_back(const struct layer *l, const char *path, size_t len)
{
    for (size_t i = 0; i < l->nback; i++)
        if (path_is_at_or_below(path, len, l->back[i], l->back_len[i]))
            return true;
    return false;
}

/* An inherited file below the layer has the same path as one in it, but another device. All devices
 * of an overlay and of memory have no major number. */
static bool is_in(const struct layer *l, const char *path, size_t len, const struct stat *st)
{
    if (!path_is_below(path, len, l->plan->path, l->plan->len) || layers_is_back(l, path, len))
        return false;
    for (size_t i = l->plan->nopened; i < l->plan->nreal; i++)
        if (path_is_at_or_below(path, len, l->plan->real[i], strlen(l->plan->real[i])))
            return false;
    return !st || (major(st->st_dev) == 0 && st->st_dev != l->lower);
}

const char *layers_cover(const struct layers *l, const char *path, size_t len,
                         const struct stat *st)
{
    for (size_t i = 0; i < l->n; i++)
        if (!l->at[i].plan->shown && is_in(&l->at[i], path, len, st))
            return plan_layer_extensions[l->at[i].plan->kind];
    return NULL;
}

const struct layer *layers_world_at(const struct layers *l, const char *path, size_t len,
                                    const struct stat *st)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->at[i].plan->kind == LAYER_TRY && is_in(&l->at[i], path, len, st))
            return &l->at[i];
    return NULL;
}

bool layers_same(const struct layers *l, const char *one, size_t n, const char *other, size_t m)
{
    for (size_t i = 0; i < l->n; i++)
        if (!l->at[i].plan->shown && is_in(&l->at[i], one, n, NULL))
            return is_in(&l->at[i], other, m, NULL);
    return false;
}

void layers_note_move(const struct layers *l, const char *from, const char *to)
{
    char line[4 * PATH_MAX + 4], *at = line, *end = line + sizeof(line);
    if (l->moves <= 0)
        return;
    for (; *from && end - at > 8; from++)
        at += snprintf(at, 3, "%02x", (unsigned char)*from);
    *at++ = ' ';
    for (; *to && end - at > 4; to++)
        at += snprintf(at, 3, "%02x", (unsigned char)*to);
    *at++ = '\n';
    (void)!write(l->moves, line, (size_t)(at - line)); /* at worst it shows as two changes */
}

bool layers_has_bound(const struct layers *l, const char *path, size_t len, int fd)
{
    struct stat st, below;
    if (!l->session || fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))
        return false;
    for (size_t i = 0; i < l->n; i++) {
        const struct layer *one = &l->at[i];
        if (one->shared && is_in(one, path, len, &st))
            return fstatat(one->below, path + one->plan->len + 1, &below, AT_SYMLINK_NOFOLLOW) <
                       0 &&
                   errno == ENOENT;
    }
    return false;
}

int layers_open_socket(const struct layers *l, const char *path, size_t len)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
                           .resolve =
                               RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    struct stat st;
    for (size_t i = 0; i < l->n; i++) {
        const struct layer *one = &l->at[i];
        if (!path_is_below(path, len, one->plan->path, one->plan->len) ||
            layers_is_back(one, path, len))
            continue;
        OWN(fd)
        int fd =
            (int)syscall(SYS_openat2, one->below, path + one->plan->len + 1, &how, sizeof(how));
        return fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) ? steal_fd(&fd) : -1;
    }
    return -1;
}
