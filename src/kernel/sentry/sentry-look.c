/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Which guarded paths exist: the judge finds out while the sentry makes its file system. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/sentry/sentry-main.h"

/* Folders in which names are looked up, the latest first. Few folders have most of the names, and
 * many do not exist. */
enum { PLACES = 64 };

struct place {
    const char *path;
    size_t len;
    int fd, err; /* O_PATH, or a negative errno */
};

struct places {
    struct place list[PLACES];
    size_t n;
};

/* NULL: there are too many. */
static const struct place *open_place(struct places *p, const char *path, size_t len)
{
    char name[PLAN_SENTRY_PATH];
    for (size_t i = 0; i < p->n; i++)
        if (p->list[i].len == len && memcmp(p->list[i].path, path, len) == 0)
            return &p->list[i];
    if (p->n == PLACES || len >= sizeof(name))
        return NULL;
    memcpy(name, path, len);
    name[len] = '\0';
    int fd = open(len ? name : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct place *new = &p->list[p->n++];
    *new = (struct place){path, len, fd, fd < 0 ? -errno : 0};
    return new;
}

static int find_name(struct places *p, const char *path)
{
    struct stat st;
    const char *slash = strrchr(path, '/');
    const struct place *in = slash ? open_place(p, path, (size_t)(slash - path)) : NULL;
    if (in && in->err < 0)
        return in->err;
    int found = in ? fstatat(in->fd, slash + 1, &st, AT_SYMLINK_NOFOLLOW) : lstat(path, &st);
    return found < 0 ? -errno : 0;
}

/* sentry-watch.c handles a name that is created later. */
void sentries_look(const struct plan *p, struct sentries_there *out)
{
    struct places places;
    places.n = 0;
    for (size_t i = 0; i < p->nsentries; i++) {
        int err = find_name(&places, p->sentries[i].path);
        out->at[i] = err == 0 || !sentry_process_is_nothing(err);
    }
    for (size_t i = 0; i < places.n; i++)
        if (places.list[i].fd >= 0)
            close(places.list[i].fd);
}
