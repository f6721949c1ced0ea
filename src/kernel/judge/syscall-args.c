/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Most calls about one object have several forms: by path, by path without following a symlink at
 * its end, by folder and path with flags, by descriptor. This table has the form of each call, so
 * that a handler sees only the pinned object and the other arguments.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "kernel/judge/judge.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/syscall-args.h"
#include "kernel/judge/target.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef SYS_chmod /* on architectures with only the *at calls */
#define SYS_chmod -1
#define SYS_chown -1
#define SYS_lchown -1
#define SYS_utime -1
#define SYS_utimes -1
#define SYS_futimesat -1
#define SYS_stat -1
#define SYS_lstat -1
#define SYS_access -1
#define SYS_readlink -1
#endif

enum form {
    BY_PATH,
    BY_LINK, /* a symlink at the end of the path is meant itself */
    BY_FD,   /* except O_PATH */
    BY_ANY_FD,
    BY_AT,      /* folder, path, and perhaps flags */
    BY_LINK_AT, /* folder and path, as BY_LINK; an empty path means the folder itself */
};

enum {
    AT_FIND = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH,
    AT_LOOK = AT_FIND | AT_NO_AUTOMOUNT | 0x6000, /* AT_STATX_SYNC_TYPE */
    AT_TEST = AT_FIND | AT_EACCESS,
};

static const struct {
    long nr;
    uint8_t form;   /* enum form */
    int8_t flags;   /* argument with AT_... flags, or -1 */
    int8_t rest;    /* first argument after those that name the object */
    uint16_t known; /* flags that the call accepts */
} forms[] = {
    {SYS_truncate, BY_PATH, -1, 1, 0},      {SYS_chmod, BY_PATH, -1, 1, 0},
    {SYS_fchmod, BY_FD, -1, 1, 0},          {SYS_fchmodat, BY_AT, -1, 2, 0},
    {SYS_fchmodat2, BY_AT, 3, 2, AT_FIND},  {SYS_chown, BY_PATH, -1, 1, 0},
    {SYS_lchown, BY_LINK, -1, 1, 0},        {SYS_fchown, BY_FD, -1, 1, 0},
    {SYS_fchownat, BY_AT, 4, 2, AT_FIND},   {SYS_utime, BY_PATH, -1, 1, 0},
    {SYS_utimes, BY_PATH, -1, 1, 0},        {SYS_futimesat, BY_AT, -1, 2, 0},
    {SYS_utimensat, BY_AT, 3, 2, AT_FIND},  {SYS_setxattr, BY_PATH, -1, 1, 0},
    {SYS_lsetxattr, BY_LINK, -1, 1, 0},     {SYS_fsetxattr, BY_FD, -1, 1, 0},
    {SYS_removexattr, BY_PATH, -1, 1, 0},   {SYS_lremovexattr, BY_LINK, -1, 1, 0},
    {SYS_fremovexattr, BY_FD, -1, 1, 0},    {SYS_getxattr, BY_PATH, -1, 1, 0},
    {SYS_lgetxattr, BY_LINK, -1, 1, 0},     {SYS_fgetxattr, BY_FD, -1, 1, 0},
    {SYS_listxattr, BY_PATH, -1, 1, 0},     {SYS_llistxattr, BY_LINK, -1, 1, 0},
    {SYS_flistxattr, BY_FD, -1, 1, 0},      {SYS_stat, BY_PATH, -1, 1, 0},
    {SYS_lstat, BY_LINK, -1, 1, 0},         {SYS_fstat, BY_ANY_FD, -1, 1, 0},
    {SYS_newfstatat, BY_AT, 3, 2, AT_LOOK}, {SYS_statx, BY_AT, 2, 3, AT_LOOK},
    {SYS_statfs, BY_PATH, -1, 1, 0},        {SYS_access, BY_PATH, -1, 1, 0},
    {SYS_faccessat, BY_AT, -1, 2, 0},       {SYS_faccessat2, BY_AT, 3, 2, AT_TEST},
    {SYS_readlink, BY_LINK, -1, 1, 0},      {SYS_readlinkat, BY_LINK_AT, -1, 2, 0},
};

void named_close(struct named *n)
{
    pinned_close(&n->p);
}

void pin_name(const struct pinned *p, char out[32])
{
    snprintf(out, 32, "self/fd/%d", p->fd);
}

static int pin_held(struct judge *j, const struct request *r, int fd, struct named *n)
{
    n->held = fd;
    return pin_descriptor(j, r, fd, 0, &n->p);
}

static int pin_at(struct judge *j, const struct request *r, unsigned how, struct named *n)
{
    const uint64_t *a = r->args;
    bool times = r->nr == SYS_utimensat || r->nr == SYS_futimesat;
    if (a[1] == 0 && (times || (how & PIN_EMPTY)) && (int)a[0] != AT_FDCWD)
        return pin_held(j, r, (int)a[0], n);
    int err = pin_object(j, r, (int)a[0], a[1], how, 0, &n->p);
    if (err == 0 && j->path[0][0] == '\0' && (int)a[0] != AT_FDCWD)
        n->held = (int)a[0];
    return err;
}

int pin_named(struct judge *j, const struct request *r, struct named *n)
{
    const uint64_t *a = r->args;
    *n = (struct named){.p = {.fd = -1, .parent = -1}, .held = -1};
    size_t i = 0, count = sizeof(forms) / sizeof(forms[0]);
    while (i < count && forms[i].nr != r->nr)
        i++;
    if (i == count)
        return -ENOSYS;
    n->rest = a + forms[i].rest;
    n->flags = forms[i].flags < 0 ? 0 : (unsigned)a[forms[i].flags];
    if (n->flags & ~(unsigned)forms[i].known)
        return -EINVAL;
    switch (forms[i].form) {
    case BY_PATH:
        return pin_object(j, r, AT_FDCWD, a[0], 0, 0, &n->p);
    case BY_LINK:
        return pin_object(j, r, AT_FDCWD, a[0], PIN_NOFOLLOW, 0, &n->p);
    case BY_FD:
        if (target_fd_is_name(j, r, (int)a[0]))
            return -EBADF;
        return pin_held(j, r, (int)a[0], n);
    case BY_ANY_FD:
        return pin_held(j, r, (int)a[0], n);
    case BY_LINK_AT:
        return pin_at(j, r, PIN_NOFOLLOW | PIN_EMPTY, n);
    default:
        return pin_at(j, r,
                      (n->flags & AT_SYMLINK_NOFOLLOW ? PIN_NOFOLLOW : 0) |
                          (n->flags & AT_EMPTY_PATH ? PIN_EMPTY : 0),
                      n);
    }
}
