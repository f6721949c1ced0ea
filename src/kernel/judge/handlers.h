/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_HANDLERS_H
#define BK_KERNEL_JUDGE_HANDLERS_H

#include "kernel/judge/request.h"

/* handle_open() and all others of syscalls.def: one for each family of judged calls (handle-*.c).
 */
typedef struct answer handler_fn(struct judge *j, const struct request *r);
#define HANDLER(id, name) handler_fn handle_##name;
#include "kernel/plan/syscalls.def"

/* Parts of these that are in other files. */
handler_fn handle_foreground;    /* of ioctl(): TIOCSPGRP */
handler_fn handle_owner;         /* of fcntl(): F_SETOWN */
handler_fn handle_system_socket; /* of socket(): unusual families */
/* Of open(): O_PATH. */
struct answer handle_open_name(struct judge *j, const struct request *r, int dirfd, uint64_t path,
                               int flags);

#endif
