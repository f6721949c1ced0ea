/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The tree belongs to a command that may be hostile, and some of its processes may not be dead yet.
 * So no path of more than one name is ever looked up: each folder is opened from the one above it.
 * Folders deeper than the stack are moved to the top, and removed from there.
 */

#include "base/remove-tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"

enum { DEPTH = 32, PASSES = 1 << 16, NAMES = 8 };

struct removal {
    dev_t device;
    int top;
    unsigned moved; /* folders that were too deep, so far */
    struct {
        DIR *stream;
        char name[NAME_MAX + 1]; /* in the folder above it */
    } at[DEPTH];
    size_t n;
};

/* Opens a folder, and opens it up if the command has closed it to its owner. */
static int open_folder(int above, const char *name, dev_t *device)
{
    const int how = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    struct stat st;
    OWN(fd) int fd = openat(above, name, how);
    if (fd < 0 && errno == EACCES && fchmodat(above, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(above, name, how);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if (*device == 0)
        *device = st.st_dev;
    if (st.st_dev != *device)
        return -1;
    if ((st.st_mode & 0700) != 0700)
        fchmod(fd, 0700);
    return steal_fd(&fd);
}

static bool push(struct removal *r, int fd, const char *name)
{
    DIR *stream = fdopendir(fd);
    if (!stream) {
        close(fd);
        return false;
    }
    r->at[r->n].stream = stream;
    snprintf(r->at[r->n++].name, NAME_MAX + 1, "%s", name);
    return true;
}

static void pop(struct removal *r)
{
    closedir(r->at[--r->n].stream);
    if (r->n)
        unlinkat(dirfd(r->at[r->n - 1].stream), r->at[r->n].name, AT_REMOVEDIR);
}

/* A name at the top that is probably free; if it is not, the next one may be. */
static void move_to_top(struct removal *r, int above, const char *name)
{
    char unused[32];
    for (int i = 0; i < NAMES; i++) {
        snprintf(unused, sizeof(unused), ".deep-%d-%u", (int)getpid(), ++r->moved);
        if (renameat(above, name, r->top, unused) == 0 || errno != ENOTEMPTY)
            return;
    }
}

static void remove_entry(struct removal *r, int above, const char *name)
{
    if (unlinkat(above, name, 0) == 0 || errno == ENOENT)
        return;
    if (unlinkat(above, name, AT_REMOVEDIR) == 0)
        return;
    int fd = open_folder(above, name, &r->device);
    if (fd < 0)
        return;
    if (r->n < DEPTH) {
        push(r, fd, name);
        return;
    }
    close(fd);
    move_to_top(r, above, name);
}

/* One pass over everything. */
static void remove_inside(struct removal *r)
{
    int fd = open_folder(r->top, ".", &r->device);
    if (fd < 0 || !push(r, fd, "."))
        return;
    while (r->n) {
        DIR *stream = r->at[r->n - 1].stream;
        const struct dirent *e = readdir(stream);
        if (!e)
            pop(r);
        else if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            remove_entry(r, dirfd(stream), e->d_name);
    }
}

void remove_tree_at(int folder, const char *name)
{
    struct removal r = {.device = 0};
    if (unlinkat(folder, name, AT_REMOVEDIR) == 0) /* most are empty */
        return;
    OWN(fd) int top = open_folder(folder, name, &r.device);
    r.top = top;
    if (top < 0) {
        unlinkat(folder, name, 0);
        return;
    }
    for (int i = 0; i < PASSES; i++) {
        unsigned before = r.moved;
        remove_inside(&r);
        if (unlinkat(folder, name, AT_REMOVEDIR) == 0 || r.moved == before)
            return;
    }
}

void remove_tree(const char *path)
{
    char above[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) >= sizeof(above) - 1)
        return;
    snprintf(above, sizeof(above), "%.*s/", (int)(slash - path), path);
    OWN(fd) int folder = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        remove_tree_at(folder, slash + 1);
}
