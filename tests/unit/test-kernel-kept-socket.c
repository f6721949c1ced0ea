/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Sockets that are kept until they are connected. */

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/judge/kept-socket.h"
#include "tap.h"

static struct kept_sockets kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static ino_t number_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

/* Adds a new socket and closes all copies except the table's. */
static ino_t keep(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ino_t number = number_of(fd);
    kept_socket_add(&kept, fd);
    close(fd);
    return number;
}

int main(void)
{
    is_int(kept_socket_copy(&kept, 1), -ENOENT, "nothing is known of strangers");
    ino_t first = keep();
    int copy = kept_socket_copy(&kept, first);
    ok(copy >= 0 && number_of(copy) == first, "a copy is the same socket");

    /* whether the other end notices that all other copies are closed */
    int ends[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        return 1;
    ino_t number = number_of(ends[0]);
    kept_socket_add(&kept, ends[0]);
    is_int(recv(ends[1], &byte, 1, MSG_DONTWAIT), -1, "somebody has it open");
    kept_socket_release(&kept, ends[0]);
    close(ends[0]);
    is_int(recv(ends[1], &byte, 1, MSG_DONTWAIT), 0, "nobody, once it was let go");
    is_int(kept_socket_copy(&kept, number), -EISCONN, "which is remembered");
    kept_socket_release(&kept, ends[1]);
    ok(kept_socket_copy(&kept, first) >= 0, "others stay");

    ino_t last = 0;
    for (int i = 0; i < KEPT_SOCKETS; i++)
        last = keep();
    is_int(kept_socket_copy(&kept, first), -ENOENT, "the oldest is forgotten");
    ok(kept_socket_copy(&kept, last) >= 0, "not the newest");
    is_int(kept.n, KEPT_SOCKETS, "and there are no more than so many");
    return done_testing();
}
