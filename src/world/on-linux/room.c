/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * How much room worlds take. A world is measured when a command in it has ended, and the number is
 * kept beside it: to begin another one, nobody has to walk through all of them.
 */

#include "world/on-linux/room.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"

enum { BLOCK = 512, NUMBER = 32, SEARCH = 0500 };

/* A folder on the way down. Two descriptors are open at most, whatever the depth: going up is
 * opening "..". */
struct level {
    struct level *above;
    struct buf folders; /* names of those in it, each with its zero */
    size_t next;        /* of these names */
    struct stat st;
    mode_t restore; /* its mode while it had to be another; 0: it is as it was */
};

static void add_entry(int folder, const char *name, struct level *l, uint64_t *sum)
{
    struct stat st;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    uint64_t names = S_ISREG(st.st_mode) && st.st_nlink > 1 ? st.st_nlink : 1;
    *sum += (uint64_t)st.st_blocks * BLOCK / names;
    if (S_ISDIR(st.st_mode))
        buf_add(&l->folders, name, strlen(name) + 1);
}

/* Counts what is in a folder. NULL: there is no memory, or it cannot be read. */
static struct level *read_level(int folder, struct level *above, uint64_t *sum)
{
    struct level *l = calloc(1, sizeof(*l));
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    OWN(dir) DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0)
        close(fd);
    for (struct dirent *e; l && d && (e = readdir(d));)
        add_entry(folder, e->d_name, l, sum);
    if (l && d && buf_ok(&l->folders) && fstat(folder, &l->st) == 0) {
        l->above = above;
        return l;
    }
    if (l)
        buf_free(&l->folders);
    free(l);
    return NULL;
}

/* Opens a folder that the command made, even if its mode lets nobody look into it. *restore: the
 * mode to give back, or 0. Nothing is changed by name: a name may lead elsewhere meanwhile. */
static int open_folder(int above, const char *name, mode_t *restore)
{
    char path[48];
    struct stat st;
    OWN(fd) int at = openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    *restore = 0;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
    if (at >= 0 && geteuid() != 0 && fstat(at, &st) == 0 && (st.st_mode & SEARCH) != SEARCH &&
        chmod(path, (st.st_mode & 07777) | SEARCH) == 0)
        *restore = st.st_mode; /* with its type, so never 0 */
    return at < 0 ? -1 : openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static struct level *drop_level(struct level *l)
{
    struct level *above = l->above;
    buf_free(&l->folders);
    free(l);
    return above;
}

/* Drops a level. Returns the one above, and *folder is its descriptor then, or -1 if something was
 * moved meanwhile. */
static struct level *leave(struct level *l, int *folder)
{
    struct stat st;
    struct level *above = l->above;
    OWN(fd) int up = above ? openat(*folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (l->restore)
        (void)fchmod(*folder, l->restore & 07777);
    close(*folder);
    *folder = -1;
    if (above && up >= 0 && fstat(up, &st) == 0 && st.st_ino == above->st.st_ino &&
        st.st_dev == above->st.st_dev)
        *folder = steal_fd(&up);
    return drop_level(l);
}

/* Goes down into the next folder of a level. False: it could not be counted. */
static bool enter(struct level **l, int *folder, uint64_t *sum)
{
    mode_t restore;
    const char *name = (*l)->folders.s + (*l)->next;
    (*l)->next += strlen(name) + 1;
    OWN(fd) int fd = open_folder(*folder, name, &restore);
    struct level *below = fd < 0 ? NULL : read_level(fd, *l, sum);
    if (!below) {
        if (restore && fd >= 0)
            (void)fchmod(fd, restore & 07777);
        return false;
    }
    below->restore = restore;
    close(*folder);
    *folder = steal_fd(&fd);
    *l = below;
    return true;
}

/* What cannot be counted counts as all that there may be. */
static uint64_t measure(int world)
{
    uint64_t sum = 0;
    bool whole = true;
    int folder = openat(world, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct level *l = folder < 0 ? NULL : read_level(folder, NULL, &sum);
    if (!l) {
        if (folder >= 0)
            close(folder);
        return WORLDS_BYTES;
    }
    while (l)
        if (folder >= 0 && l->next < l->folders.n)
            whole = enter(&l, &folder, &sum) && whole;
        else if (folder >= 0)
            l = leave(l, &folder);
        else
            whole = false, l = drop_level(l);
    return whole ? sum : WORLDS_BYTES;
}

void world_measure(const struct world *w)
{
    char text[NUMBER];
    if (w->fd < 0)
        return;
    uint64_t size = measure(w->fd);
    OWN(fd)
    int fd = openat(w->fd, "size", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)size);
    if (fd >= 0)
        (void)fd_write_all(fd, text, (size_t)n);
}

uint64_t room_of(int world)
{
    char text[NUMBER];
    OWN(fd) int fd = openat(world, "size", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_all(fd, text, sizeof(text) - 1);
    if (n < 0)
        return 0;
    text[n] = '\0';
    return strtoull(text, NULL, 10);
}

int room_for_another(struct bk_err *err)
{
    struct world_about *list;
    size_t n = worlds_list(&list);
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += list[i].size < WORLDS_BYTES ? list[i].size : WORLDS_BYTES;
    worlds_free(list, n);
    if (sum < WORLDS_BYTES)
        return 0;
    err_set(err, BK_E_LIMIT,
            "%zu worlds wait, and take %llu MB of %llu: keep, discard or prune some of them", n,
            (unsigned long long)(sum >> 20), (unsigned long long)(WORLDS_BYTES >> 20));
    return -1;
}
