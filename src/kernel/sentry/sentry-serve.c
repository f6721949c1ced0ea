/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The server's loop: one request, one answer. Requests come from the kernel, but the sandboxed
 * command chooses their contents. So we check lengths before reading, look up numbers in tables,
 * and never wait for anything that the command could withhold. Unknown requests get ENOSYS, and
 * those that would change something EROFS.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/sentry/sentry-int.h"

/* ---- requests without a file ---- */

enum {
    MINOR_OLDEST = 23, /* earlier answers were shorter */
    MINOR_NEWEST = 38,
    OUR_FLAGS = FUSE_ASYNC_READ | FUSE_AUTO_INVAL_DATA | FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES |
                FUSE_ABORT_ERROR | FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO,
};

static int init(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    const struct fuse_init_in *in = arg;
    struct fuse_init_out *out = sentry_out(s);
    (void)h;
    (void)n;
    if (in->major < FUSE_KERNEL_VERSION || in->minor < MINOR_OLDEST)
        return -EPROTO;
    *out = (struct fuse_init_out){
        .major = FUSE_KERNEL_VERSION,
        .minor = in->minor < MINOR_NEWEST ? in->minor : MINOR_NEWEST,
        .max_readahead = in->max_readahead < SENTRY_DATA ? in->max_readahead : SENTRY_DATA,
        .flags = in->flags & OUR_FLAGS,
        .max_background = 32,
        .congestion_threshold = 24,
        .max_write = 4096,
        .time_gran = 1,
        .max_pages = SENTRY_READ_PAGES,
    };
    return sizeof(*out);
}

static int forget(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    (void)n;
    node_forget(&s->nodes, h->nodeid, ((const struct fuse_forget_in *)arg)->nlookup);
    return SENTRY_SILENT;
}

static int forget_many(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    const struct fuse_batch_forget_in *in = arg;
    const struct fuse_forget_one *one = (const void *)(in + 1);
    size_t room = (n - sizeof(*in)) / sizeof(*one);
    (void)h;
    for (size_t i = 0; i < in->count && i < room; i++)
        node_forget(&s->nodes, one[i].nodeid, one[i].nlookup);
    return SENTRY_SILENT;
}

/* When we read it, the interrupted request has been answered. */
static int interrupt(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    (void)s;
    (void)h;
    (void)arg;
    (void)n;
    return SENTRY_SILENT;
}

static int do_nothing(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    (void)s;
    (void)h;
    (void)arg;
    (void)n;
    return 0;
}

static int read_only(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n)
{
    (void)s;
    (void)h;
    (void)arg;
    (void)n;
    return -EROFS;
}

/* Waits for nothing that we would have to do ourselves: the kernel only marks the inode. */
void sentry_expire(struct sentry *s, struct node *n)
{
    struct {
        struct fuse_out_header head;
        struct fuse_notify_inval_inode_out body;
    } note = {{.len = sizeof(note), .error = FUSE_NOTIFY_INVAL_INODE}, {.off = -1}};
    if (!n->answered || s->dev < 0)
        return;
    n->answered = false;
    note.body.ino = node_id(&s->nodes, n);
    /* ENOENT: the kernel has forgotten it and its attributes */
    while (write(s->dev, &note, sizeof(note)) < 0 && errno == EINTR)
        ;
}

/* ---- all requests ---- */

static const struct {
    sentry_op *op;
    size_t least; /* bytes of its argument */
} requests[] = {
    [FUSE_INIT] = {init, offsetof(struct fuse_init_in, flags2)},
    [FUSE_DESTROY] = {do_nothing, 0},
    [FUSE_INTERRUPT] = {interrupt, 0},
    [FUSE_FORGET] = {forget, sizeof(struct fuse_forget_in)},
    [FUSE_BATCH_FORGET] = {forget_many, sizeof(struct fuse_batch_forget_in)},

    [FUSE_LOOKUP] = {sentry_lookup, 2},
    [FUSE_GETATTR] = {sentry_getattr, sizeof(struct fuse_getattr_in)},
    [KABI_FUSE_STATX] = {sentry_statx, sizeof(struct kabi_fuse_statx_in)},
    [FUSE_READLINK] = {sentry_readlink, 0},
    [FUSE_ACCESS] = {sentry_access, sizeof(struct fuse_access_in)},
    [FUSE_STATFS] = {sentry_statfs, 0},
    [FUSE_GETXATTR] = {sentry_getxattr, sizeof(struct fuse_getxattr_in) + 2},
    [FUSE_LISTXATTR] = {sentry_listxattr, sizeof(struct fuse_getxattr_in)},

    [FUSE_OPEN] = {sentry_open, sizeof(struct fuse_open_in)},
    [FUSE_READ] = {sentry_read, sizeof(struct fuse_read_in)},
    [FUSE_LSEEK] = {sentry_seek, sizeof(struct fuse_lseek_in)},
    [FUSE_RELEASE] = {sentry_release, sizeof(struct fuse_release_in)},
    [FUSE_OPENDIR] = {sentry_opendir, sizeof(struct fuse_open_in)},
    [FUSE_READDIR] = {sentry_readdir, sizeof(struct fuse_read_in)},
    [FUSE_READDIRPLUS] = {sentry_readdir_plus, sizeof(struct fuse_read_in)},
    [FUSE_RELEASEDIR] = {sentry_release, sizeof(struct fuse_release_in)},
    [FUSE_FSYNC] = {do_nothing, 0},
    [FUSE_FSYNCDIR] = {do_nothing, 0},

    [FUSE_SETATTR] = {read_only, 0},
    [FUSE_SYMLINK] = {read_only, 0},
    [FUSE_MKNOD] = {read_only, 0},
    [FUSE_MKDIR] = {read_only, 0},
    [FUSE_UNLINK] = {read_only, 0},
    [FUSE_RMDIR] = {read_only, 0},
    [FUSE_RENAME] = {read_only, 0},
    [FUSE_RENAME2] = {read_only, 0},
    [FUSE_LINK] = {read_only, 0},
    [FUSE_WRITE] = {read_only, 0},
    [FUSE_SETXATTR] = {read_only, 0},
    [FUSE_REMOVEXATTR] = {read_only, 0},
    [FUSE_CREATE] = {read_only, 0},
    [FUSE_TMPFILE] = {read_only, 0},
    [FUSE_FALLOCATE] = {read_only, 0},
    [FUSE_COPY_FILE_RANGE] = {read_only, 0},
};

static int perform(struct sentry *s, const struct fuse_in_header *h, size_t n)
{
    if (h->opcode >= sizeof(requests) / sizeof(requests[0]) || !requests[h->opcode].op)
        return -ENOSYS;
    size_t extra = (size_t)kabi_fuse_extras(h) * 8; /* what newer kernels append */
    if (n < sizeof(*h) + extra || n - sizeof(*h) - extra < requests[h->opcode].least)
        return -EINVAL;
    return requests[h->opcode].op(s, h, h + 1, n - sizeof(*h) - extra);
}

void sentry_update(struct sentry *s, struct graph *g, uint32_t number)
{
    s->number = number;
    graph_free(atomic_exchange(&s->pending, g));
}

static void take_update(struct sentry *s)
{
    struct graph *g = atomic_exchange(&s->pending, NULL);
    if (!g)
        return;
    graph_cache_free(s->cache);
    graph_free(s->updated);
    s->cache = NULL; /* made when it is needed */
    s->opt.graph = s->updated = g;
    event_policy(s->number);
}

size_t sentry_answer(struct sentry *s, const void *request, size_t n)
{
    const struct fuse_in_header *h = request;
    struct fuse_out_header *out = (void *)s->answer;
    if (n < sizeof(*h) || h->len != n)
        return 0; /* not from the kernel */
    if (atomic_load_explicit(&s->pending, memory_order_relaxed))
        take_update(s);
    int got = perform(s, h, n);
    if (got == SENTRY_SILENT)
        return 0;
    *out = (struct fuse_out_header){.unique = h->unique, .error = got < 0 ? got : 0};
    out->len = (uint32_t)sizeof(*out) + (got > 0 ? (uint32_t)got : 0);
    return out->len;
}

/* Only now and then: everything may be in use. */
static void report_crowding(struct sentry *s)
{
    enum { PAUSE_MS = 5 };
    if (s->nodes.live < s->nodes.max / 2 || now_ms() - s->called_ms < PAUSE_MS)
        return;
    s->called_ms = now_ms();
    if (s->opt.crowded)
        s->opt.crowded(s->opt.arg);
}

int sentry_serve(struct sentry *s, int dev)
{
    s->dev = dev;
    for (;;) {
        ssize_t n = read(dev, s->request, sizeof(s->request));
        if (n < 0 && (errno == ENODEV || errno == ECONNABORTED))
            return 0;
        if (n < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT)
            return -errno;
        if (s->opt.before && n > 0 && !s->opt.before(s->opt.arg))
            return -EPERM;
        size_t len = n > 0 ? sentry_answer(s, s->request, (size_t)n) : 0;
        /* ENOENT: the sender no longer waits */
        if (len && write(dev, s->answer, len) < 0 && errno != ENOENT && errno != ENODEV &&
            errno != EINTR && errno != ECONNABORTED)
            return -errno;
        report_crowding(s);
    }
}

/* Reconfiguring a file system, even without a change, does it. */
int sentry_drop(int fs)
{
    OWN(fd) int context = (int)syscall(SYS_fspick, fs, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);
    if (context < 0 || syscall(SYS_fsconfig, context, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
        return -errno;
    return 0;
}

/* ---- guarded paths ---- */

int sentry_path_add(struct sentry *s, int real)
{
    pthread_mutex_lock(&s->lock);
    int number = s->nfirst; /* the kernel may still know what these were */
    while (number < s->npaths && s->paths[number] >= 0)
        number++;
    if (number < SENTRY_PATHS)
        s->paths[number] = real;
    s->npaths += number == s->npaths && number < SENTRY_PATHS;
    pthread_mutex_unlock(&s->lock);
    return number < SENTRY_PATHS ? number : -ENOSPC;
}

void sentry_path_remove(struct sentry *s, int number)
{
    pthread_mutex_lock(&s->lock);
    if (number >= 0 && number < s->npaths && s->paths[number] >= 0)
        close(steal_fd(&s->paths[number]));
    pthread_mutex_unlock(&s->lock);
}

size_t sentry_paths_keep(struct sentry *s, int fds[SENTRY_PATHS_FIRST])
{
    pthread_mutex_lock(&s->lock);
    s->nfirst = s->npaths < SENTRY_PATHS_FIRST ? s->npaths : SENTRY_PATHS_FIRST;
    for (int i = 0; i < s->nfirst; i++)
        fds[i] = s->first[i] = s->paths[i];
    pthread_mutex_unlock(&s->lock);
    return (size_t)s->nfirst;
}

void sentry_paths_list(struct sentry *s, int fs)
{
    _Alignas(8) char entries[4096];
    if (s->nfirst < 2) /* looking it up takes as long */
        return;
    atomic_store(&s->listing, true);
    OWN(fd) int folder = openat(fs, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        (void)syscall(SYS_getdents64, folder, entries, sizeof(entries));
    atomic_store(&s->listing, false);
}

/* ---- setup and teardown ---- */

/* Half of the file descriptors for nodes, half for open files; some for ourselves. */
static int allocate_tables(struct sentry *s)
{
    enum { SPARE = 128 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -errno;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -errno;
    if (limit.rlim_cur < 4 * (rlim_t)SPARE)
        return -EMFILE;
    rlim_t half = (limit.rlim_cur - SPARE) / 2;
    uint32_t each = half < SENTRY_TABLE ? (uint32_t)half : SENTRY_TABLE;
    int err = nodes_init(&s->nodes, each);
    return err < 0 ? err : handles_init(&s->handles, each);
}

int sentry_settle(struct sentry *s)
{
    s->fds = openat(s->opt.proc, "thread-self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return s->fds < 0 || fchdir(s->fds) < 0 ? -errno : 0;
}

static int prepare(struct sentry *s)
{
    int err = s->opt.settles ? 0 : sentry_settle(s);
    if (err == 0)
        err = sentry_creds_init(s);
    return err < 0 ? err : allocate_tables(s);
}

struct sentry *sentry_new(const struct sentry_options *opt)
{
    struct sentry *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->opt = *opt;
    s->fds = s->dev = -1;
    pthread_mutex_init(&s->lock, NULL);
    int err = prepare(s);
    if (err == 0)
        return s;
    sentry_free(s);
    errno = -err;
    return NULL;
}

void sentry_free(struct sentry *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->npaths; i++)
        if (s->paths[i] >= 0)
            close(s->paths[i]);
    nodes_free(&s->nodes);
    handles_free(&s->handles);
    graph_cache_free(s->cache);
    graph_free(s->updated);
    graph_free(s->pending);
    if (s->fds >= 0)
        close(s->fds);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
