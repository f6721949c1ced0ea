/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Extended attributes: setting and removing them, reading and listing them. All of it goes through
 * the pinned object's name among our own descriptors, as the calls that take a descriptor refuse
 * one that only names a file.
 */

#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/own.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/syscall-args.h"
#include "kernel/judge/target.h"

enum { ATTRIBUTE_NAME = 255 };

/* The attribute's name, into the second path buffer. */
static int attribute_name(struct judge *w, const struct request *r, uint64_t addr)
{
    int n = target_string(r, addr, w->path[1]);
    if (n == -ENAMETOOLONG || n > ATTRIBUTE_NAME || n == 0)
        return -ERANGE;
    return n < 0 ? n : request_is_valid(w, r) ? 0 : -EPERM;
}

static int pin_and_ask(struct judge *w, const struct request *r, enum vocab_op op, struct named *n)
{
    int found = pin_named(w, r, n);
    int err = n->rest ? attribute_name(w, r, n->rest[0]) : -ENOSYS;
    if (err == 0)
        err = found;
    return err == 0 ? ask_xattr(w, r, op, &n->p, w->path[1]) : err;
}

struct answer handle_setxattr(struct judge *w, const struct request *r)
{
    OWN(named) struct named n;
    int err = pin_and_ask(w, r, OP_FILE_WRITE_XATTR, &n);
    size_t size = err == 0 ? n.rest[2] : 0;
    if (err == 0 && n.rest[2] > XATTR_BYTES)
        err = -E2BIG;
    if (err == 0 && size)
        err = target_read(r, n.rest[1], w->value, size);
    if (err == 0 && !request_is_valid(w, r))
        err = -EPERM;
    if (err < 0)
        return answer_value(err);
    if (S_ISLNK(n.p.st.st_mode))
        return answer_errno(EPERM); /* the kernel keeps user attributes off links anyway */
    char name[32];
    pin_name(&n.p, name);
    return answer_value(setxattr(name, w->path[1], w->value, size, (int)n.rest[3]) < 0 ? -errno
                                                                                       : 0);
}

struct answer handle_removexattr(struct judge *w, const struct request *r)
{
    OWN(named) struct named n;
    int err = pin_and_ask(w, r, OP_FILE_WRITE_XATTR, &n);
    if (err < 0)
        return answer_value(err);
    if (S_ISLNK(n.p.st.st_mode))
        return answer_errno(EPERM);
    char name[32];
    pin_name(&n.p, name);
    return answer_value(removexattr(name, w->path[1]) < 0 ? -errno : 0);
}

/* ---- reading ---- */

/* What was read into the value buffer goes to the target; a size of 0 only asks how much it is. */
static struct answer give(struct judge *w, const struct request *r, ssize_t got, uint64_t addr,
                          size_t size)
{
    if (got < 0)
        return answer_errno(errno);
    int err = size ? target_write(w, r, addr, w->value, (size_t)got) : 0;
    return answer_value(err < 0 ? err : got);
}

/* The kernel reads no more than this either, whatever the target has room for. */
static size_t room(uint64_t size)
{
    return size > XATTR_BYTES ? XATTR_BYTES : (size_t)size;
}

struct answer handle_getxattr(struct judge *w, const struct request *r)
{
    OWN(named) struct named n;
    int err = pin_and_ask(w, r, OP_FILE_READ_XATTR, &n);
    if (err < 0)
        return answer_value(err);
    char name[32];
    size_t size = room(n.rest[2]);
    pin_name(&n.p, name);
    return give(w, r, getxattr(name, w->path[1], w->value, size), n.rest[1], size);
}

struct answer handle_listxattr(struct judge *w, const struct request *r)
{
    OWN(named) struct named n;
    int err = pin_named(w, r, &n);
    if (err == 0)
        err = ask_xattr(w, r, OP_FILE_READ_XATTR, &n.p, NULL);
    if (err < 0)
        return answer_value(err);
    char name[32];
    size_t size = room(n.rest[1]);
    pin_name(&n.p, name);
    return give(w, r, listxattr(name, w->value, size), n.rest[0], size);
}
