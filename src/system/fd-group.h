/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SYSTEM_FD_GROUP_H
#define BK_SYSTEM_FD_GROUP_H

#include <stdbool.h>
#include <stdint.h>

/* Several descriptors behind one, which is readable while one of them is ready: epoll or kqueue. */
int fd_group_open(void); /* -1 and errno */
/* tag: what fd_group_next() returns for it. */
int fd_group_add(int group, int fd, uint64_t tag);
/* Whether to wait for room to write as well. */
int fd_group_writes(int group, int fd, uint64_t tag, bool writes);
void fd_group_remove(int group, int fd);
/* Returns 1 with the tag of one that is ready, 0 if none is, or -1 and errno. */
int fd_group_next(int group, uint64_t *tag);

/* ---- to be put in a group, or polled ---- */

/* A descriptor that is readable while it is raised. */
int fd_flag_open(void);
void fd_flag_set(int flag, bool raised);

/* A descriptor that becomes readable after a time, once. fd_timer_clear() after it has. */
int fd_timer_open(void);
int fd_timer_set(int timer, unsigned milliseconds);
void fd_timer_clear(int timer);

#endif
