/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A filter applies to one thread. It lets calls pass that only use memory, or descriptors that were
 * opened by name before. Every other call waits until this thread has noted its path, which it
 * reads in the memory that both share. Then the kernel goes on with it. A call that is not in the
 * tables makes the list incomplete.
 */

#include "run/on-linux/lookups.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/shared/own-filter.h"

/* ---- tables ---- */

/* Their results depend on this process, or on what a descriptor means. */
static const int harmless[] = {
    SYS_read,         SYS_close,          SYS_lseek,     SYS_pread64,   SYS_getdents64,
    SYS_fstat,        SYS_fcntl,          SYS_ppoll,     SYS_brk,       SYS_mmap,
    SYS_munmap,       SYS_mremap,         SYS_madvise,   SYS_mprotect,  SYS_futex,
    SYS_getpid,       SYS_gettid,         SYS_getppid,   SYS_getuid,    SYS_geteuid,
    SYS_getgid,       SYS_getegid,        SYS_getgroups, SYS_getrandom, SYS_clock_gettime,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_write,     SYS_exit,
#ifdef SYS_poll
    SYS_poll,
#endif
};

/* Which argument is the path, and which the descriptor that it begins at; and what the call shows
 * about the file. */
enum { NONE = -1, FOLDER = -2 }; /* FOLDER: the working folder itself */
enum shows { NAMES, FACTS, CONTENTS, BY_FLAGS, BY_MASK };
static const struct path_call {
    int nr;
    signed char at, path;
    enum shows shows;
    unsigned char which; /* argument has the flags of an open, or the mask of a statx() */
} path_calls[] = {
    {SYS_openat, 0, 1, BY_FLAGS, 2},      {SYS_openat2, 0, 1, CONTENTS, 0},
    {SYS_newfstatat, 0, 1, FACTS, 0},     {SYS_statx, 0, 1, BY_MASK, 3},
    {SYS_readlinkat, 0, 1, NAMES, 0},     {SYS_faccessat, 0, 1, NAMES, 0},
    {SYS_faccessat2, 0, 1, NAMES, 0},     {SYS_mkdirat, 0, 1, NAMES, 0},
    {SYS_getcwd, NONE, FOLDER, NAMES, 0},
#ifdef SYS_open
    {SYS_open, NONE, 0, BY_FLAGS, 1},     {SYS_stat, NONE, 0, FACTS, 0},
    {SYS_lstat, NONE, 0, FACTS, 0},       {SYS_access, NONE, 0, NAMES, 0},
    {SYS_readlink, NONE, 0, NAMES, 0},    {SYS_mkdir, NONE, 0, NAMES, 0},
#endif
};

static const struct path_call *find_call(int nr)
{
    for (size_t i = 0; i < sizeof(path_calls) / sizeof(path_calls[0]); i++)
        if (path_calls[i].nr == nr)
            return &path_calls[i];
    return NULL;
}

/* ---- the thread that looks ---- */

struct noted {
    bool (*look)(void *arg);
    void *arg;
    struct lookups *out;
    int ready[2]; /* a byte follows when the listener is there, or could not be had */
    int listener;
    bool result;
    bool looked; /* what comes then is the C library's */
};

static int listen_to_self(void)
{
    struct sock_filter code[OWN_FILTER_MAX];
    const struct own_filter f = {
        .lists = {{harmless, sizeof(harmless) / sizeof(harmless[0])}},
        .listed = SECCOMP_RET_ALLOW,
        .others = SECCOMP_RET_USER_NOTIF,
    };
    struct sock_fprog prog = {.len = (unsigned short)own_filter_make(&f, code), .filter = code};
    if (!prog.len || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &prog);
}

static void *look_noted(void *arg)
{
    struct noted *n = arg;
    n->listener = listen_to_self();
    n->out->complete = n->listener >= 0;
    if (write(n->ready[1], "", 1) != 1)
        n->out->complete = false;
    n->result = n->look(n->arg);
    __atomic_store_n(&n->looked, true, __ATOMIC_RELEASE);
    return NULL;
}

/* ---- the one that notes ---- */

/* Where a relative path begins. */
static bool put_folder(struct buf *out, int at)
{
    char path[PATH_MAX], link[32];
    if (at == AT_FDCWD)
        return getcwd(path, sizeof(path)) && (buf_str(out, path), true);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", at);
    ssize_t n = readlink(link, path, sizeof(path));
    if (n <= 0 || n == sizeof(path) || path[0] != '/')
        return false;
    buf_add(out, path, (size_t)n);
    return true;
}

static char mark_of(const struct path_call *c, const __u64 *args)
{
    const unsigned identity = STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID | STATX_INO;
    switch (c->shows) {
    case NAMES:
        return LOOKUP_NAME;
    case FACTS:
        return LOOKUP_FACTS;
    case CONTENTS:
        return LOOKUP_CONTENTS;
    case BY_FLAGS:
        return args[c->which] & O_PATH ? LOOKUP_NAME : LOOKUP_CONTENTS;
    case BY_MASK:
        return args[c->which] & ~(__u64)identity ? LOOKUP_FACTS : LOOKUP_NAME;
    }
    return LOOKUP_CONTENTS;
}

/* The thread waits, and this process is not attacked by itself: its memory is what it was. */
static bool note_call(struct noted *n, const struct seccomp_data *d)
{
    struct buf *out = &n->out->paths;
    const struct path_call *c = find_call(d->nr);
    if (!c)
        return false;
    const char *path = c->path == FOLDER ? "." : (const char *)(uintptr_t)d->args[c->path];
    if (!path)
        return false;
    if (!path[0])
        return true; /* the descriptor itself: its name was looked up before */
    buf_add(out, (const char[]){mark_of(c, d->args)}, 1);
    if (path[0] != '/') {
        if (!put_folder(out, c->at >= 0 ? (int)d->args[c->at] : AT_FDCWD))
            return false;
        buf_str(out, "/");
    }
    buf_add(out, path, strlen(path) + 1);
    return buf_ok(out);
}

static void serve(struct noted *n)
{
    struct pollfd p = {n->listener, POLLIN, 0};
    ioctl(n->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, KABI_NOTIF_SYNC_WAKE_UP);
    while (poll(&p, 1, -1) == 1 && (p.revents & POLLIN)) {
        struct seccomp_notif call = {0};
        if (ioctl(n->listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
            continue;
        if (!__atomic_load_n(&n->looked, __ATOMIC_ACQUIRE) && !note_call(n, &call.data))
            n->out->complete = false;
        struct seccomp_notif_resp go = {.id = call.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        ioctl(n->listener, SECCOMP_IOCTL_NOTIF_SEND, &go);
    }
}

bool lookups_note(bool (*look)(void *arg), void *arg, struct lookups *out)
{
    char byte;
    pthread_t thread;
    struct noted n = {.look = look, .arg = arg, .out = out, .listener = -1};
    *out = (struct lookups){0};
    if (pipe2(n.ready, O_CLOEXEC) < 0)
        return look(arg);
    if (pthread_create(&thread, NULL, look_noted, &n) != 0) {
        n.result = look(arg);
    } else {
        if (read(n.ready[0], &byte, 1) == 1 && n.listener >= 0)
            serve(&n);
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < 2; i++)
        close(n.ready[i]);
    if (n.listener >= 0)
        close(n.listener);
    return n.result;
}
