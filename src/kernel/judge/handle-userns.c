/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The target's own namespaces. Creating one is refused and reported, so that a program whose
 * sandbox fails has an explanation. If user namespaces are allowed, two things need care. Only the
 * owner of a namespace may open its id maps, which are files of procfs. And once a process has
 * changed its root, paths mean other files to it than to the judge, unless they start at a
 * descriptor that it has open and stay beneath.
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

/* As in the filter: if user namespaces are allowed, only mount namespaces are refused. */
bool userns_is_refused(const struct judge *j, uint64_t flags)
{
    return flags & (j->makes_user_ns ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS);
}

/* The flag for user namespaces would not help a program that also needs to mount. */
struct answer userns_refuse(struct judge *j, const struct request *r, uint64_t flags)
{
    report_refused(j, r, OP_SYSTEM_PRIVILEGE,
                   flags & CLONE_NEWNS ? EVENT_MOUNT_NAMESPACE : EVENT_USER_NAMESPACE);
    return answer_errno(EPERM);
}

struct answer handle_unshare(struct judge *j, const struct request *r)
{
    return userns_is_refused(j, r->args[0]) ? userns_refuse(j, r, r->args[0]) : handle_umask(j, r);
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

/* ---- id maps ---- */

static bool is_id_map(const struct pinned *p)
{
    static const char *const names[] = {"/uid_map", "/gid_map", "/setgroups"};
    const char *slash = strrchr(p->path, '/');
    for (size_t i = 0; strncmp(p->path, "/proc/", 6) == 0 && i < 3; i++)
        if (strcmp(slash, names[i]) == 0)
            return true;
    return false;
}

/* Runs in a process that shares our descriptors: joins the target's user namespace, opens the file
 * there, and leaves it in our table. The target may be root in that namespace, but cannot see this
 * process (pid namespace) or not access it (Landlock). */
static int open_inside(int space, int pin, int flags)
{
    char name[32];
    snprintf(name, sizeof(name), "self/fd/%d", pin);
    if (setns(space, CLONE_NEWUSER) < 0)
        return -errno;
    int fd = open(name, flags | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The result comes back through a pipe. A process in the target's namespace is not trusted, so
 * checks that the result is the pinned file. */
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
