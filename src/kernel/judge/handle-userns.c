/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Namespaces of the target's own. Making one is refused, and told, so that a program whose sandbox
 * fails has an explanation. Where user namespaces are allowed, two things need care: who is who in
 * one is written to a file of procfs that only its owner may open, and a process that changed its
 * root means other files than the judge by the same names, unless they begin in a folder that it
 * has open and stay beneath.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/handle-userns.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/target.h"

/* The same as the filter's: where user namespaces are allowed, only mount namespaces are not. */
bool userns_is_refused(const struct judge *j, uint64_t flags)
{
    return flags & (j->makes_user_ns ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS);
}

struct answer userns_refuse(struct judge *j, const struct request *r)
{
    report_refused(j, r, OP_SYSTEM_PRIVILEGE,
                   j->makes_user_ns ? "mount namespace" : EVENT_USER_NAMESPACE);
    return answer_errno(EPERM);
}

struct answer handle_unshare(struct judge *j, const struct request *r)
{
    return userns_is_refused(j, r->args[0]) ? userns_refuse(j, r) : handle_umask(j, r);
}

/* ---- roots ---- */

bool userns_other_root(const struct judge *j, const struct request *r)
{
    char name[32];
    struct stat theirs, ours;
    snprintf(name, sizeof(name), "%d/root", r->tid);
    return fstatat(j->proc, name, &theirs, 0) < 0 || stat("/", &ours) < 0 ||
           theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino;
}

int userns_refuse_path(struct judge *j, const struct request *r)
{
    report_refused(j, r, OP_FILE_CHROOT, "a process that changed its root");
    return -EPERM;
}

/* ---- who is who ---- */

static bool is_id_map(const struct pinned *p)
{
    static const char *const names[] = {"/uid_map", "/gid_map", "/setgroups"};
    const char *slash = strrchr(p->path, '/');
    for (size_t i = 0; strncmp(p->path, "/proc/", 6) == 0 && i < 3; i++)
        if (strcmp(slash, names[i]) == 0)
            return true;
    return false;
}

/* In a process of its own that shares our descriptors: becomes a member of the target's user
 * namespace, in whose name the file is opened, and leaves it in our table. There the target could
 * be root, but cannot see it (pid namespace) or not look into it (Landlock). */
static int open_inside(int space, int pin, int flags)
{
    char name[32];
    snprintf(name, sizeof(name), "self/fd/%d", pin);
    if (setns(space, CLONE_NEWUSER) < 0)
        return -errno;
    int fd = open(name, flags | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The result comes back through the pipe; a member of the target's namespace is nobody to trust, so
 * it is looked at: whatever came must be the pinned file. */
static int open_elsewhere(int space, const struct pinned *p, int flags)
{
    int ends[2], fd = -EIO, status;
    struct stat st;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    OWN(fd) int in = ends[0];
    OWN(fd) int out = ends[1];
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        int got = open_inside(space, p->fd, flags);
        ssize_t n = write(out, &got, sizeof(got));
        syscall(SYS_exit_group, n == sizeof(got) ? 0 : 1);
    }
    if (pid < 0)
        return -errno;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || status != 0 || read(in, &fd, sizeof(fd)) != sizeof(fd))
        return -EPERM;
    if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_ino != p->st.st_ino || st.st_dev != p->st.st_dev))
        return close(fd), -EPERM;
    return fd;
}

int userns_open(struct judge *j, const struct request *r, const struct pinned *p, int flags)
{
    char name[32];
    if (!j->makes_user_ns || !j->joins_user_ns || !is_id_map(p) || (flags & O_ACCMODE) == O_RDONLY)
        return -ENOTSUP;
    snprintf(name, sizeof(name), "%d/ns/user", r->tid);
    OWN(fd) int space = openat(j->proc, name, O_RDONLY | O_CLOEXEC);
    if (space < 0 || !request_is_valid(j, r))
        return -EPERM;
    return open_elsewhere(space, p, flags & O_ACCMODE);
}
