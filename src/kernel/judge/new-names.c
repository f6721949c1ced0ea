/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Whatever the command creates under such a name, it could read before: it is empty, or had another
 * name. A file that was denied before keeps its sentry when it moves, and never gets a second name
 * by linking, because the judge finds it on another mount. So nothing is disclosed before the
 * sentry is there; but from then on, what others write there counts.
 */

#include "kernel/judge/new-names.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "kernel/judge/judge.h"

bool new_names_add(struct judge *j, struct new_names *n, const char *path, size_t len, mode_t type)
{
    const struct stat st = {.st_mode = type & S_IFMT};
    bool wanted = j->guarded->bare > 0 && !S_ISLNK(type) && !S_ISSOCK(type) &&
                  guarded_paths_searched(j->guarded, path, len) &&
                  !would_allow(j, OP_FILE_READ_DATA, path, len, &st);
    n->n += wanted;
    return wanted;
}

int new_names_room(struct judge *j, const struct new_names *n)
{
    if (n->n == 0 || n->n <= j->guarded->room)
        return 0;
    int err = guarded_paths_look(j->guarded, "", 0);
    return err < 0 ? err : n->n <= j->guarded->room ? 0 : -ENOSPC;
}

void new_names_made(struct judge *j, const struct new_names *n, const char *path, size_t len)
{
    if (n->n == 0)
        return;
    if (guarded_paths_look(j->guarded, path, len) < 0)
        _exit(1);
    new_names_unmounted(j);
}

/* The sentries' own mounts are no news: reading the table takes long when there are many. Mounts
 * that appear outside are reported by the other table, too. */
void new_names_unmounted(struct judge *j)
{
    if (j->mounts)
        poll(&(struct pollfd){j->mounts->fd, POLLPRI, 0}, 1, 0);
}
