/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Contents and attributes by name or by descriptor: truncate, chmod, chown, times, extended
 * attributes, inode flags. Each form finds its object, asks, and acts on the pin. Landlock covers
 * none of the forms that work through a descriptor opened for reading, so they are asked about too.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "base/own.h"
#include "kernel/kabi.h"
#include "kernel/worker.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_chmod /* architectures that have only the *at calls */
#define SYS_chmod -1
#define SYS_chown -1
#define SYS_lchown -1
#define SYS_utime -1
#define SYS_utimes -1
#define SYS_futimesat -1
#endif

static struct answer done(int result)
{
    return answer_value(result < 0 ? -errno : 0);
}

static void pin_name(const struct pinned *p, char out[32])
{
    snprintf(out, 32, "self/fd/%d", p->fd);
}

/* The ways in which a call says which object it means. */
enum form { BY_PATH, BY_LINK, BY_FD, BY_AT };

static const struct {
    long nr;
    enum form form;
    int8_t flags; /* argument with AT_ flags for BY_AT, or -1 */
    int8_t rest;  /* first argument after those that name the object */
} forms[] = {
    {SYS_truncate, BY_PATH, -1, 1},    {SYS_chmod, BY_PATH, -1, 1},
    {SYS_fchmod, BY_FD, -1, 1},        {SYS_fchmodat, BY_AT, -1, 2},
    {SYS_fchmodat2, BY_AT, 3, 2},      {SYS_chown, BY_PATH, -1, 1},
    {SYS_lchown, BY_LINK, -1, 1},      {SYS_fchown, BY_FD, -1, 1},
    {SYS_fchownat, BY_AT, 4, 2},       {SYS_utime, BY_PATH, -1, 1},
    {SYS_utimes, BY_PATH, -1, 1},      {SYS_futimesat, BY_AT, -1, 2},
    {SYS_utimensat, BY_AT, 3, 2},      {SYS_setxattr, BY_PATH, -1, 1},
    {SYS_lsetxattr, BY_LINK, -1, 1},   {SYS_fsetxattr, BY_FD, -1, 1},
    {SYS_removexattr, BY_PATH, -1, 1}, {SYS_lremovexattr, BY_LINK, -1, 1},
    {SYS_fremovexattr, BY_FD, -1, 1},
};

/* Pins what the call means; *rest is its remaining arguments. */
static int pin_of(struct worker *w, const struct request *r, struct pinned *p,
                  const uint64_t **rest)
{
    const uint64_t *a = r->args;
    *p = (struct pinned){.fd = -1, .parent = -1};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (forms[i].nr != r->nr)
            continue;
        unsigned at = forms[i].flags < 0 ? 0 : (unsigned)a[forms[i].flags];
        *rest = a + forms[i].rest;
        switch (forms[i].form) {
        case BY_PATH:
            return pin_object(w, r, AT_FDCWD, a[0], 0, 0, p);
        case BY_LINK:
            return pin_object(w, r, AT_FDCWD, a[0], PIN_NOFOLLOW, 0, p);
        case BY_FD:
            if (target_fd_is_name(w, r, (int)a[0]))
                return -EBADF;
            return pin_descriptor(w, r, (int)a[0], 0, p);
        case BY_AT:
            if (at & ~(unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
                return -EINVAL;
            if (a[1] == 0) /* utimensat(fd, NULL, …), futimesat(fd, NULL, …) */
                return pin_descriptor(w, r, (int)a[0], 0, p);
            return pin_object(w, r, (int)a[0], a[1],
                              (at & AT_SYMLINK_NOFOLLOW ? PIN_NOFOLLOW : 0) |
                                  (at & AT_EMPTY_PATH ? PIN_EMPTY : 0),
                              0, p);
        }
    }
    return -ENOSYS;
}

static int pin_and_ask(struct worker *w, const struct request *r, enum vocab_op op,
                       struct pinned *p, const uint64_t **rest)
{
    int err = pin_of(w, r, p, rest);
    return err == 0 ? ask_path(w, r, op, p) : err;
}

struct answer act_truncate(struct worker *w, const struct request *r)
{
    OWN(pinned) struct pinned p;
    const uint64_t *rest;
    int err = pin_and_ask(w, r, OP_FILE_WRITE_DATA, &p, &rest);
    if (err < 0)
        return answer_value(err);
    char name[32];
    pin_name(&p, name);
    return done(truncate(name, (off_t)rest[0]));
}

struct answer act_chmod(struct worker *w, const struct request *r)
{
    OWN(pinned) struct pinned p;
    const uint64_t *rest;
    int err = pin_and_ask(w, r, OP_FILE_WRITE_MODE, &p, &rest);
    if (err == 0 && (rest[0] & (S_ISUID | S_ISGID)) && S_ISREG(p.st.st_mode))
        err = ask_path(w, r, OP_FILE_WRITE_SETUGID, &p);
    if (err < 0)
        return answer_value(err);
    if (S_ISLNK(p.st.st_mode))
        return answer_errno(EOPNOTSUPP);
    char name[32];
    pin_name(&p, name);
    return done(chmod(name, (mode_t)rest[0]));
}

struct answer act_chown(struct worker *w, const struct request *r)
{
    OWN(pinned) struct pinned p;
    const uint64_t *rest;
    int err = pin_and_ask(w, r, OP_FILE_WRITE_OWNER, &p, &rest);
    if (err < 0)
        return answer_value(err);
    return done(fchownat(p.fd, "", (uid_t)rest[0], (gid_t)rest[1], AT_EMPTY_PATH));
}

/* The times that a call gives, in whichever of three spellings; 1 when it means "now". */
static int read_times(const struct request *r, uint64_t addr, struct timespec out[2])
{
    struct utimbuf old;
    struct timeval tv[2];
    int err;
    if (addr == 0)
        return 1;
    if (r->nr == SYS_utime) {
        if ((err = target_read(r, addr, &old, sizeof(old))) < 0)
            return err;
        out[0] = (struct timespec){old.actime, 0};
        out[1] = (struct timespec){old.modtime, 0};
        return 0;
    }
    if (r->nr == SYS_utimensat)
        return target_read(r, addr, out, 2 * sizeof(*out));
    if ((err = target_read(r, addr, tv, sizeof(tv))) < 0)
        return err;
    for (int i = 0; i < 2; i++) {
        if (tv[i].tv_usec < 0 || tv[i].tv_usec > 999999)
            return -EINVAL;
        out[i] = (struct timespec){tv[i].tv_sec, tv[i].tv_usec * 1000};
    }
    return 0;
}

struct answer act_times(struct worker *w, const struct request *r)
{
    OWN(pinned) struct pinned p;
    const uint64_t *rest;
    struct timespec times[2];
    int err = pin_and_ask(w, r, OP_FILE_WRITE_TIMES, &p, &rest);
    int now = err == 0 ? read_times(r, rest[0], times) : err;
    if (now < 0)
        return answer_value(now);
    if (!request_is_valid(w, r))
        return answer_errno(EPERM);
    if (S_ISLNK(p.st.st_mode)) /* only AT_EMPTY_PATH reaches the link itself */
        return done((int)syscall(SYS_utimensat, p.fd, "", now ? NULL : times, AT_EMPTY_PATH));
    char name[32];
    pin_name(&p, name);
    return done(utimensat(AT_FDCWD, name, now ? NULL : times, 0));
}

/* ---- extended attributes ---- */

/* The attribute's name, into the second path buffer. */
static int attribute_name(struct worker *w, const struct request *r, uint64_t addr)
{
    int n = target_string(r, addr, w->path[1]);
    if (n == -ENAMETOOLONG || n > 255 || n == 0)
        return -ERANGE;
    return n < 0 ? n : request_is_valid(w, r) ? 0 : -EPERM;
}

struct answer act_setxattr(struct worker *w, const struct request *r)
{
    OWN(pinned) struct pinned p;
    const uint64_t *rest;
    int err = pin_and_ask(w, r, OP_FILE_WRITE_XATTR, &p, &rest);
    if (err == 0 && rest[2] > XATTR_BYTES)
        err = -E2BIG;
    if (err == 0 && rest[2])
        err = target_read(r, rest[1], w->value, rest[2]);
    if (err == 0)
        err = attribute_name(w, r, rest[0]);
    if (err < 0)
        return answer_value(err);
    if (S_ISLNK(p.st.st_mode))
        return answer_errno(EPERM); /* the kernel keeps user attributes off links anyway */
    char name[32];
    pin_name(&p, name);
    return done(setxattr(name, w->path[1], w->value, rest[2], (int)rest[3]));
}

struct answer act_removexattr(struct worker *w, const struct request *r)
{
    OWN(pinned) struct pinned p;
    const uint64_t *rest;
    int err = pin_and_ask(w, r, OP_FILE_WRITE_XATTR, &p, &rest);
    if (err == 0)
        err = attribute_name(w, r, rest[0]);
    if (err < 0)
        return answer_value(err);
    if (S_ISLNK(p.st.st_mode))
        return answer_errno(EPERM);
    char name[32];
    pin_name(&p, name);
    return done(removexattr(name, w->path[1]));
}

/* ---- inode flags ---- */

struct answer act_flags(struct worker *w, const struct request *r)
{
    uint32_t request = (uint32_t)r->args[1];
    unsigned char value[28]; /* struct fsxattr, the larger of the two */
    size_t n = request == KABI_FS_IOC_FSSETXATTR ? sizeof(value) : sizeof(int);
    OWN(pinned) struct pinned p;
    int err = pin_descriptor(w, r, (int)r->args[0], 0, &p);
    if (err == 0)
        err = ask_path(w, r, OP_FILE_WRITE_FLAGS, &p);
    if (err == 0)
        err = target_read(r, r->args[2], value, n);
    if (err < 0)
        return answer_value(err);
    OWN(fd) int fd = target_take_fd(w, r, (int)r->args[0]);
    struct stat st;
    if (fd < 0)
        return answer_value(fd);
    /* the descriptor may name another file by now: then it was never judged */
    if (fstat(fd, &st) < 0 || st.st_ino != p.st.st_ino || st.st_dev != p.st.st_dev ||
        !request_is_valid(w, r))
        return answer_errno(EPERM);
    return done(ioctl(fd, request, value));
}
