/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Folders wait in a list instead of on the stack, as in changes.c. A copy remembers in an attribute
 * which inode and ctime the file had that it was made of, so the next snapshot need not read it
 * again. A file that has changed a moment ago gets no such note: it could change again without
 * another ctime. So the next snapshot compares it with its copy.
 */

#include "world/on-linux/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/copy-bytes.h"
#include "base/own.h"
#include "world/on-linux/conflicts.h"
#include "world/on-linux/copy.h"
#include "world/on-linux/journal.h"
#include "world/on-linux/upper.h"

static const size_t MEMORY_MOST = (size_t)1 << 30;
enum { NOTE = 96, FOLDERS_FIRST = 256, RACY_NS = 20 * 1000 * 1000 };

/* As the overlay's own attributes: never kept, and hidden in its mounts. */
static const char *note_name(void)
{
    return geteuid() == 0 ? "trusted.overlay.buckle-copy-of" : "user.overlay.buckle-copy-of";
}

struct linked_file {
    uint64_t ino;
    const char *path; /* NULL: the slot is free */
};

struct snapshot {
    int from, to, earlier; /* the tops */
    bool *differs;
    bool frozen; /* second names will do */
    struct arena arena;
    const char **folders; /* all that were found, each before those in it */
    size_t n, cap;
    struct linked_file *linked; /* files with several names, by inode number: a hash table */
    size_t nlinked, linked_cap;
    struct timespec racy; /* later ones may still change unnoticed */
};

/* One folder on all sides. */
struct sides_of {
    const char *path;
    int from, to, earlier;
};

/* ---- files ---- */

static void write_note(const struct stat *st, char out[NOTE])
{
    snprintf(out, NOTE, "%llu %lld.%09ld %lld", (unsigned long long)st->st_ino,
             (long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec, (long long)st->st_size);
}

static bool is_racy(const struct snapshot *s, const struct stat *st)
{
    return st->st_ctim.tv_sec != s->racy.tv_sec ? st->st_ctim.tv_sec > s->racy.tv_sec
                                                : st->st_ctim.tv_nsec >= s->racy.tv_nsec;
}

static bool same_times(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_look(const struct stat *a, const struct stat *b)
{
    return a->st_mode == b->st_mode && a->st_uid == b->st_uid && a->st_gid == b->st_gid &&
           same_times(&a->st_mtim, &b->st_mtim);
}

static bool is_copy_of(int earlier, const char *name, const struct stat *st)
{
    char path[40], note[NOTE], wanted[NOTE];
    OWN(fd) int fd = openat(earlier, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ssize_t n = getxattr(path, note_name(), note, sizeof(note) - 1);
    if (n < 0)
        return false;
    note[n] = '\0';
    write_note(st, wanted);
    return strcmp(note, wanted) == 0;
}

static struct linked_file *find_slot(struct linked_file *at, size_t cap, uint64_t ino)
{
    size_t i = (size_t)(ino * 0x9E3779B97F4A7C15ULL >> 16) & (cap - 1);
    while (at[i].path && at[i].ino != ino)
        i = (i + 1) & (cap - 1);
    return &at[i];
}

static int make_room(struct snapshot *s)
{
    if (s->nlinked * 2 < s->linked_cap)
        return 0;
    size_t cap = s->linked_cap ? s->linked_cap * 2 : FOLDERS_FIRST;
    struct linked_file *more = calloc(cap, sizeof(*more));
    if (!more)
        return -ENOMEM;
    for (size_t i = 0; i < s->linked_cap; i++)
        if (s->linked[i].path)
            *find_slot(more, cap, s->linked[i].ino) = s->linked[i];
    free(s->linked);
    s->linked = more;
    s->linked_cap = cap;
    return 0;
}

/* Another name that was copied already; *path: NULL if this is the first. */
static int find_linked(struct snapshot *s, uint64_t ino, const char *own, const char **path)
{
    int err = make_room(s);
    if (err < 0)
        return err;
    struct linked_file *slot = find_slot(s->linked, s->linked_cap, ino);
    *path = slot->path;
    s->nlinked += !slot->path;
    if (!slot->path)
        *slot = (struct linked_file){ino, own};
    return 0;
}

static int link_to(const struct snapshot *s, const char *path, int above, const char *name)
{
    const char *last;
    OWN(fd) int folder = beneath_above(s->to, path, &last);
    if (folder < 0)
        return folder;
    return linkat(folder, last, above, name, 0) < 0 ? -errno : 0;
}

static int copy_content(const struct snapshot *s, int from, int to, const struct stat *st)
{
    char note[NOTE];
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    int err = copy_bytes(from, to, st->st_size);
    err = err < 0 ? err : xattrs_copy_all(from, to);
    if (err < 0)
        return err;
    write_note(st, note);
    if (is_racy(s, st))
        (void)fremovexattr(to, note_name()); /* a copy's, or one that a command has forged */
    else
        (void)fsetxattr(to, note_name(), note, strlen(note), 0);
    if (fchown(to, st->st_uid, st->st_gid) < 0 && errno != EPERM)
        return -errno;
    return fchmod(to, st->st_mode & 07777) < 0 || futimens(to, times) < 0 ? -errno : 0;
}

/* For a copy without a note. */
static bool same_as_copy(const struct sides_of *f, const char *name, int from,
                         const struct stat *st)
{
    struct stat was;
    OWN(fd) int copy = openat(f->earlier, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    return copy >= 0 && fstat(copy, &was) == 0 && S_ISREG(was.st_mode) && same_look(st, &was) &&
           st->st_size == was.st_size && xattrs_equal(from, copy) && same_bytes(from, copy);
}

static int copy_file(struct snapshot *s, const struct sides_of *f, const char *name,
                     const char *path)
{
    struct stat st;
    const char *other = NULL;
    if (s->frozen && linkat(f->from, name, f->to, name, 0) == 0)
        return 0;
    OWN(fd) int from = openat(f->from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (from < 0 && errno == EACCES) /* a second name will have to do: nobody reads it */
        return linkat(f->from, name, f->to, name, 0) < 0 ? -errno : 0;
    if (from < 0 || fstat(from, &st) < 0)
        return errno == ENOENT ? 0 : -errno; /* it has just gone */
    if (!S_ISREG(st.st_mode))
        return 0;
    int err = st.st_nlink > 1 ? find_linked(s, st.st_ino, path, &other) : 0;
    if (err < 0)
        return err;
    if (other && link_to(s, other, f->to, name) == 0)
        return 0;
    if (f->earlier >= 0 && is_copy_of(f->earlier, name, &st) &&
        linkat(f->earlier, name, f->to, name, 0) == 0)
        return 0;
    *s->differs = *s->differs || f->earlier < 0 || !same_as_copy(f, name, from, &st);
    OWN(fd) int to = openat(f->to, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return to < 0 ? -errno : copy_content(s, from, to, &st);
}

static bool same_link(const struct sides_of *f, const char *name)
{
    char a[PATH_MAX], b[PATH_MAX];
    ssize_t n = readlinkat(f->from, name, a, sizeof(a));
    return f->earlier >= 0 && n >= 0 && readlinkat(f->earlier, name, b, sizeof(b)) == n &&
           memcmp(a, b, (size_t)n) == 0;
}

/* ---- entries ---- */

static const char *join(struct snapshot *s, const char *folder, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", name);
    return n >= PATH_MAX - 64 ? NULL : arena_strndup(&s->arena, path, (size_t)n);
}

static int add_folder(struct snapshot *s, const char *path)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : FOLDERS_FIRST;
        const char **more = realloc(s->folders, cap * sizeof(*more));
        if (!more)
            return -ENOMEM;
        s->folders = more;
        s->cap = cap;
    }
    s->folders[s->n++] = path;
    return 0;
}

static int copy_entry(struct snapshot *s, const struct sides_of *f, const char *name)
{
    struct stat st, was;
    if (fstatat(f->from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    const char *path = join(s, f->path, name);
    if (!path)
        return s->arena.used >= MEMORY_MOST - PATH_MAX ? -ENOMEM : 0;
    bool known = f->earlier >= 0 && fstatat(f->earlier, name, &was, AT_SYMLINK_NOFOLLOW) == 0 &&
                 (was.st_mode & S_IFMT) == (st.st_mode & S_IFMT);
    *s->differs |= !known;
    switch (st.st_mode & S_IFMT) {
    case S_IFDIR:
        *s->differs |= known && (!same_look(&st, &was));
        return mkdirat(f->to, name, 0700) < 0 ? -errno : add_folder(s, path);
    case S_IFREG:
        return copy_file(s, f, name, path);
    case S_IFLNK:
        *s->differs |= !same_link(f, name);
        return copy_symlink(f->from, name, f->to, name);
    case S_IFCHR: /* a removed name: no command can make another device */
        return mknodat(f->to, name, S_IFCHR, makedev(0, 0)) < 0 ? -errno : 0;
    default:
        return 0;
    }
}

static size_t count_entries(int folder)
{
    size_t n = 0;
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    OWN(dir) DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0)
        close(fd);
    while (d && readdir(d))
        n++;
    return n;
}

static int copy_folder(struct snapshot *s, const char *path)
{
    const int how = O_RDONLY | O_DIRECTORY;
    int err = 0, fd = beneath_open(s->from, path, how);
    if (fd == -EACCES || fd == -ENOENT)
        return 0;
    OWN(dir) DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return fd < 0 ? fd : (close(fd), -ENOMEM);
    OWN(fd) int to = beneath_open(s->to, path, how);
    OWN(fd) int earlier = s->earlier < 0 ? -1 : beneath_open(s->earlier, path, how);
    if (to < 0)
        return to;
    const struct sides_of f = {path, fd, to, earlier};
    for (struct dirent *e; err == 0 && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            err = copy_entry(s, &f, e->d_name);
    *s->differs |= earlier >= 0 && count_entries(earlier) != count_entries(to);
    return err;
}

/* Making files in a folder changes its times, and its mode may forbid it: so this comes last. */
static int dress_folder(const struct snapshot *s, const char *path)
{
    struct stat st;
    OWN(fd) int from = beneath_open(s->from, path, O_PATH | O_DIRECTORY);
    OWN(fd) int to = beneath_open(s->to, path, O_RDONLY | O_DIRECTORY);
    if (from == -ENOENT)
        return 0;
    if (from < 0 || to < 0)
        return from < 0 ? from : to;
    if (fstat(from, &st) < 0)
        return -errno;
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    int err = xattrs_copy_all(from, to);
    if (err < 0)
        return err;
    if (fchown(to, st.st_uid, st.st_gid) < 0 && errno != EPERM)
        return -errno;
    return fchmod(to, st.st_mode & 07777) < 0 || futimens(to, times) < 0 ? -errno : 0;
}

/* ---- all of it ---- */

static int copy_all(struct snapshot *s)
{
    int err = add_folder(s, "");
    for (size_t i = 0; i < s->n && err == 0; i++)
        err = copy_folder(s, s->folders[i]);
    for (size_t i = s->n; i-- > 0 && err == 0;)
        err = dress_folder(s, s->folders[i]);
    return err;
}

static int snapshot(int from, int above, const char *name, int earlier, bool frozen, bool *differs)
{
    if (mkdirat(above, name, 0700) < 0)
        return -errno;
    OWN(fd) int to = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (to < 0)
        return -errno;
    struct snapshot s = {
        .from = from, .to = to, .earlier = earlier, .differs = differs, .frozen = frozen};
    clock_gettime(CLOCK_REALTIME, &s.racy);
    s.racy.tv_nsec -= RACY_NS;
    if (s.racy.tv_nsec < 0) {
        s.racy.tv_nsec += 1000000000;
        s.racy.tv_sec--;
    }
    arena_init(&s.arena, MEMORY_MOST);
    int err = copy_all(&s);
    free(s.folders);
    free(s.linked);
    arena_free(&s.arena);
    return err;
}

int snapshot_copy(int from, int above, const char *name, int earlier, bool *differs)
{
    return snapshot(from, above, name, earlier, false, differs);
}

int snapshot_link(int from, int above, const char *name)
{
    bool differs = false;
    return snapshot(from, above, name, -1, true, &differs);
}
