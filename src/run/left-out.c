/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * To change a file, git removes it and makes it again. If its name is protected, the second step is
 * denied and the file is gone. Git's index still lists it, so `git restore` gets it. The index is
 * searched for the name, not parsed: a command may have written anything there, and a wrong answer
 * costs a line in a report.
 */

#include "run/left-out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/own.h"
#include "git/gitdir.h"

enum { INDEX_MAX = 64 << 20, MEMORY = 64 << 10, SHOWN = 8 };

struct finder {
    char top[PATH_MAX]; /* of the working tree that the list is about; "" before the first */
    char *index;        /* its content */
    size_t n, missing;  /* bytes of it; files */
    struct buf list;
};

/* Leaves `index` NULL if there is none. */
static void read_index(struct finder *f)
{
    const char *own, *common;
    char path[PATH_MAX];
    struct bk_err unread;
    struct stat st;
    struct arena arena;
    arena_init(&arena, MEMORY);
    OWN(fd) int fd = -1;
    if (git_folders(&arena, f->top, &own, &common, &unread) == 0 && own &&
        snprintf(path, sizeof(path), "%s/index", own) < PATH_MAX)
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    arena_free(&arena);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > INDEX_MAX)
        return;
    f->index = malloc((size_t)st.st_size + 1);
    ssize_t n = f->index ? read(fd, f->index, (size_t)st.st_size) : -1;
    f->n = n > 0 ? (size_t)n : 0;
}

/* The folder of a missing file; git may have removed that, too. */
static bool find_top(const char *path, char top[PATH_MAX])
{
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof(folder), "%s", path) >= PATH_MAX)
        return false;
    for (char *slash = strrchr(folder, '/'); slash && slash > folder;
         slash = strrchr(folder, '/')) {
        *slash = '\0';
        if (access(folder, F_OK) == 0)
            break;
    }
    git_top(folder, top);
    return top[0];
}

static void look_at(void *arg, const char *path, size_t len)
{
    struct finder *f = arg;
    char top[PATH_MAX];
    struct stat st;
    if (lstat(path, &st) == 0 || errno != ENOENT || !find_top(path, top))
        return;
    if (!f->top[0]) {
        memcpy(f->top, top, sizeof(top));
        read_index(f);
    }
    size_t n = strlen(f->top);
    /* a name ends in NUL there */
    if (strcmp(f->top, top) != 0 || !f->index || len <= n + 1 ||
        !memmem(f->index, f->n, path + n + 1, len - n))
        return;
    if (f->missing++ < SHOWN) {
        buf_chr(&f->list, ' ');
        report_quote(&f->list, path + n + 1, len - n - 1);
    }
}

void run_left_out(const struct report *r, const struct policies *policies, struct buf *out)
{
    struct finder f = {.top = ""};
    report_denied_to_git(r, policies, look_at, &f);
    if (f.missing && buf_ok(&f.list)) {
        buf_fmt(out, "missing from the working tree: %zu file%s; outside, `git -C ", f.missing,
                f.missing == 1 ? "" : "s");
        report_quote(out, f.top, strlen(f.top));
        buf_str(out, " restore");
        buf_add(out, f.list.s, f.list.n);
        buf_fmt(out, "` gets %s\n", f.missing == 1 ? "it" : f.missing > SHOWN ? "these" : "them");
    }
    buf_free(&f.list);
    free(f.index);
}
