/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "kernel/shared/policy-update.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/shared/fd-pass.h"

enum { MAGIC = 0x62634c50, LONGEST = 64 << 20 };
enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

int policy_update_make(const void *bytes, size_t n)
{
    if (n == 0 || n > LONGEST)
        return -E2BIG;
    OWN(fd) int fd = memfd_create("policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    for (size_t at = 0; at < n;) {
        ssize_t put = write(fd, (const char *)bytes + at, n - at);
        if (put < 0 && errno != EINTR)
            return -errno;
        at += put > 0 ? (size_t)put : 0;
    }
    return fcntl(fd, F_ADD_SEALS, SEALS) < 0 ? -errno : steal_fd(&fd);
}

int policy_update_send(int sock, uint32_t number, int sealed)
{
    struct policy_update what = {MAGIC, number};
    return fd_pass_send(sock, &what, sizeof(what), sealed);
}

int policy_update_try(int sock, uint32_t number, int sealed)
{
    struct policy_update what = {MAGIC, number};
    return fd_pass_try_many(sock, &what, sizeof(what), &sealed, 1);
}

/* Accepts only memory that cannot change while we read it and is no larger than it claims. */
static struct graph *compile(const struct launch *l, int sealed)
{
    struct stat st;
    int seals = fcntl(sealed, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(sealed, &st) < 0 || st.st_size <= 0 ||
        st.st_size > LONGEST)
        return NULL;
    void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, sealed, 0);
    if (bytes == MAP_FAILED)
        return NULL;
    struct graph *g = l->compile(l->run, bytes, (size_t)st.st_size);
    munmap(bytes, (size_t)st.st_size);
    return g;
}

int policy_update_receive(int sock, const struct launch *l, struct graph **out,
                          struct policy_update *what, int *sealed)
{
    OWN(fd) int fd = -1;
    ssize_t n = fd_pass_receive(sock, what, sizeof(*what), &fd);
    if (n <= 0)
        return n == 0 ? -EPIPE : (int)n;
    if (n != sizeof(*what) || what->magic != MAGIC || fd < 0 || !l->compile)
        return UPDATE_NOTHING;
    struct graph *g = compile(l, fd);
    if (!g)
        return UPDATE_NOTHING;
    *out = g;
    if (sealed)
        *sealed = steal_fd(&fd);
    return UPDATE_POLICY;
}
