/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * An overlay copies a file under one name only, so the others would keep the old content. Its copy
 * also has another inode number as soon as it gets a second name. So the judge copies such a file
 * itself, under all names that it has in the place: the copy takes the place of the first name at
 * once, and the others become links to it.
 *
 * Nobody knows a file's names. When the first such file of a place is changed, the real folder is
 * searched for all of them. A name counts only as long as it still shows the file from below.
 */

#include "kernel/judge/link-set.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/copy-bytes.h"
#include "base/own.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/move-folder.h"
#include "kernel/judge/resolve.h"
#include "kernel/launch/layers.h"

enum { NAMES_MOST = 500000, DEPTH_MOST = 100, TEMP_NAME = 40 };
static const off_t BYTES_MOST = (off_t)512 << 20; /* other judged calls wait meanwhile */

/* ---- the names of a place ---- */

struct link_name {
    uint64_t ino;
    size_t path; /* from the place, in link_index.paths */
};

struct link_index {
    struct link_name *at; /* sorted by inode number */
    size_t n, cap, seen;
    struct buf paths;
    dev_t dev;
};

static void add_name(struct link_index *x, uint64_t ino, const char *path)
{
    if (x->n == x->cap) {
        size_t cap = x->cap ? x->cap * 2 : 256;
        struct link_name *more = realloc(x->at, cap * sizeof(*more));
        if (!more)
            return;
        x->at = more;
        x->cap = cap;
    }
    size_t at = x->paths.n;
    buf_add(&x->paths, path, strlen(path) + 1);
    if (buf_ok(&x->paths))
        x->at[x->n++] = (struct link_name){ino, at};
}

/* path: of the folder, with room for PATH_BYTES; n: its length. */
static void search(struct link_index *x, int folder, char *path, size_t n, int depth)
{
    struct stat st;
    OWN(dir) DIR *d = fdopendir(folder);
    if (!d) {
        close(folder);
        return;
    }
    for (struct dirent *e; x->seen < NAMES_MOST && (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        bool dots = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
        if (dots || n + len + 2 > PATH_BYTES ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != x->dev)
            continue;
        x->seen++;
        snprintf(path + n, PATH_BYTES - n, "%s%s", n ? "/" : "", e->d_name);
        if (S_ISREG(st.st_mode) && st.st_nlink > 1)
            add_name(x, st.st_ino, path);
        int in = S_ISDIR(st.st_mode) && depth < DEPTH_MOST
                     ? openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                     : -1;
        if (in >= 0)
            search(x, in, path, n + (n > 0) + len, depth + 1);
        path[n] = '\0';
    }
}

static int by_ino(const void *a, const void *b)
{
    const struct link_name *x = a, *y = b;
    return (x->ino > y->ino) - (x->ino < y->ino);
}

static const struct link_index *index_of(struct judge *j, const struct layer *l)
{
    static char path[PATH_BYTES]; /* one thread performs calls */
    struct stat st;
    size_t number = (size_t)(l - j->layers->at);
    if (number >= LINK_PLACES || j->links.of[number])
        return number < LINK_PLACES ? j->links.of[number] : NULL;
    struct link_index *x = calloc(1, sizeof(*x));
    int top = x ? openat(l->below, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (top < 0 || fstat(top, &st) < 0) {
        free(x);
        return NULL;
    }
    x->dev = st.st_dev;
    path[0] = '\0';
    search(x, top, path, 0, 0);
    if (x->n)
        qsort(x->at, x->n, sizeof(*x->at), by_ino);
    j->links.of[number] = x;
    return x;
}

/* ---- one name ---- */

/* A name in the place: its folder, as the command sees it. */
struct name_at {
    int folder;
    const char *name;
    struct stat was; /* the folder */
};

static void name_close(struct name_at *n)
{
    if (n->folder >= 0)
        close(n->folder);
}
#define OWN_name name_close

static int open_name(const char *path, struct name_at *out)
{
    char folder[PATH_BYTES];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    out->folder = -1;
    if (n == 0 || n >= sizeof(folder))
        return -ENOENT;
    memcpy(folder, path, n);
    folder[n] = '\0';
    out->name = slash + 1;
    out->folder = (int)syscall(SYS_openat2, AT_FDCWD, folder, &how, sizeof(how));
    return out->folder < 0 || fstat(out->folder, &out->was) < 0 ? -errno : 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_nlink == b->st_nlink &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Whether the command sees the real file there. With other file systems inode numbers differ, but
 * a copy has another ctime. */
static bool shows_real(const struct layer *l, const char *from_place, const struct stat *seen,
                       struct stat *real)
{
    return S_ISREG(seen->st_mode) &&
           fstatat(l->below, from_place, real, AT_SYMLINK_NOFOLLOW) == 0 && same_file(seen, real);
}

/* Gives a file made beside it the name. The folder keeps its times, as it does when an overlay
 * copies. */
static int put_name(const struct name_at *n, const char *temp)
{
    const struct timespec times[2] = {n->was.st_atim, n->was.st_mtim};
    if (renameat(n->folder, temp, n->folder, n->name) < 0) {
        int err = -errno;
        unlinkat(n->folder, temp, 0);
        return err;
    }
    syscall(SYS_utimensat, n->folder, "", times, AT_EMPTY_PATH);
    return 0;
}

static void name_temp(char out[TEMP_NAME])
{
    static unsigned number;
    snprintf(out, TEMP_NAME, ".buckle-copying-%d-%u", (int)getpid(), ++number);
}

/* ---- the set ---- */

static bool still_shows(const struct name_at *n, const struct stat *seen)
{
    struct stat st;
    return fstatat(n->folder, n->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && same_file(&st, seen);
}

/* Copies the file for its first name. */
static int copy_first(const struct name_at *n, const struct stat *seen)
{
    char temp[TEMP_NAME];
    struct stat st;
    name_temp(temp);
    OWN(fd) int from = openat(n->folder, n->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (from < 0 || fstat(from, &st) < 0 || !same_file(&st, seen))
        return -ESTALE;
    OWN(fd)
    int to = openat(n->folder, temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return -errno;
    int err = copy_bytes(from, to, st.st_size);
    err = err < 0 ? err : copy_looks(from, to, seen);
    /* an owner that cannot be given stays the real one's */
    if (err == 0 && (fstat(to, &st) < 0 || st.st_uid != seen->st_uid || st.st_gid != seen->st_gid))
        err = -EPERM;
    /* another run of the session may have changed it meanwhile */
    if (err == 0 && !still_shows(n, seen))
        err = -ESTALE;
    if (err < 0) {
        unlinkat(n->folder, temp, 0);
        return err;
    }
    return put_name(n, temp);
}

/* Makes another name of the real file one of the copy's. */
static void link_other(struct judge *j, const struct layer *l, const struct name_at *first,
                       const char *from_place)
{
    char path[PATH_BYTES * 2], temp[TEMP_NAME];
    struct stat seen, real;
    OWN(name) struct name_at n = {.folder = -1};
    snprintf(path, sizeof(path), "%s/%s", l->plan->path, from_place);
    if (strlen(path) >= PATH_BYTES || open_name(path, &n) < 0 ||
        fstatat(n.folder, n.name, &seen, AT_SYMLINK_NOFOLLOW) < 0 ||
        !shows_real(l, from_place, &seen, &real) ||
        !would_allow(j, OP_FILE_WRITE_DATA, path, strlen(path), &seen))
        return;
    name_temp(temp);
    if (linkat(first->folder, first->name, n.folder, temp, 0) == 0)
        put_name(&n, temp);
}

static void link_others(struct judge *j, const struct layer *l, const struct name_at *first,
                        const char *from_place, uint64_t ino)
{
    const struct link_index *x = index_of(j, l);
    const struct link_name key = {.ino = ino};
    const struct link_name *found =
        x && x->n ? bsearch(&key, x->at, x->n, sizeof(key), by_ino) : NULL;
    if (!found)
        return;
    while (found > x->at && found[-1].ino == ino)
        found--;
    for (; found < x->at + x->n && found->ino == ino; found++)
        if (strcmp(x->paths.s + found->path, from_place) != 0)
            link_other(j, l, first, x->paths.s + found->path);
}

static void pin_again(struct pinned *p, const struct name_at *n)
{
    struct stat st;
    OWN(fd) int fd = openat(n->folder, n->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return;
    p->st = st;
    if (p->fd < 0)
        return;
    close(p->fd);
    p->fd = steal_fd(&fd);
}

void link_set_copy(struct judge *j, struct pinned *p, bool linking)
{
    struct stat real;
    OWN(name) struct name_at first = {.folder = -1};
    if (!j->layers || (p->st.st_nlink < 2 && !linking) || !S_ISREG(p->st.st_mode) || p->guarded ||
        p->st.st_nlink == 0 || p->st.st_size > BYTES_MOST)
        return;
    const struct layer *l = layers_world_at(j->layers, p->path, p->path_len, &p->st);
    const char *from_place = l ? p->path + l->plan->len + 1 : NULL;
    if (!l || !shows_real(l, from_place, &p->st, &real))
        return;
    /* known first, as long as the search sees what there was */
    if (real.st_nlink > 1)
        index_of(j, l);
    if (open_name(p->path, &first) < 0 || copy_first(&first, &p->st) < 0)
        return;
    if (real.st_nlink > 1)
        link_others(j, l, &first, from_place, real.st_ino);
    pin_again(p, &first);
}

void link_set_copy_at(void *arg, int folder, const char *name)
{
    struct judge *j = arg;
    char link[32], path[PATH_BYTES * 2];
    struct pinned p = {.fd = -1, .parent = -1, .found = true, .path = path};
    snprintf(link, sizeof(link), "self/fd/%d", folder);
    ssize_t n = readlinkat(j->proc, link, path, PATH_BYTES);
    if (n <= 0 || n == PATH_BYTES || fstatat(folder, name, &p.st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    p.path_len = (size_t)n + (size_t)snprintf(path + n, sizeof(path) - (size_t)n, "/%s", name);
    if (p.path_len < PATH_BYTES)
        link_set_copy(j, &p, false);
}

bool link_set_is_gits(const struct judge *j, const struct request *r, const struct pinned *old)
{
    char name[32], program[PATH_BYTES];
    struct stat real;
    const struct layer *l = j->layers && old->found
                                ? layers_world_at(j->layers, old->path, old->path_len, &old->st)
                                : NULL;
    if (!l || !shows_real(l, old->path + l->plan->len + 1, &old->st, &real))
        return false;
    snprintf(name, sizeof(name), "%d/exe", r->tid);
    ssize_t n = readlinkat(j->proc, name, program, sizeof(program) - 1);
    return n >= 4 && memcmp(program + n - 4, "/git", 4) == 0;
}
