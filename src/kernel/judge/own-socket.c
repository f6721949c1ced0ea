/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Recognises sockets by inode, not by name: the name of a removed socket is free for any process,
 * even a server outside. File systems often reuse an inode number at once, so each socket is held
 * open with O_PATH for as long as it is remembered.
 */

#include "kernel/judge/own-socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"

static void forget_socket(struct own_sockets *s, uint32_t i)
{
    close(s->list[i].fd);
    s->n--;
    memmove(&s->list[i], &s->list[i + 1], (s->n - i) * sizeof(s->list[0]));
}

static void make_room(struct own_sockets *s)
{
    struct stat st;
    for (uint32_t i = s->n; i-- > 0;)
        if (fstat(s->list[i].fd, &st) < 0 || st.st_nlink == 0)
            forget_socket(s, i);
    if (s->n == OWN_SOCKETS)
        forget_socket(s, 0);
}

int own_socket_add(struct own_sockets *s, int folder, const char *name)
{
    struct stat st;
    OWN(fd) int fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISSOCK(st.st_mode))
        return -ENOTSOCK;
    if (s->n == OWN_SOCKETS)
        make_room(s);
    s->list[s->n++] = (struct own_socket){steal_fd(&fd), st.st_dev, st.st_ino};
    return 0;
}

bool own_socket_is(const struct own_sockets *s, int fd)
{
    struct stat st;
    if (s->n == 0 || fstat(fd, &st) < 0)
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->list[i].ino == st.st_ino && s->list[i].dev == st.st_dev)
            return true;
    return false;
}
