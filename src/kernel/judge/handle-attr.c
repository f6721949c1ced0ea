/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Contents and attributes, by path or by descriptor: truncate, chmod, chown, times. Each handler
 * finds the object in whichever form the call names it (syscall-args.c), asks, and acts on the pin.
 * Landlock does not cover calls on a descriptor that was opened for reading, so the policy is asked
 * about those, too.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/syscall-args.h"
#include "kernel/judge/target.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_utime /* on architectures with only the *at calls */
#define SYS_utime -1
#endif

static int pin_and_ask(struct judge *j, const struct request *r, enum vocab_op op, struct named *n)
{
    int err = pin_named(j, r, n);
    err = err == 0 ? ask_path(j, r, op, &n->p) : err;
    if (err == 0)
        link_set_copy(j, &n->p, false);
    return err;
}

struct answer handle_truncate(struct judge *j, const struct request *r)
{
    OWN(named) struct named n;
    int err = pin_and_ask(j, r, OP_FILE_WRITE_DATA, &n);
    if (err < 0)
        return answer_value(err);
    if (!S_ISREG(n.p.st.st_mode))
        return answer_errno(S_ISDIR(n.p.st.st_mode) ? EISDIR : EINVAL);
    if ((off_t)n.rest[0] < 0)
        return answer_errno(EINVAL);
    char name[32];
    pin_name(&n.p, name);
    /* opened for writing, because our own wall bounds that but not truncating (plan.c) */
    OWN(fd) int fd = open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    return answer_result(fd < 0 ? fd : ftruncate(fd, (off_t)n.rest[0]));
}

struct answer handle_chmod(struct judge *j, const struct request *r)
{
    OWN(named) struct named n;
    int err = pin_and_ask(j, r, OP_FILE_WRITE_MODE, &n);
    if (err == 0 && (n.rest[0] & (S_ISUID | S_ISGID)) && !S_ISDIR(n.p.st.st_mode))
        err = ask_path(j, r, OP_FILE_WRITE_SETUGID, &n.p);
    if (err < 0)
        return answer_value(err);
    if (S_ISLNK(n.p.st.st_mode))
        return answer_errno(EOPNOTSUPP);
    /* directly on the pin if the kernel can (6.6), which saves a walk through procfs */
    if (syscall(SYS_fchmodat2, n.p.fd, "", (mode_t)n.rest[0], AT_EMPTY_PATH) == 0)
        return answer_value(0);
    char name[32];
    pin_name(&n.p, name);
    return answer_result(chmod(name, (mode_t)n.rest[0]));
}

struct answer handle_chown(struct judge *j, const struct request *r)
{
    OWN(named) struct named n;
    int err = pin_and_ask(j, r, OP_FILE_WRITE_OWNER, &n);
    if (err < 0)
        return answer_value(err);
    return answer_result(fchownat(n.p.fd, "", (uid_t)n.rest[0], (gid_t)n.rest[1], AT_EMPTY_PATH));
}

/* Reads the times that a call sets, in one of three formats. Returns 1 for "now", 0, or a negative
 * errno. */
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

struct answer handle_times(struct judge *j, const struct request *r)
{
    OWN(named) struct named n;
    struct timespec times[2];
    int err = pin_and_ask(j, r, OP_FILE_WRITE_TIMES, &n);
    int now = err == 0 ? read_times(r, n.rest[0], times) : err;
    if (now < 0)
        return answer_value(now);
    if (!request_is_valid(j, r))
        return answer_errno(EPERM);
    return answer_result(
        (int)syscall(SYS_utimensat, n.p.fd, "", now ? NULL : times, AT_EMPTY_PATH));
}
