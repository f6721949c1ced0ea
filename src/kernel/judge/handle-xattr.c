/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Extended attributes: setting, removing, reading and listing them. All of it uses the pinned
 * object's path among our own descriptors, because the calls that take a descriptor refuse O_PATH.
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
#include "kernel/launch/layers.h"

enum { ATTRIBUTE_NAME = 255 };

/* Copies the attribute's name into the second path buffer. */
static int attribute_name(struct judge *j, const struct request *r, uint64_t addr)
{
    int n = target_string(r, addr, j->path[1]);
    if (n == -ENAMETOOLONG || n > ATTRIBUTE_NAME || n == 0)
        return -ERANGE;
    return n < 0 ? n : request_is_valid(j, r) ? 0 : -EPERM;
}

static int pin_and_ask(struct judge *j, const struct request *r, enum vocab_op op, struct named *n)
{
    int found = pin_named(j, r, n);
    int err = n->rest ? attribute_name(j, r, n->rest[0]) : -ENOSYS;
    if (err == 0)
        err = found;
    return err == 0 ? ask_xattr(j, r, op, &n->p, j->path[1]) : err;
}

/* The overlay of a world marks files with attributes, which are read again when the world is kept.
 * Nothing inside may look like its marks. */
static bool is_overlays(const struct judge *j, const struct pinned *p)
{
    const char *name = j->path[1];
    return (strncmp(name, "user.overlay.", 13) == 0 ||
            strncmp(name, "trusted.overlay.", 16) == 0) &&
           j->layers && layers_world_at(j->layers, p->path, p->path_len, &p->st);
}

struct answer handle_setxattr(struct judge *j, const struct request *r)
{
    OWN(named) struct named n;
    int err = pin_and_ask(j, r, OP_FILE_WRITE_XATTR, &n);
    size_t size = err == 0 ? n.rest[2] : 0;
    if (err == 0 && n.rest[2] > XATTR_BYTES)
        err = -E2BIG;
    if (err == 0 && is_overlays(j, &n.p))
        err = -EPERM;
    if (err == 0 && size)
        err = target_read(r, n.rest[1], j->value, size);
    if (err == 0 && !request_is_valid(j, r))
        err = -EPERM;
    if (err < 0)
        return answer_value(err);
    if (S_ISLNK(n.p.st.st_mode))
        return answer_errno(EPERM); /* the kernel allows no user attributes on symlinks anyway */
    link_set_copy(j, &n.p, false);
    char name[32];
    pin_name(&n.p, name);
    return answer_value(setxattr(name, j->path[1], j->value, size, (int)n.rest[3]) < 0 ? -errno
                                                                                       : 0);
}

struct answer handle_removexattr(struct judge *j, const struct request *r)
{
    OWN(named) struct named n;
    int err = pin_and_ask(j, r, OP_FILE_WRITE_XATTR, &n);
    if (err < 0)
        return answer_value(err);
    if (S_ISLNK(n.p.st.st_mode))
        return answer_errno(EPERM);
    link_set_copy(j, &n.p, false);
    char name[32];
    pin_name(&n.p, name);
    return answer_value(removexattr(name, j->path[1]) < 0 ? -errno : 0);
}

/* ---- reading ---- */

/* Writes the value buffer to the target; a size of 0 only asks for the length. */
static struct answer write_value(struct judge *j, const struct request *r, ssize_t got,
                                 uint64_t addr, size_t size)
{
    if (got < 0)
        return answer_errno(errno);
    int err = size ? target_write(j, r, addr, j->value, (size_t)got) : 0;
    return answer_value(err < 0 ? err : got);
}

/* The kernel's own limit, whatever size the target gives. */
static size_t value_size(uint64_t size)
{
    return size > XATTR_BYTES ? XATTR_BYTES : (size_t)size;
}

struct answer handle_getxattr(struct judge *j, const struct request *r)
{
    OWN(named) struct named n;
    int err = pin_and_ask(j, r, OP_FILE_READ_XATTR, &n);
    if (err < 0)
        return answer_value(err);
    char name[32];
    size_t size = value_size(n.rest[2]);
    pin_name(&n.p, name);
    return write_value(j, r, getxattr(name, j->path[1], j->value, size), n.rest[1], size);
}

struct answer handle_listxattr(struct judge *j, const struct request *r)
{
    OWN(named) struct named n;
    int err = pin_named(j, r, &n);
    if (err == 0)
        err = ask_xattr(j, r, OP_FILE_READ_XATTR, &n.p, NULL);
    if (err < 0)
        return answer_value(err);
    char name[32];
    size_t size = value_size(n.rest[1]);
    pin_name(&n.p, name);
    return write_value(j, r, listxattr(name, j->value, size), n.rest[0], size);
}
