/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * ioctl() and fcntl(): inode flags, leases, and requests of file systems and devices. For request
 * numbers that the filter does not know (ioctls.def), the kind of descriptor decides. The target
 * can replace the descriptor after that check, so the judge never lets the kernel perform a request
 * that file systems are known to obey.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/judge/ask.h"
#include "kernel/plan/plan.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/target.h"

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* With this flag, names in the folder could be spelled in other cases, and rules would miss them.
 */
static bool begins_to_fold(int fd, uint32_t request, const void *value)
{
    int before = 0, wanted;
    if (request == KABI_FS_IOC_FSSETXATTR)
        return false;
    memcpy(&wanted, value, sizeof(wanted));
    return (wanted & KABI_FS_CASEFOLD_FL) &&
           (ioctl(fd, KABI_FS_IOC_GETFLAGS, &before) < 0 || !(before & KABI_FS_CASEFOLD_FL));
}

static struct answer handle_flags(struct judge *j, const struct request *r)
{
    uint32_t request = (uint32_t)r->args[1];
    unsigned char value[28]; /* struct fsxattr, the larger of the two */
    size_t n = request == KABI_FS_IOC_FSSETXATTR ? sizeof(value) : sizeof(int);
    OWN(pinned) struct pinned p;
    int err = pin_descriptor(j, r, (int)r->args[0], 0, &p);
    if (err == 0)
        err = ask_path(j, r, OP_FILE_WRITE_FLAGS, &p);
    if (err == 0)
        err = target_read(r, r->args[2], value, n);
    if (err < 0)
        return answer_value(err);
    OWN(fd) int fd = target_take_fd(j, r, (int)r->args[0]);
    struct stat st;
    if (fd < 0)
        return answer_value(fd);
    /* the descriptor may now be another file, which was not judged */
    if (fstat(fd, &st) < 0 || !is_same(&st, &p.st) || !request_is_valid(j, r))
        return answer_errno(EPERM);
    if (begins_to_fold(fd, request, value)) {
        report_refused(j, r, OP_FILE_WRITE_FLAGS, "a folder that ignores upper and lower case");
        return answer_errno(EPERM);
    }
    return answer_value(ioctl(fd, request, value) < 0 ? -errno : 0);
}

/* Files and folders that have a path. */
static bool is_file(const struct pinned *p)
{
    return p->path_len > 0 && p->path[0] == '/' &&
           (S_ISREG(p->st.st_mode) || S_ISDIR(p->st.st_mode) || S_ISLNK(p->st.st_mode));
}

static struct answer handle_unknown(struct judge *j, const struct request *r)
{
    OWN(pinned) struct pinned p;
    int err = pin_descriptor(j, r, (int)r->args[0], 0, &p);
    if (err < 0)
        return answer_value(err);
    if (is_file(&p)) {
        report_refused_as(j, r, OP_FILE_IOCTL, p.path, ENOTTY);
        return answer_errno(ENOTTY);
    }
    return plan_ioctl_is_of_files((uint32_t)r->args[1]) ? answer_errno(EPERM) : answer_continue();
}

struct answer handle_ioctl(struct judge *j, const struct request *r)
{
    switch ((uint32_t)r->args[1]) {
    case KABI_FS_IOC_SETFLAGS:
    case KABI_FS_IOC_FSSETXATTR:
        return handle_flags(j, r);
    case KABI_TIOCSPGRP:
        return handle_foreground(j, r);
    default:
        return handle_unknown(j, r);
    }
}

static struct answer handle_lease(struct judge *j, const struct request *r)
{
    OWN(pinned) struct pinned p;
    int err = pin_descriptor(j, r, (int)r->args[0], 0, &p);
    if (err < 0)
        return answer_value(err);
    if (p.path[0] == '/')
        report_refused(j, r, OP_FILE_LOCK, p.path);
    return answer_errno(EPERM);
}

struct answer handle_fcntl(struct judge *j, const struct request *r)
{
    uint32_t command = (uint32_t)r->args[1];
    bool lease = command == KABI_F_SETLEASE || command == KABI_F_SETDELEG;
    return lease ? handle_lease(j, r) : handle_owner(j, r);
}
