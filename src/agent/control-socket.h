/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_CONTROL_SOCKET_H
#define BK_AGENT_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * How the person reaches a run or a session that is under way, and nothing inside a sandbox can: a
 * socket in the abstract namespace, so that there is no file to leave behind, named after the user
 * and the process that keeps it. Four things keep a sandbox out, each without the others:
 *
 *   the name    a sandbox has a network of its own, or Landlock's scope, and does not see it; and
 *               no judge connects to such a name (kernel/role.h)
 *   the person  who knocks is looked at (caller.h)
 *   the key     then he shows what only those can read who may look into the keeper's process. It
 *               has no name: it is a file in memory, a descriptor of the keeper's. A process in a
 *               Landlock domain, and so every sandboxed one and its judge, may not look there
 *   the keeper  who knocks looks at who listens in the same way, so that no command takes a door's
 *               name and hears keys and grants, or hands out grants of its own
 *
 * Messages keep their bounds (SOCK_SEQPACKET), and are at most DOOR_MESSAGE bytes. The first is the
 * key.
 */
enum { DOOR_MESSAGE = 64 << 10 };

/* A listening socket for this process, and the key to it. kind: "run" or "session". */
int control_socket_open(const char *kind, int *key, struct bk_err *err);
/* Says for whom this process keeps its door, see control_socket_owner(); fails when another one
 * does already. A listening socket: who connects has learned what he wanted, and is to be closed.
 */
int control_socket_claim(const char *kind, pid_t for_whom, struct bk_err *err);
/* Somebody who may show a key: a connected socket, or -1 when nobody is there who may. Never waits.
 */
int control_socket_answer(int door);
bool control_socket_key_fits(int key, const void *shown, size_t n);

/* The processes of this user that keep such a door; how many there are, of which at most cap are
 * filled in. */
size_t control_socket_list(const char *kind, pid_t *pids, size_t cap);
/* The process that keeps a door for that one (a session for an agent); 0: none, or none that can be
 * trusted. */
pid_t control_socket_owner(const char *kind, pid_t for_whom);
/* A connection to the door of that process, which is looked at too; the key has been shown. */
int control_socket_connect(const char *kind, pid_t pid, struct bk_err *err);

#endif
