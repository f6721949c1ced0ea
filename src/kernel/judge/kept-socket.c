/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* A list of copies, oldest first. Inode numbers are reused, so it is searched from the newest. */

#include "kernel/judge/kept-socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"

int kept_socket_add(struct kept_sockets *s, int fd)
{
    struct stat st;
    OWN(fd) int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0 || fstat(copy, &st) < 0)
        return -errno;
    pthread_mutex_lock(&s->lock);
    if (s->n == KEPT_SOCKETS) {
        if (s->list[0].fd >= 0)
            close(s->list[0].fd);
        s->n--;
        memmove(s->list, s->list + 1, s->n * sizeof(s->list[0]));
    }
    s->list[s->n++] = (struct kept_socket){st.st_ino, steal_fd(&copy)};
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static struct kept_socket *find_kept(struct kept_sockets *s, ino_t number)
{
    for (uint32_t i = s->n; i-- > 0;)
        if (s->list[i].number == number)
            return &s->list[i];
    return NULL;
}

int kept_socket_copy(struct kept_sockets *s, ino_t number)
{
    pthread_mutex_lock(&s->lock);
    const struct kept_socket *k = find_kept(s, number);
    int copy = !k ? -ENOENT : k->fd < 0 ? -EISCONN : fcntl(k->fd, F_DUPFD_CLOEXEC, 3);
    if (copy == -1)
        copy = -errno;
    pthread_mutex_unlock(&s->lock);
    return copy;
}

void kept_socket_release(struct kept_sockets *s, int fd)
{
    struct stat st;
    if (s->n == 0 || fstat(fd, &st) < 0)
        return;
    pthread_mutex_lock(&s->lock);
    struct kept_socket *k = find_kept(s, st.st_ino);
    if (k && k->fd >= 0)
        close(steal_fd(&k->fd));
    pthread_mutex_unlock(&s->lock);
}
