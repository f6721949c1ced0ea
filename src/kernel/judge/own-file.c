/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "kernel/judge/own-file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static bool describe(int fd, struct own_file *out)
{
    struct statx st;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) < 0 ||
        !(st.stx_mask & STATX_BTIME))
        return false;
    *out = (struct own_file){makedev(st.stx_dev_major, st.stx_dev_minor), st.stx_ino,
                             st.stx_btime.tv_sec, st.stx_btime.tv_nsec};
    return true;
}

bool own_file_is(const struct own_files *o, int fd)
{
    struct own_file f;
    uint32_t n = o->n < OWN_FILES ? o->n : OWN_FILES;
    if (n == 0 || !describe(fd, &f))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (o->list[i].ino == f.ino && o->list[i].dev == f.dev && o->list[i].born == f.born &&
            o->list[i].born_ns == f.born_ns)
            return true;
    return false;
}

void own_file_add(struct own_files *o, int fd)
{
    struct own_file f;
    if (!describe(fd, &f) || own_file_is(o, fd))
        return;
    o->list[o->n % OWN_FILES] = f;
    o->n = o->n + 1 == 2 * OWN_FILES ? OWN_FILES : o->n + 1;
}
