/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Names and attributes. The kernel looks up each component of a path, then asks for attributes,
 * contents or a link's text. A look-up alone shows that something exists and its type. It leaves
 * out all the rest (blank attributes) where neither metadata nor contents may be read, because
 * statx() can accept those.
 *
 * Nothing may be cached, because the judge changes the same files without the kernel's knowledge,
 * and each request must be checked: all times are 0. But stat() is a look-up followed by a request,
 * and the look-up has just answered it. So its attributes of a file that may be read, and that no
 * process has open, are valid for the shortest possible time (a tick or two). Any path walked later
 * is looked up again, and opening ends it.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/sentry/sentry-int.h"

/* ---- attributes ---- */

static void fill_attr(const struct stat *st, struct fuse_attr *a)
{
    unsigned minor_no = minor(st->st_rdev);
    *a = (struct fuse_attr){
        .ino = st->st_ino,
        .size = (uint64_t)st->st_size,
        .blocks = (uint64_t)st->st_blocks,
        .atime = (uint64_t)st->st_atim.tv_sec,
        .mtime = (uint64_t)st->st_mtim.tv_sec,
        .ctime = (uint64_t)st->st_ctim.tv_sec,
        .atimensec = (uint32_t)st->st_atim.tv_nsec,
        .mtimensec = (uint32_t)st->st_mtim.tv_nsec,
        .ctimensec = (uint32_t)st->st_ctim.tv_nsec,
        .mode = st->st_mode,
        .nlink = (uint32_t)st->st_nlink,
        .uid = st->st_uid,
        .gid = st->st_gid,
        .rdev = (minor_no & 0xff) | major(st->st_rdev) << 8 | (minor_no & ~0xffu) << 12,
        .blksize = (uint32_t)st->st_blksize,
    };
}

static void fill_blank(const struct stat *st, struct fuse_attr *a)
{
    *a = (struct fuse_attr){.ino = st->st_ino, .mode = st->st_mode & S_IFMT, .nlink = 1};
}

/* The folder that only contains the guarded paths. */
static const struct stat root_stat = {
    .st_ino = FUSE_ROOT_ID, .st_mode = S_IFDIR | 0555, .st_nlink = 2, .st_blksize = 4096};

/* ---- looking up ---- */

/* How much of the attributes a look-up returns. */
enum lookup { BLANK, KNOWN, ANSWERED };

static int put_entry(struct sentry *s, struct node *n, const struct stat *st, enum lookup what)
{
    struct fuse_entry_out *out = sentry_out(s);
    *out = (struct fuse_entry_out){.nodeid = node_id(&s->nodes, n), .generation = 1};
    if (what == ANSWERED && n->opens == 0 && !S_ISDIR(st->st_mode)) {
        out->attr_valid_nsec = 1;
        n->answered = true;
    }
    if (what == BLANK)
        fill_blank(st, &out->attr);
    else
        fill_attr(st, &out->attr);
    n->lookups++;
    return sizeof(*out);
}

/* Our own file descriptor for a guarded path, which has one of the process's first thread. */
static int open_guarded(struct sentry *s, int number)
{
    char name[32];
    if (number >= s->npaths || s->paths[number] < 0)
        return -ENOENT;
    if (number < s->nfirst && s->first[number] >= 0)
        return steal_fd(&s->first[number]);
    snprintf(name, sizeof(name), "self/fd/%d", s->paths[number]);
    int fd = openat(s->opt.proc, name, O_PATH | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int lookup_guarded(struct sentry *s, const char *name, size_t len)
{
    char *end;
    struct stat st;
    unsigned long number = strtoul(name, &end, 10);
    if (name[0] < '0' || name[0] > '9' || *end || number >= SENTRY_PATHS)
        return -ENOENT;
    pthread_mutex_lock(&s->lock);
    OWN(fd) int fd = open_guarded(s, (int)number);
    int err = fd < 0 ? fd : 0;
    pthread_mutex_unlock(&s->lock);
    if (err == 0 && fstat(fd, &st) < 0)
        err = -errno;
    if (err < 0)
        return err;
    struct node *n = node_find(&s->nodes, FUSE_ROOT_ID, name, len, &st);
    if (!n && !(n = node_add(&s->nodes, FUSE_ROOT_ID, name, len, &st, fd)))
        return -ENFILE;
    if (n->fd == fd)
        steal_fd(&fd);
    return put_entry(s, n, &st, BLANK); /* the mounting thread needs the entry, and nothing else */
}

int sentry_list_guarded(struct sentry *s, uint64_t from, size_t size)
{
    struct fuse_direntplus *list = (void *)s->scratch;
    size_t used = 0;
    for (int i = from < SENTRY_PATHS ? (int)from : SENTRY_PATHS; i < s->nfirst; i++) {
        struct fuse_direntplus *d = (void *)(s->scratch + used);
        char name[16];
        int len = snprintf(name, sizeof(name), "%d", i);
        size_t need = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + (size_t)len);
        if (used + need > size || used + need > sizeof(s->scratch))
            break;
        if (lookup_guarded(s, name, (size_t)len) < 0)
            continue; /* the kernel looks it up, and gets the error */
        memset(d, 0, need);
        memcpy(&d->entry_out, sentry_out(s), sizeof(d->entry_out));
        d->entry_out.entry_valid_nsec = 1;
        d->dirent.ino = d->entry_out.attr.ino;
        d->dirent.off = (uint64_t)i + 1;
        d->dirent.namelen = (uint32_t)len;
        d->dirent.type = d->entry_out.attr.mode >> 12;
        memcpy(d->dirent.name, name, (size_t)len);
        used += need;
    }
    memcpy(sentry_out(s), list, used);
    return (int)used;
}

/* There "self" would be us: the server must not go there for another process. */
static bool is_procfs(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC;
}

/* The node of a name, made if needed, and its current state. */
static int find(struct sentry *s, uint64_t parent, const char *name, size_t len, struct stat *st,
                struct node **out)
{
    const struct node *folder = node_of(&s->nodes, parent);
    dev_t dev = folder->dev;
    int at = folder->fd;
    if (node_is_known(&s->nodes, parent, name, len)) {
        if (fstatat(at, name, st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
            return -errno;
        *out = node_find(&s->nodes, parent, name, len, st);
        if (*out)
            return 0;
    }
    OWN(fd) int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, st) < 0)
        return -errno;
    if (st->st_dev != dev && is_procfs(fd))
        return -EPERM;
    *out = node_find(&s->nodes, parent, name, len, st);
    if (*out)
        return 0;
    *out = node_add(&s->nodes, parent, name, len, st, fd);
    if (!*out)
        return -ENFILE;
    steal_fd(&fd);
    return 0;
}

/* Checks a name in a request: at most SENTRY_NAME bytes, terminated, and no path. Returns its
 * length or a negative errno. */
static int check_name(const char *name, size_t n)
{
    size_t len = strnlen(name, n);
    if (len == n || len == 0 || memchr(name, '/', len))
        return -EINVAL;
    if (len > SENTRY_NAME)
        return -ENAMETOOLONG;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return -ESTALE;
    return (int)len;
}

int sentry_lookup(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    struct node *found;
    struct stat st;
    int len = check_name(arg, n);
    if (len < 0)
        return len;
    if (h->nodeid == FUSE_ROOT_ID)
        return lookup_guarded(s, arg, (size_t)len);
    const struct node *folder = node_of(&s->nodes, h->nodeid);
    if (!folder)
        return -ESTALE;
    int err = sentry_become(s, h);
    if (err == 0)
        err = find(s, h->nodeid, arg, (size_t)len, &st, &found);
    if (err < 0)
        return err;
    enum lookup what = BLANK;
    if (sentry_locate(s, folder->fd) == 0 && sentry_locate_in(s, arg, (size_t)len) == 0)
        what = sentry_is_free(s, OP_FILE_READ_METADATA, &st) ? ANSWERED
               : sentry_would(s, OP_FILE_READ_METADATA, &st) ? KNOWN
               : sentry_would(s, OP_FILE_READ_DATA, &st)     ? KNOWN
                                                             : BLANK;
    return put_entry(s, found, &st, what);
}

/* ---- attributes of a node ---- */

/* The object of a request, and its state. *fd is -1 for the root. */
static int pinned(struct sentry *s, const struct fuse_in_header *h, int *fd, struct stat *st)
{
    const struct node *n = node_of(&s->nodes, h->nodeid);
    *fd = n ? n->fd : -1;
    if (h->nodeid == FUSE_ROOT_ID)
        *st = root_stat;
    else if (!n)
        return -ESTALE;
    else if (fstat(n->fd, st) < 0)
        return -errno;
    return 0;
}

/* An open file was checked when it was opened. The kernel does not say that fstat() used a file
 * descriptor, so an object that is open and may be read counts as that. */
static int ask_metadata(struct sentry *s, const struct fuse_in_header *h, uint32_t flags,
                        uint64_t handle, int fd, const struct stat *st)
{
    const struct node *n = node_of(&s->nodes, h->nodeid);
    if (!n || ((flags & FUSE_GETATTR_FH) && handle_of(&s->handles, handle, false)))
        return 0;
    if (n->opens && sentry_locate(s, fd) == 0 && sentry_would(s, OP_FILE_READ_DATA, st))
        return 0;
    return sentry_ask(s, h, OP_FILE_READ_METADATA, fd, st, NULL);
}

int sentry_getattr(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    const struct fuse_getattr_in *in = arg;
    struct stat st;
    int fd, err = pinned(s, h, &fd, &st);
    (void)n;
    if (err == 0)
        err = ask_metadata(s, h, in->getattr_flags, in->fh, fd, &st);
    if (err < 0)
        return err;
    struct fuse_attr_out *out = sentry_out(s);
    *out = (struct fuse_attr_out){0};
    fill_attr(&st, &out->attr);
    return sizeof(*out);
}

static void fill_time(const struct statx_timestamp *t, struct kabi_fuse_time *out)
{
    *out = (struct kabi_fuse_time){.sec = t->tv_sec, .nsec = t->tv_nsec};
}

static void fill_statx(const struct statx *x, struct kabi_fuse_statx *out)
{
    *out = (struct kabi_fuse_statx){
        .mask = x->stx_mask & (STATX_BASIC_STATS | STATX_BTIME),
        .blksize = x->stx_blksize,
        .nlink = x->stx_nlink,
        .uid = x->stx_uid,
        .gid = x->stx_gid,
        .mode = x->stx_mode,
        .ino = x->stx_ino,
        .size = x->stx_size,
        .blocks = x->stx_blocks,
        .rdev_major = x->stx_rdev_major,
        .rdev_minor = x->stx_rdev_minor,
        .dev_major = x->stx_dev_major,
        .dev_minor = x->stx_dev_minor,
    };
    fill_time(&x->stx_atime, &out->atime);
    fill_time(&x->stx_btime, &out->btime);
    fill_time(&x->stx_ctime, &out->ctime);
    fill_time(&x->stx_mtime, &out->mtime);
}

/* Called only for what stat() does not have: the creation time. */
int sentry_statx(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    const struct kabi_fuse_statx_in *in = arg;
    struct statx x;
    struct stat st;
    int fd, err = pinned(s, h, &fd, &st);
    (void)n;
    if (err == 0 && fd < 0)
        err = -EPERM;
    if (err == 0)
        err = ask_metadata(s, h, in->getattr_flags, in->fh, fd, &st);
    if (err == 0 && statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &x) < 0)
        err = -errno;
    if (err < 0)
        return err;
    struct kabi_fuse_statx_out *out = sentry_out(s);
    *out = (struct kabi_fuse_statx_out){0};
    fill_statx(&x, &out->stat);
    return sizeof(*out);
}

int sentry_readlink(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    struct stat st;
    int fd, err = pinned(s, h, &fd, &st);
    (void)arg;
    (void)n;
    if (err == 0 && !S_ISLNK(st.st_mode))
        err = -EINVAL;
    if (err == 0)
        err = sentry_ask(s, h, OP_FILE_READ_METADATA, fd, &st, NULL);
    if (err < 0)
        return err;
    ssize_t len = readlinkat(fd, "", sentry_out(s), SENTRY_PATH - 1);
    return len < 0 ? -errno : (int)len;
}

/* chdir() and programs ask for the right to search a folder; walking shows that anyway. */
int sentry_access(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    const struct fuse_access_in *in = arg;
    enum vocab_op op = in->mask ? OP_FILE_READ_METADATA : OP_FILE_TEST_EXISTENCE;
    struct stat st;
    int fd, err = pinned(s, h, &fd, &st);
    (void)n;
    if (err < 0 || fd < 0)
        return err;
    if (in->mask != X_OK || !S_ISDIR(st.st_mode))
        err = sentry_ask(s, h, op, fd, &st, NULL);
    if (err == 0)
        err = sentry_become(s, h);
    if (err == 0 && faccessat(fd, "", (int)in->mask & 7, AT_EACCESS | AT_EMPTY_PATH) < 0)
        err = -errno;
    return err;
}

int sentry_statfs(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    struct statfs fs = {.f_namelen = SENTRY_NAME, .f_bsize = 4096, .f_frsize = 4096};
    struct stat st;
    int fd, err = pinned(s, h, &fd, &st);
    (void)arg;
    (void)n;
    if (err == 0 && fd >= 0)
        err = sentry_ask(s, h, OP_FILE_READ_METADATA, fd, &st, NULL);
    if (err == 0 && fd >= 0 && fstatfs(fd, &fs) < 0)
        err = -errno;
    if (err < 0)
        return err;
    struct fuse_statfs_out *out = sentry_out(s);
    *out = (struct fuse_statfs_out){.st = {.blocks = fs.f_blocks,
                                           .bfree = fs.f_bfree,
                                           .bavail = fs.f_bavail,
                                           .files = fs.f_files,
                                           .ffree = fs.f_ffree,
                                           .bsize = (uint32_t)fs.f_bsize,
                                           .namelen = (uint32_t)fs.f_namelen,
                                           .frsize = (uint32_t)fs.f_frsize}};
    return sizeof(*out);
}

/* ---- extended attributes ---- */

/* name NULL: the list of them. */
static int read_xattr(struct sentry *s, const struct fuse_in_header *h, uint32_t size,
                      const char *name)
{
    struct stat st;
    char number[16];
    int fd, err = pinned(s, h, &fd, &st);
    if (err == 0 && fd < 0)
        err = -EOPNOTSUPP;
    if (err == 0)
        err = sentry_ask(s, h, OP_FILE_READ_XATTR, fd, &st, name);
    if (err == 0)
        err = sentry_become(s, h);
    if (err < 0)
        return err;
    /* by its name among our file descriptors, which is the working directory: the calls that take
     * file descriptors do not take O_PATH ones */
    snprintf(number, sizeof(number), "%d", fd);
    void *to = size ? sentry_out(s) : NULL;
    size_t room = size < SENTRY_DATA ? size : SENTRY_DATA;
    ssize_t len = name ? getxattr(number, name, to, room) : listxattr(number, to, room);
    if (len < 0)
        return -errno;
    if (size)
        return (int)len;
    struct fuse_getxattr_out *out = sentry_out(s);
    *out = (struct fuse_getxattr_out){.size = (uint32_t)len};
    return sizeof(*out);
}

int sentry_getxattr(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    const struct fuse_getxattr_in *in = arg;
    const char *name = (const char *)(in + 1);
    size_t left = n - sizeof(*in), len = strnlen(name, left);
    if (len == left || len == 0 || len > SENTRY_NAME)
        return -ERANGE;
    return read_xattr(s, h, in->size, name);
}

int sentry_listxattr(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    (void)n;
    return read_xattr(s, h, ((const struct fuse_getxattr_in *)arg)->size, NULL);
}
