/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The sentry's process, in phases. Each has a list of what it should and must not do.
 *
 *   outside   Should open what only the host shows: its root and its /proc. Must not look at
 *             anything the command controls.
 *   inside    Should enter the sandbox's user and mount namespaces, but not its pid namespace,
 *             because requests name their senders as the mounting process sees them. Should make
 *             one file system for all guarded paths, open the real file under each before it is
 *             covered, and mount. Must not let the command start when one cannot be guarded.
 *   serving   One thread answers the kernel, without capabilities. The other watches the names and
 *             mounts: looking up a path asks the first, so it must never be the same.
 *
 * No process in the sandbox can see it: it is in none of their pid namespaces and in none of their
 * Landlock domains. It exits with the controller, and the sandbox with it.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/launch/device-wall.h"
#include "kernel/launch/init.h"
#include "kernel/sentry/sentry-main.h"
#include "kernel/shared/fd-pass.h"
#include "kernel/shared/forget-environ.h"
#include "kernel/shared/processor.h"
#include "kernel/shared/roles.h"
#include "system/descriptors.h"

/* Watching a hundred folders takes a while to start, and so does giving up what is not needed. Both
 * take processor time from the starting command. What is created meanwhile is found when watching
 * begins. */
enum { SETTLE_US = 10000 };

enum { TRIES = 1000 }; /* tries to cover a file that other processes keep replacing */

/* ---- reporting to the judge ---- */

static int send_msg(const struct sentry_process *p, struct sentry_msg m, int fd)
{
    return fd_pass_send(p->task->judge, &m, sizeof(m), fd);
}

static int send_real(const struct sentry_process *p, size_t i)
{
    struct sentry_msg m = {.kind = SENTRY_MSG_REAL, .index = (int32_t)i};
    return send_msg(p, m, p->mounted[i].real_fd);
}

static void __attribute__((noreturn))
fail(const struct sentry_process *p, enum launch_step step, int err)
{
    send_msg(p, (struct sentry_msg){.kind = SENTRY_MSG_FAILED, .step = (int32_t)step, .err = -err},
             -1);
    _exit(1);
}

static void fail_on(const struct sentry_process *p, enum launch_step step, int err)
{
    if (err < 0)
        fail(p, step, err);
}

/* ---- names ---- */

static int open_from(int at, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
    return fd < 0 ? -errno : fd;
}

int sentry_process_open(const struct sentry_process *p, const char *path)
{
    return open_from(p->root, path[1] ? path + 1 : ".");
}

int sentry_process_open_inside(const char *path)
{
    return open_from(AT_FDCWD, path);
}

bool sentry_process_is_nothing(int err)
{
    return err == -ENOENT || err == -ENOTDIR || err == -ELOOP || err == -EACCES;
}

/* The nearest mounted sentry around sentry i; -1: none. */
static int outer_of(const struct sentry_process *p, size_t i)
{
    const char *path = p->plan->sentries[i].path;
    for (size_t k = i; k-- > 0;) {
        size_t m = strlen(p->plan->sentries[k].path);
        if (p->mounted[k].real_fd >= 0 && path[m] == '/' &&
            strncmp(path, p->plan->sentries[k].path, m) == 0)
            return (int)k;
    }
    return -1;
}

/* The real file at sentry i's path, under all sentries, in the sandbox's mount table. */
static int open_real(const struct sentry_process *p, size_t i)
{
    int outer = outer_of(p, i);
    const char *path = p->plan->sentries[i].path;
    if (outer < 0)
        return open_from(AT_FDCWD, path);
    return open_from(p->mounted[outer].real_fd, path + strlen(p->plan->sentries[outer].path) + 1);
}

/* ---- mounting ---- */

static int set_option(int fs, unsigned how, const char *key, const char *value)
{
    return syscall(SYS_fsconfig, fs, how, key, value, 0) < 0 ? -errno : 0;
}

static int attach(int tree, int on)
{
    return syscall(SYS_move_mount, tree, "", on, "", KABI_MOVE_MOUNT_EMPTY) < 0 ? -errno : 0;
}

/* Before 6.15 only an attached mount can be bound elsewhere. Nothing needs hiding: what its root
 * shows is checked like everything else. */
static int show_file_system(const struct sentry_process *p)
{
    OWN(fd) int on = open("/proc/driver", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return on < 0 ? -errno : attach(p->fs, on);
}

/* Makes one file system for all guarded paths, with its server's file descriptor in p->device. */
static int make_file_system(struct sentry_process *p)
{
    char fd[16], uid[16], gid[16];
    p->device =
        openat(p->root, "dev/fuse", O_RDWR | O_CLOEXEC); /* not through the sandbox's mounts */
    if (p->device < 0)
        return -errno;
    snprintf(fd, sizeof(fd), "%d", p->device);
    snprintf(uid, sizeof(uid), "%u", geteuid());
    snprintf(gid, sizeof(gid), "%u", getegid());
    OWN(fd) int fs = (int)syscall(SYS_fsopen, SENTRY_MOUNT_TYPE, KABI_FSOPEN_CLOEXEC);
    if (fs < 0)
        return -errno;
    int err = set_option(fs, KABI_FSCONFIG_STRING, "source", "buckle");
    err = err < 0 ? err : set_option(fs, KABI_FSCONFIG_STRING, "fd", fd);
    err = err < 0 ? err : set_option(fs, KABI_FSCONFIG_STRING, "rootmode", "40000");
    err = err < 0 ? err : set_option(fs, KABI_FSCONFIG_STRING, "user_id", uid);
    err = err < 0 ? err : set_option(fs, KABI_FSCONFIG_STRING, "group_id", gid);
    err = err < 0 ? err : set_option(fs, KABI_FSCONFIG_FLAG, "allow_other", NULL);
    err = err < 0 ? err : set_option(fs, KABI_FSCONFIG_CREATE, NULL, NULL);
    if (err < 0)
        return err;
    p->fs =
        (int)syscall(SYS_fsmount, fs, KABI_FSMOUNT_CLOEXEC, KABI_MOUNT_NOSUID | KABI_MOUNT_NODEV);
    if (p->fs < 0)
        return -errno;
    return version_at_least(p->plan->host.kernel, "6.15") ? 0 : show_file_system(p);
}

/* Before the command runs, only the mounting thread sends requests, and confining takes a while. */
static bool before_request(void *arg)
{
    struct sentry_process *p = arg;
    if (p->confined || !atomic_load(&p->strangers))
        return true;
    p->confined = sentry_process_confine(p, true) == 0;
    return p->confined;
}

/* A process that waits for an answer cannot be killed before it comes or the device is closed. So
 * the mounting thread must not have the device: when both are killed, this thread's table goes
 * first. */
static void *serve(void *arg)
{
    struct sentry_process *p = arg;
    enum { OURS = 6 };
    int keep[OURS + SENTRY_PATHS_FIRST] = {p->device, p->proc,         p->root,
                                           p->crowd,  p->task->events, p->names->mounts.fd};
    bool own = unshare(CLONE_FS | CLONE_FILES) == 0;
    if (own)
        fd_close_others(keep, OURS + sentry_paths_keep(p->sentry, keep + OURS));
    own = own && sentry_settle(p->sentry) == 0;
    int device = p->device;
    sem_post(&p->settled);
    if (own)
        sentry_serve(p->sentry, device);
    _exit(1); /* nothing is left to serve or to trust */
}

static int start_serving(struct sentry_process *p)
{
    p->serving = true;
    int err = sem_init(&p->settled, 0, 0) < 0 ? errno : pthread_create(&p->server, NULL, serve, p);
    if (err)
        return -err;
    while (sem_wait(&p->settled) < 0 && errno == EINTR)
        ;
    close(steal_fd(&p->device));
    return 0;
}

/* A copy of a mount, to be attached elsewhere. */
static int copy_tree(int at, const char *path, unsigned flags)
{
    int tree = (int)syscall(SYS_open_tree, at, path, KABI_OPEN_TREE_CLONE | O_CLOEXEC | flags);
    return tree < 0 ? -errno : tree;
}

int sentry_process_copy(int at, const char *path)
{
    return copy_tree(at, path, 0);
}

int sentry_process_attach(int tree, int on)
{
    return attach(tree, on);
}

/* The sandbox's own mounts are closed to devices by now, or will be soon. */
static int copy_folder(const struct sentry_process *p, size_t i)
{
    OWN(fd) int tree = copy_tree(p->mounted[i].real_fd, "", AT_EMPTY_PATH | KABI_AT_RECURSIVE);
    int err = tree >= 0 && p->plan->device_wall ? devices_close_tree(tree) : 0;
    return err < 0 ? err : steal_fd(&tree);
}

/* What a sentry mounts over its path: its entry of the file system, which takes ownership of *real
 * unless it has a number; the folder itself, over an outer sentry; or an empty mount, if neither a
 * folder nor a file is there. */
static int make_cover(struct sentry_process *p, size_t i, const struct stat *st, int *real,
                      int *number)
{
    char name[16];
    if (p->plan->sentries[i].open)
        return copy_folder(p, i);
    if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
        return copy_tree(AT_FDCWD, "/dev/null", 0);
    if (*number < 0) {
        *number = sentry_path_add(p->sentry, *real);
        if (*number < 0)
            return *number;
        steal_fd(real);
    }
    snprintf(name, sizeof(name), "%d", *number);
    return copy_tree(p->fs, name, 0);
}

/* As the command sees it: over what other sentries have mounted there. */
static int cover(struct sentry_process *p, size_t i, const struct stat *st, int *real, int *number)
{
    OWN(fd) int on = outer_of(p, i) < 0 ? -1 : open_from(AT_FDCWD, p->plan->sentries[i].path);
    OWN(fd) int tree = make_cover(p, i, st, real, number);
    if (tree < 0)
        return tree;
    return attach(tree, on >= 0 ? on : p->mounted[i].real_fd);
}

/* The covered file was moved or removed, and its mount with it. */
static void uncover(struct sentry_process *p, size_t i)
{
    struct sentry_place *s = &p->mounted[i];
    struct stat st;
    /* under another name it is still guarded */
    if (s->number >= 0 && s->real_fd >= 0 && fstat(s->real_fd, &st) == 0 && st.st_nlink == 0)
        sentry_path_remove(p->sentry, s->number);
    if (s->real_fd >= 0)
        close(s->real_fd);
    *s = (struct sentry_place){.number = -1, .real_fd = -1};
}

static bool is_same(const struct stat *st, uint64_t dev, uint64_t inode)
{
    return st->st_dev == dev && st->st_ino == inode;
}

/* Looks up sentry i's path as the host sees it: *st, and *real pins it, which the caller closes.
 * Returns whether anything is there. */
static int look_up(const struct sentry_process *p, size_t i, struct stat *st, int *real)
{
    *real = sentry_process_open(p, p->plan->sentries[i].path);
    if (*real < 0)
        return sentry_process_is_nothing(*real) ? 0 : *real;
    if (fstat(*real, st) < 0)
        return -errno;
    return !S_ISLNK(st->st_mode);
}

/* A layer shows what appears below it under other numbers. */
static bool is_in_layer(const struct plan *p, size_t i)
{
    for (size_t k = 0; k < p->nlayers; k++)
        if (p->sentries[i].len > p->layers[k].len && p->sentries[i].path[p->layers[k].len] == '/' &&
            strncmp(p->sentries[i].path, p->layers[k].path, p->layers[k].len) == 0)
            return true;
    return false;
}

/* Covers the file at the path in the sandbox. Returns -EAGAIN if it is no longer what *st says. */
static int cover_file(struct sentry_process *p, size_t i, const struct stat *st, int *real)
{
    struct sentry_place *s = &p->mounted[i];
    struct stat now;
    OWN(fd) int real_fd = open_real(p, i);
    if (real_fd < 0)
        return sentry_process_is_nothing(real_fd) ? -EAGAIN : real_fd;
    if (fstat(real_fd, &now) < 0 ||
        (!is_same(&now, st->st_dev, st->st_ino) && !is_in_layer(p->plan, i)))
        return -EAGAIN;
    s->dev = st->st_dev;
    s->inode = st->st_ino;
    s->real_fd = steal_fd(&real_fd);
    /* before it is covered, so that nobody meets the cover while the real file is unknown */
    int err = p->ready ? send_real(p, i) : 0;
    return err < 0 ? err : cover(p, i, st, real, &s->number);
}

/* Whether the command still meets the sentry there: another process may have mounted something over
 * it, or above. */
static bool is_visible(const struct sentry_process *p, size_t i)
{
    const struct sentry_place *s = &p->mounted[i];
    struct statx st;
    OWN(fd) int seen = open_from(AT_FDCWD, p->plan->sentries[i].path);
    if (seen < 0 || guarded_paths_glance(seen, &st) < 0)
        return true; /* nothing is visible */
    uint64_t dev = makedev(st.stx_dev_major, st.stx_dev_minor);
    if (p->plan->sentries[i].open)
        return dev == s->dev && st.stx_ino == s->inode;
    return s->number >= 0 ? dev == p->dev : dev != s->dev || st.stx_ino != s->inode;
}

int sentry_process_place_at(struct sentry_process *p, size_t i)
{
    struct sentry_place *s = &p->mounted[i];
    struct stat st;
    if (p->plan->masked)
        return sentry_process_mask(p, i);
    for (int tries = 0; tries < TRIES; tries++) {
        OWN(fd) int real = -1;
        int there = look_up(p, i, &st, &real), err;
        if (there < 0)
            return there;
        if (there && s->real_fd >= 0 && is_same(&st, s->dev, s->inode) && is_visible(p, i))
            return 0;
        bool was_mounted = s->real_fd >= 0;
        uncover(p, i);
        if (!there)
            return was_mounted
                       ? send_msg(p, (struct sentry_msg){SENTRY_MSG_GONE, (int32_t)i, 0, 0, 0}, -1)
                       : 0;
        if ((err = cover_file(p, i, &st, &real)) == 0)
            return 0;
        if (s->number >= 0)
            sentry_path_remove(p->sentry, s->number);
        s->number = -1;
        uncover(p, i);
        if (err != -EAGAIN && !sentry_process_is_nothing(err))
            return err;
    }
    return -EBUSY; /* it is replaced faster than we can follow */
}

/* ---- all at the start ---- */

/* Gives a number to what is at a path, so that the kernel learns about all of them in one request.
 * An error shows when it is placed. */
static void number_first(struct sentry_process *p, size_t i)
{
    struct sentry_first *f = &p->first[i];
    struct stat st;
    OWN(fd) int real = -1;
    f->number = -1;
    if (p->plan->sentries[i].open || look_up(p, i, &st, &real) <= 0 ||
        (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
        return;
    f->number = sentry_path_add(p->sentry, real);
    if (f->number >= 0)
        steal_fd(&real);
    f->mode = st.st_mode;
    f->dev = st.st_dev;
    f->inode = st.st_ino;
}

static int place_first(struct sentry_process *p, size_t i)
{
    const struct sentry_first *f = &p->first[i];
    struct sentry_place *s = &p->mounted[i];
    struct stat st = {.st_dev = f->dev, .st_ino = f->inode, .st_mode = f->mode};
    int none = -1;
    if (f->number < 0)
        return sentry_process_place_at(p, i);
    s->number = f->number;
    if (cover_file(p, i, &st, &none) == 0)
        return 0;
    sentry_path_remove(p->sentry, s->number);
    s->number = -1;
    uncover(p, i);
    return sentry_process_place_at(p, i); /* something else is there now */
}

static void number_all(struct sentry_process *p)
{
    for (size_t i = 0; i < p->plan->nsentries; i++)
        if (p->there.at[i])
            number_first(p, i);
}

static void place_all(struct sentry_process *p)
{
    if (p->serving)
        sentry_paths_list(p->sentry, p->fs);
    for (size_t i = 0; i < p->plan->nsentries; i++)
        if (p->there.at[i])
            fail_on(p, STEP_SENTRY_BIND,
                    p->serving ? place_first(p, i) : sentry_process_place_at(p, i));
    if (p->search)
        fail_on(p, STEP_SENTRY_BIND, sentry_search_place(p));
}

/* ---- phases ---- */

static int open_mounts(const struct sentry_process *p)
{
    int fd = openat(p->proc, "self/mountinfo", O_RDONLY | O_CLOEXEC);
    fail_on(p, STEP_OPEN_PROC, fd < 0 ? -errno : 0);
    return fd;
}

/* The host's. In the sandbox's table, which may be ours already, our own mounts would look like
 * other names of what we guard. */
static int open_host_mounts(const struct sentry_process *p)
{
    char name[32];
    if (p->task->host_mounts < 0)
        return open_mounts(p);
    snprintf(name, sizeof(name), "self/fd/%d", p->task->host_mounts);
    int fd = openat(p->proc, name, O_RDONLY | O_CLOEXEC);
    fail_on(p, STEP_OPEN_PROC, fd < 0 ? -errno : 0);
    return fd;
}

static void phase_outside(struct sentry_process *p)
{
    const struct sentries_task *t = p->task;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != t->controller)
        _exit(1); /* it died before we were tied to it */
    role_take(ROLE_SENTRY);
    forget_environ(NULL);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* processes that see each other must not read this one */
    /* the controller's pipes would never end while we had them open */
    int keep[] = {t->namespaces, t->events,
                  t->judge,      t->host_mounts,
                  t->search,     t->launch->layer_server > 0 ? t->launch->layer_server : -1};
    fd_close_others(keep, sizeof(keep) / sizeof(keep[0]));
    /* already inside: a copy, in which our own mounts will not show */
    p->root = t->namespaces < 0 ? copy_tree(AT_FDCWD, "/", KABI_AT_RECURSIVE)
                                : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    p->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    fail_on(p, STEP_OPEN_PROC, p->root < 0 || p->proc < 0 ? -errno : 0);
    /* one for each thread: the kernel reports a change once */
    static struct file_names names;
    file_names_open(&names, open_host_mounts(p), p->plan->opt.mounts);
    p->names = &names;
    p->later = open_host_mounts(p);
}

/* By this number the server knows which processes are in the sandbox. */
static ino_t inner_mount_namespace(const struct sentry_process *p)
{
    char name[32];
    struct stat st;
    snprintf(name, sizeof(name), "%d/ns/mnt", p->task->inside ? p->task->inside : getpid());
    return fstatat(p->proc, name, &st, 0) == 0 ? st.st_ino : 0;
}

static void on_crowd(void *arg)
{
    const struct sentry_process *p = arg;
    eventfd_write(p->crowd, 1);
}

/* Everything that can be done before the mounts are ready. */
static void prepare(struct sentry_process *p)
{
    struct sentry_options opt = {
        .graph = p->task->graph,
        .events = p->task->events,
        .proc = p->proc,
        .root = p->root,
        .names = p->names,
        .attached = p->task->namespaces >= 0,
        .uid = geteuid(),
        .gid = getegid(),
        .any_user = p->plan->host.root,
        .settles = true,
        .mount_ns = inner_mount_namespace(p),
        .crowded = on_crowd,
        .before = before_request,
        .arg = p,
    };
    p->crowd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    fail_on(p, STEP_SENTRY, p->crowd < 0 ? -errno : 0);
    p->sentry = sentry_new(&opt);
    fail_on(p, STEP_SENTRY, p->sentry ? 0 : -errno);
}

static void enter(const struct sentry_process *p)
{
    const struct sentries_task *t = p->task;
    char byte;
    if (recv(t->judge, &byte, 1, 0) != 1)
        _exit(1); /* the judge has reported why */
    int flags = CLONE_NEWNS | (p->plan->user_ns ? CLONE_NEWUSER : 0);
    if (t->namespaces >= 0)
        fail_on(p, STEP_NAMESPACES, init_enter(t->namespaces, t->inside, p->proc, flags));
}

/* The judge has looked them up while we made the file system. */
static void receive_existing(struct sentry_process *p)
{
    ssize_t n;
    while ((n = recv(p->task->judge, &p->there, sizeof(p->there), 0)) < 0 && errno == EINTR)
        ;
    if (n != sizeof(p->there))
        _exit(1); /* the judge has reported why */
}

/* On one processor the threads hand over to each other at once; waking another one would take ten
 * times as long. A new thread starts where its creator may run. */
static void share_processor(struct sentry_process *p)
{
    cpu_set_t one;
    int here = sched_getcpu();
    CPU_ZERO(&one);
    if (here < 0 || here >= CPU_SETSIZE ||
        sched_getaffinity(0, sizeof(p->processors), &p->processors) < 0)
        return;
    CPU_SET(here, &one);
    p->sharing = sched_setaffinity(0, sizeof(one), &one) == 0;
}

static void use_all_processors(struct sentry_process *p)
{
    if (!p->sharing)
        return;
    sched_setaffinity(0, sizeof(p->processors), &p->processors);
    if (p->serving)
        pthread_setaffinity_np(p->server, sizeof(p->processors), &p->processors);
}

/* Without sentries, the process only watches what is below layers. */
static bool needs_server(const struct plan *p)
{
    return (p->nsentries > 0 || p->nsearches > 0) && !p->masked;
}

static void phase_inside(struct sentry_process *p)
{
    struct sentry_msg ready = {.kind = SENTRY_MSG_READY, .step = p->search_changed};
    enter(p);
    p->mounts = open_mounts(p);
    if (needs_server(p->plan)) /* while the judge looks them up */
        fail_on(p, STEP_SENTRY_MOUNT, make_file_system(p));
    receive_existing(p);
    if (needs_server(p->plan)) {
        struct statx st;
        number_all(p);
        fail_on(p, STEP_SENTRY_MOUNT,
                statx(p->fs, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) < 0 ? -errno : 0);
        ready.dev = p->dev = makedev(st.stx_dev_major, st.stx_dev_minor);
        share_processor(p); /* each mount needs an answer from the other thread */
        fail_on(p, STEP_SENTRY, start_serving(p));
    }
    place_all(p);
    use_all_processors(p);
    for (size_t i = 0; i < p->plan->nsentries; i++)
        ready.index += p->mounted[i].real_fd >= 0;
    /* the command waits for the first message, and the judge for the others */
    atomic_store(&p->strangers, true);
    fail_on(p, STEP_SENTRY, send_msg(p, ready, -1));
    for (size_t i = 0; i < p->plan->nsentries; i++)
        if (p->mounted[i].real_fd >= 0)
            fail_on(p, STEP_SENTRY, send_real(p, i));
    p->ready = true;
}

static void __attribute__((noreturn)) sentry_main(const struct sentries_task *task)
{
    static struct sentry_process p;
    p = (struct sentry_process){.task = task,
                                .plan = task->plan,
                                .root = -1,
                                .proc = -1,
                                .fs = -1,
                                .crowd = -1,
                                .mounts = -1,
                                .later = -1};
    for (size_t i = 0; i < PLAN_SENTRIES; i++)
        p.mounted[i] = (struct sentry_place){.number = -1, .real_fd = -1};
    phase_outside(&p);
    if (needs_server(p.plan))
        prepare(&p);
    if (p.plan->nsearches)
        fail_on(&p, STEP_SEARCH, sentry_search_first(&p));
    phase_inside(&p);
    if (!p.search)
        usleep(SETTLE_US); /* this thread gets no requests meanwhile */
    else if (sentry_search_rest(&p, SETTLE_US / 1000) < 0)
        _exit(1);
    /* The serving thread needs more than we keep, and the working directory where it is. */
    if (unshare(CLONE_FS) == 0 && fchdir(p.proc) == 0 && sentry_process_confine(&p, false) == 0)
        watch_names(&p);
    _exit(1);
}

/* ---- starting ---- */

pid_t sentries_start(const struct sentries_task *task)
{
    bool kept = processor_keep();
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD | CLONE_PARENT, 0, 0, 0, 0);
    if (pid == 0)
        sentry_main(task);
    int err = pid < 0 ? -errno : 0;
    processor_send_off(pid, kept);
    return err < 0 ? err : pid;
}
