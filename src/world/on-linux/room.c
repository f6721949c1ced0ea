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

#include "base/fd.h"
#include "base/own.h"

enum { DEPTH_MOST = 256, BLOCK = 512, NUMBER = 32 };

static uint64_t measure(int above, const char *name, int depth)
{
    struct stat st;
    uint64_t sum = 0;
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    OWN(dir) DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0)
        close(fd);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        uint64_t names = S_ISREG(st.st_mode) && st.st_nlink > 1 ? st.st_nlink : 1;
        sum += (uint64_t)st.st_blocks * BLOCK / names;
        if (S_ISDIR(st.st_mode) && depth < DEPTH_MOST)
            sum += measure(dirfd(d), e->d_name, depth + 1);
    }
    return sum;
}

void world_measure(const struct world *w)
{
    char text[NUMBER];
    if (w->fd < 0)
        return;
    uint64_t size = measure(w->fd, ".", 0);
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
