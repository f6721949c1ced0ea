/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Contents. Only regular files and folders are opened, and never by waiting. Pipes, sockets and
 * devices appear as what they are, but the kernel opens those itself, without a request: a pipe
 * unrelated to the one outside, a refused device (nodev).
 *
 * Executing is a separate operation (process-exec): the kernel marks such an open, and no program
 * can.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/sentry/sentry-int.h"

struct system_entry { /* as getdents64() has it */
    uint64_t ino;
    int64_t off;
    uint16_t len;
    uint8_t type;
    char name[];
};

static int put_open(struct sentry *s, struct node *n, int *fd, bool folder)
{
    struct fuse_open_out *out = sentry_out(s);
    uint64_t handle = handle_add(&s->handles, *fd, folder, node_id(&s->nodes, n));
    if (!handle)
        return -ENFILE;
    steal_fd(fd);
    n->opens++;
    sentry_expire(s, n);
    *out = (struct fuse_open_out){.fh = handle, .open_flags = folder ? 0 : FOPEN_NOFLUSH};
    return sizeof(*out);
}

/* Opens what a file descriptor pins. O_NONBLOCK: we do not wait for another process's lease. */
static int open_again(int fd, int flags)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", fd);
    int again = open(number, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
    return again < 0 ? -errno : again;
}

static int open_judged(struct sentry *s, const struct fuse_in_header *h, mode_t type, bool exec)
{
    struct node *n = node_of(&s->nodes, h->nodeid);
    struct stat st;
    if (!n)
        return h->nodeid == FUSE_ROOT_ID ? -EPERM : -ESTALE;
    if (fstat(n->fd, &st) < 0)
        return -errno;
    if ((st.st_mode & S_IFMT) != type)
        return -EPERM;
    int err = sentry_ask(s, h, exec ? OP_PROCESS_EXEC : OP_FILE_READ_DATA, n->fd, &st, NULL);
    if (err == 0)
        err = sentry_become(s, h);
    if (err == 0 && exec && faccessat(n->fd, "", X_OK, AT_EACCESS | AT_EMPTY_PATH) < 0)
        err = -errno;
    if (err < 0)
        return err;
    OWN(fd) int fd = open_again(n->fd, type == S_IFDIR ? O_DIRECTORY : 0);
    return fd < 0 ? fd : put_open(s, n, &fd, type == S_IFDIR);
}

int sentry_open(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    const struct fuse_open_in *in = arg;
    (void)n;
    if ((in->flags & O_ACCMODE) != O_RDONLY || (in->flags & (O_TRUNC | O_CREAT)))
        return -EROFS;
    return open_judged(s, h, S_IFREG, in->flags & KABI_FMODE_EXEC);
}

int sentry_read(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    const struct fuse_read_in *in = arg;
    const struct handle *file = handle_of(&s->handles, in->fh, false);
    (void)h;
    (void)n;
    if (!file)
        return -EBADF;
    if (in->offset > INT64_MAX)
        return -EINVAL;
    size_t room = in->size < SENTRY_DATA ? in->size : SENTRY_DATA;
    ssize_t got = pread(file->fd, sentry_out(s), room, (off_t)in->offset);
    return got < 0 ? -errno : (int)got;
}

int sentry_seek(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    const struct fuse_lseek_in *in = arg;
    const struct handle *file = handle_of(&s->handles, in->fh, false);
    (void)h;
    (void)n;
    if (!file)
        return -EBADF;
    if ((in->whence != SEEK_DATA && in->whence != SEEK_HOLE) || in->offset > INT64_MAX)
        return -EINVAL;
    off_t at = lseek(file->fd, (off_t)in->offset, (int)in->whence);
    if (at < 0)
        return -errno;
    struct fuse_lseek_out *out = sentry_out(s);
    out->offset = (uint64_t)at;
    return sizeof(*out);
}

/* ---- folders ---- */

int sentry_opendir(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    (void)arg;
    (void)n;
    if (h->nodeid == FUSE_ROOT_ID && atomic_load(&s->listing)) {
        struct fuse_open_out *out = sentry_out(s);
        *out = (struct fuse_open_out){0};
        return sizeof(*out);
    }
    return open_judged(s, h, S_IFDIR, false);
}

/* Entries as FUSE wants them. Without `before` they are at most a third longer than the kernel's,
 * with it less than eight times as long: so many bytes before each may describe what it refers to,
 * and are left empty. The kernel looks up what it needs. */
static int translate(struct sentry *s, size_t n, struct handle *folder, size_t before)
{
    unsigned char *out = sentry_out(s);
    size_t used = 0;
    for (size_t at = 0; at < n;) {
        const struct system_entry *e = (const void *)(s->scratch + at);
        size_t len = strlen(e->name);
        size_t size = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + len);
        memset(out + used, 0, before);
        used += before;
        struct fuse_dirent *d = (void *)(out + used);
        memset(out + used + size - 8, 0, 8); /* padding for alignment */
        d->ino = e->ino;
        d->off = (uint64_t)e->off;
        d->namelen = (uint32_t)len;
        d->type = e->type;
        memcpy(d->name, e->name, len);
        folder->at = e->off;
        used += size;
        at += e->len;
    }
    return (int)used;
}

static int read_folder(struct sentry *s, const struct fuse_read_in *in, size_t before)
{
    struct handle *folder = handle_of(&s->handles, in->fh, true);
    if (!folder)
        return -EBADF;
    if (in->offset > INT64_MAX)
        return -EINVAL;
    if (folder->at != (off_t)in->offset || in->offset == 0) { /* from the start: read it again */
        if (lseek(folder->fd, (off_t)in->offset, SEEK_SET) < 0)
            return -errno;
        folder->at = (off_t)in->offset;
    }
    size_t room = in->size < SENTRY_DATA ? in->size : SENTRY_DATA;
    long got = syscall(SYS_getdents64, folder->fd, s->scratch, before ? room / 8 : room / 4 * 3);
    return got < 0 ? -errno : translate(s, (size_t)got, folder, before);
}

int sentry_readdir(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    (void)h;
    (void)n;
    return read_folder(s, arg, 0);
}

int sentry_readdir_plus(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    const struct fuse_read_in *in = arg;
    (void)n;
    if (h->nodeid == FUSE_ROOT_ID && atomic_load(&s->listing))
        return sentry_list_guarded(s, in->offset, in->size);
    return read_folder(s, in, sizeof(struct fuse_entry_out));
}

int sentry_release(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    const struct fuse_release_in *in = arg;
    (void)h;
    (void)n;
    struct node *node = node_of(&s->nodes, handle_remove(&s->handles, in->fh));
    if (node && node->opens)
        node->opens--;
    return 0;
}
