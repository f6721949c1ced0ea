/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SHARED_FD_PASS_H
#define BK_KERNEL_SHARED_FD_PASS_H

#include <stddef.h>
#include <sys/types.h>

/* Messages over a Unix socket that may carry file descriptors. Nothing allocates. Sandboxes around
 * us may refuse send(), but hardly sendmsg(), which needs no network. */

/* fd -1: none. Returns 0 or a negative errno. */
int fd_pass_send(int sock, const void *data, size_t n, int fd);
/* Returns the message's length, 0 at the end of the stream, or a negative errno. *fd is -1 if the
 * message has none; it is close-on-exec. */
ssize_t fd_pass_receive(int sock, void *data, size_t n, int *fd);

/* The same with many: at most FD_PASS_MANY. Closes all of them if more than cap arrive. *got is how
 * many there are. */
enum { FD_PASS_MANY = 250 };
int fd_pass_send_many(int sock, const void *data, size_t n, const int *fds, size_t nfds);
/* The same without waiting: -EAGAIN if the other end is slow. */
int fd_pass_try_many(int sock, const void *data, size_t n, const int *fds, size_t nfds);
ssize_t fd_pass_receive_many(int sock, void *data, size_t n, int *fds, size_t cap, size_t *got);
/* The same without waiting: -EAGAIN if there is no message. */
ssize_t fd_pass_poll_many(int sock, void *data, size_t n, int *fds, size_t cap, size_t *got);

#endif
