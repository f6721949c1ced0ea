/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_CALLER_H
#define BK_AGENT_CALLER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether the process at the other end of a Unix socket may act for the user: same uid, same
 * namespaces, no more seccomp filters than we have, and neither a Buckle process that acts for a
 * command nor a descendant of one.
 *
 * A judge always fails the last check. It connects on its command's behalf with its own
 * credentials, and without namespaces nothing else distinguishes it from the user.
 *
 * *pid is set in any case: the peer's process (for a listening peer, the listener), or 0 if
 * unknown.
 */
bool caller_is_user(int sock, pid_t *pid);

/* Whether a process is neither a Buckle process that acts for a command nor a descendant of one.
 * Unlike caller_is_user() it does not compare namespaces and filters: browsers have their own. */
bool caller_is_outside(pid_t pid);

#endif
