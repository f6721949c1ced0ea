/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_CONTROL_PLACE_H
#define BK_AGENT_CONTROL_PLACE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Where control sockets (control-socket.h) and their keys are: each system has its own places. */
enum { CONTROL_KEY = 32 };

/* A socket of this kind for a process (fd_packet_socket()); does not block. */
int control_place_listen(const char *kind, pid_t pid, struct bk_err *err);
/* -1 and errno on failure. */
int control_place_connect(const char *kind, pid_t pid);

/* Creates this process's key, or reads another one's. The key exists only in the file, not in
 * memory, which a fork would copy. */
int control_place_make_key(const char *kind, struct bk_err *err);
int control_place_read_key(const char *kind, pid_t pid, char bytes[CONTROL_KEY]);

#endif
