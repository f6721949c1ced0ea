/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Finds out what the host allows by doing it. A probe changes its process (namespaces, filters,
 * Landlock), so each runs in a child. The child has its own process group, which we kill as a whole
 * after the answer or the time limit. The answer is one byte through a pipe. A child that dies
 * sends nothing, which means no.
 */

#include "kernel/host/host-probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/launch/walls.h"

enum { PROBE_MS = 3000 };

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

/* ---- the runner ---- */

static void answer(int pipe, unsigned value)
{
    unsigned char byte = (unsigned char)value;
    while (write(pipe, &byte, 1) < 0 && errno == EINTR)
        ;
}

static unsigned await(int pipe)
{
    unsigned char byte = 0;
    struct pollfd p = {.fd = pipe, .events = POLLIN};
    int ready;
    while ((ready = poll(&p, 1, PROBE_MS)) < 0 && errno == EINTR)
        ;
    return ready > 0 && read(pipe, &byte, 1) == 1 ? byte : 0;
}

static void end_group(pid_t pid)
{
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL); /* it may not have its own group yet */
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

unsigned probe_run(probe_fn *probe, const struct host *h)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return 0;
    OWN(fd) int in = ends[0];
    OWN(fd) int out = ends[1];
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN);
        answer(out, probe(h));
        for (;;)
            pause(); /* children of the probe die with the group */
    }
    if (pid < 0)
        return 0;
    setpgid(pid, pid);
    close(steal_fd(&out));
    unsigned got = await(in);
    end_group(pid);
    return got;
}

/* ---- Landlock ---- */

/* Forbids listing folders, then checks that a folder cannot be listed. */
static unsigned probe_landlock(const struct host *h)
{
    const struct plan p = {.host = *h, .handled_fs = KABI_LL_READ_DIR};
    int rules = -1;
    OWN(fd) int before = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (before < 0 || landlock_walls(&p, NULL, NULL, -1, &rules) < 0)
        return 0;
    if (landlock_enter(rules) < 0)
        return 0;
    OWN(fd) int after = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return after < 0 && errno == EACCES;
}

/* ---- children ---- */

static char secret[16]; /* only the child fills it, so that only a real read finds it */

/* A child that waits. It announces a file descriptor that only it has. */
static pid_t start_subject(int *announced)
{
    int ends[2], its = -1;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        memcpy(secret, "in the child", sizeof("in the child"));
        int own = open("/dev/null", O_WRONLY | O_CLOEXEC);
        own = own < 0 ? own : fcntl(own, F_DUPFD_CLOEXEC, 100);
        if (write(ends[1], &own, sizeof(own)) != sizeof(own))
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    if (pid > 0 && read(ends[0], &its, sizeof(its)) != sizeof(its))
        its = -1;
    close(ends[0]);
    *announced = its;
    return pid;
}

/* The other way, for hosts that refuse the first. */
static bool read_as_file(pid_t pid, char *copy)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && pread(fd, copy, sizeof(secret), (off_t)(uintptr_t)secret) == sizeof(secret);
}

static unsigned probe_memory(const struct host *h)
{
    (void)h;
    int fd;
    char copy[sizeof(secret)] = {0};
    pid_t pid = start_subject(&fd);
    struct iovec to = {copy, sizeof(copy)}, from = {secret, sizeof(secret)};
    if (pid <= 0 || fd < 0)
        return 0;
    if (process_vm_readv(pid, &to, 1, &from, 1, 0) != sizeof(copy) && !read_as_file(pid, copy))
        return 0;
    return strcmp(copy, "in the child") == 0;
}

static unsigned probe_getfd(const struct host *h)
{
    (void)h;
    int fd;
    struct stat st, null;
    pid_t pid = start_subject(&fd);
    OWN(fd) int process = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (process < 0 || fd < 0)
        return 0;
    OWN(fd) int taken = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
    return taken >= 0 && fstat(taken, &st) == 0 && stat("/dev/null", &null) == 0 &&
           st.st_rdev == null.st_rdev;
}

/* ---- cgroups ---- */

/* The folder of our cgroup (version 2), below /sys/fs/cgroup. */
static bool own_cgroup(char *path, size_t size)
{
    OWN(file) FILE *f = fopen("/proc/self/cgroup", "re");
    char line[512];
    while (f && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::/", 4) == 0)
            return snprintf(path, size, "/sys/fs/cgroup%s", line + 3) < (int)size;
    }
    return false;
}

static bool has_file(const char *folder, const char *name)
{
    char path[640];
    return snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path) &&
           access(path, W_OK) == 0;
}

static bool join_cgroup(const char *folder)
{
    char path[640];
    snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
    OWN(fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, "0", 1) == 1;
}

static const char *tried_cgroup; /* the probe below joins it */

static unsigned probe_cgroup(const struct host *h)
{
    (void)h;
    return has_file(tried_cgroup, "memory.max") && has_file(tried_cgroup, "pids.max") &&
           join_cgroup(tried_cgroup);
}

static bool try_cgroup_in(const char *folder, const struct host *h)
{
    char path[600];
    snprintf(path, sizeof(path), "%.500s/buckle-probe-%d", folder, (int)getpid());
    if (mkdir(path, 0700) < 0)
        return false;
    tried_cgroup = path;
    bool works = probe_run(probe_cgroup, h) != 0;
    tried_cgroup = NULL;
    /* the kernel releases an exited process slightly after the wait */
    for (int i = 0; rmdir(path) < 0 && errno == EBUSY && i < 100; i++)
        usleep(2000);
    return works;
}

/* A cgroup that has processes cannot delegate controllers, so a sandbox's cgroup is its sibling. */
static bool can_cgroup(const struct host *h)
{
    char path[512];
    if (!own_cgroup(path, sizeof(path)))
        return false;
    if (try_cgroup_in(path, h))
        return true;
    char *slash = strrchr(path, '/');
    size_t root = strlen("/sys/fs/cgroup");
    if (!slash || (size_t)(slash - path) < root)
        return false;
    *slash = '\0';
    return try_cgroup_in(path, h);
}

/* ---- all of it ---- */

int host_probe(struct host *h, struct bk_err *err)
{
    struct host found;
    (void)err;
    host_quick(&found);
    if (found.landlock && !probe_run(probe_landlock, &found))
        found.landlock = 0;
    unsigned notify = probe_run(probe_seccomp, &found);
    found.seccomp_notify = notify & PROBE_NOTIFY;
    found.notify_killable = notify & PROBE_KILLABLE;
    found.notify_sync = notify & PROBE_SYNC;
    found.notify_addfd = notify & PROBE_ADDFD;
    found.listener_taken = notify & PROBE_TAKEN;
    found.read_memory = probe_run(probe_memory, &found);
    found.pidfd_getfd = probe_run(probe_getfd, &found);
    found.user_ns = probe_run(probe_user, &found);
    found.mount_ns = probe_run(probe_mount, &found);
    found.nodev = probe_run(probe_nodev, &found);
    host_find_disks(&found);
    unsigned pids = probe_run(probe_pid, &found);
    found.pid_ns = pids & PROBE_PIDS;
    found.mount_proc = pids & PROBE_PROC;
    found.net_ns = probe_run(probe_net, &found);
    found.ipc_ns = probe_run(probe_ipc, &found);
    found.uts_ns = probe_run(probe_uts, &found);
    found.fuse = probe_run(probe_fuse, &found);
    found.nftables = probe_run(probe_nftables, &found);
    found.nft_tproxy = found.nftables && probe_run(probe_tproxy, &found);
    found.cgroup = can_cgroup(&found);
    *h = found;
    return 0;
}
