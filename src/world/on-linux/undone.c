/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "world/on-linux/undone.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"
#include "world/on-linux/upper.h"

static const off_t FILE_MOST = 256 << 20;

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool looks_the_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_mode == b->st_mode && a->st_uid == b->st_uid &&
           a->st_gid == b->st_gid && same_time(&a->st_mtim, &b->st_mtim) &&
           (S_ISDIR(a->st_mode) || a->st_size == b->st_size);
}

/* ---- writing ---- */

void undone_note(const struct world *w, const struct ops *ops)
{
    OWN(buf) struct buf text = {0};
    for (size_t i = 0; i < ops->n; i++) {
        struct stat st;
        const struct op *o = &ops->at[i];
        if (!o->seen.st_ino || beneath_stat(w->places[o->place].lower, o->path, &st) < 0 ||
            !looks_the_same(&st, &o->seen))
            continue;
        buf_fmt(&text, "%llu %llu %lld.%09ld\n", (unsigned long long)st.st_dev,
                (unsigned long long)st.st_ino, (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
    }
    if (!text.n || !buf_ok(&text))
        return;
    OWN(fd)
    int fd = openat(w->fd, "undone", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)fd_write_all(fd, text.s, text.n);
}

/* ---- reading ---- */

/* A line that was cut off has no newline, and is none. */
static void take_lines(char *text, struct undone *u)
{
    unsigned long long dev, ino;
    long long seconds;
    long ns;
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
        if (sscanf(line, "%llu %llu %lld.%ld\n", &dev, &ino, &seconds, &ns) == 4)
            u->at[u->n++] = (struct undone_file){dev, ino, {seconds, ns}};
}

static int by_inode(const void *a, const void *b)
{
    const struct undone_file *x = a, *y = b;
    return x->ino != y->ino ? (x->ino < y->ino ? -1 : 1) : 0;
}

void undone_read(const struct world *w, struct undone *u)
{
    struct stat st;
    size_t lines = 0;
    *u = (struct undone){.n = 0};
    OWN(fd) int fd = openat(w->fd, "undone", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > FILE_MOST)
        return;
    OWN(mem) char *text = malloc((size_t)st.st_size + 1);
    ssize_t n = text ? fd_read_all(fd, text, (size_t)st.st_size) : -1;
    if (n <= 0)
        return;
    text[n] = '\0';
    for (const char *c = text; (c = strchr(c, '\n')); c++)
        lines++;
    u->at = calloc(lines + 1, sizeof(*u->at));
    if (u->at)
        take_lines(text, u);
    if (u->n)
        qsort(u->at, u->n, sizeof(*u->at), by_inode);
}

void undone_free(struct undone *u)
{
    free(u->at);
    *u = (struct undone){.n = 0};
}

bool undone_has(const struct undone *u, const struct stat *st)
{
    size_t low = 0, high = u ? u->n : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (u->at[middle].ino < st->st_ino)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; u && i < u->n && u->at[i].ino == st->st_ino; i++)
        if (u->at[i].dev == st->st_dev && same_time(&u->at[i].changed, &st->st_ctim))
            return true;
    return false;
}
