/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_CONTROL_SOCKET_H
#define BK_AGENT_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * How the user reaches a running sandbox or session, and no sandboxed process can: a Unix socket in
 * the abstract namespace, which leaves no file behind, named after the user and the serving
 * process. Four independent measures keep a sandbox out:
 *
 *   the name    a sandbox has its own network namespace, or Landlock's scope, and can't connect to
 *               the name; judges refuse to connect to such names (kernel/shared/roles.h)
 *   the client  the server checks the connecting process (caller.h)
 *   the key     the client sends a secret that only processes can read that may trace the server:
 *               a file in memory, open in the server. Processes in a Landlock domain, so every
 *               sandboxed one and its judge, may not
 *   the server  the client checks the listening process in the same way, so that no command can
 *               take the name and collect keys, or answer with grants of its own
 *
 * Messages keep their boundaries (SOCK_SEQPACKET) and have at most CONTROL_MESSAGE bytes. The first
 * is the key.
 */
enum { CONTROL_MESSAGE = 64 << 10 };

/* Opens the listening socket of this process and creates its key. kind: "run" or "session". */
int control_socket_open(const char *kind, int *key, struct bk_err *err);
/* Registers this process as the server for another one, see control_socket_owner(). Fails if that
 * one has a server already. Returns a listening socket; close each connection to it. */
int control_socket_claim(const char *kind, pid_t for_whom, struct bk_err *err);
/* Accepts a client that may send a key. Returns -1 if there is none. Never blocks. *pid: which
 * process that is. */
int control_socket_accept(int listener, pid_t *pid);
bool control_socket_key_fits(int key, const void *shown, size_t n);

/* Lists this user's processes with such a socket. Returns how many there are; fills in at
 * most cap. */
size_t control_socket_list(const char *kind, pid_t *pids, size_t cap);
/* The process that serves another one (a session for an agent); 0 if there is none or it can't be
 * trusted. */
pid_t control_socket_owner(const char *kind, pid_t for_whom);
/* Connects to a process's socket, checks the process and sends the key. */
int control_socket_connect(const char *kind, pid_t pid, struct bk_err *err);
/* The same in two steps: the server checks this process while it does something else. */
int control_socket_reach(const char *kind, pid_t pid, struct bk_err *err);
int control_socket_enter(int sock, const char *kind, pid_t pid, struct bk_err *err);

#endif
