/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_CALLER_H
#define BK_AGENT_CALLER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether the process at the other end of a Unix socket may speak for the person, as far as the
 * kernel tells: the same user, in the same namespaces, behind no more system call filters than we
 * are, and neither one of Buckle's processes that act for a command nor a descendant of one.
 *
 * A judge fails the last test wherever it runs. It makes connections for its command, with its own
 * credentials, and nothing else tells it from the person where there are no namespaces.
 *
 * pid: who it is (for a listening peer, who listens). It is set in any case; 0 when nobody knows.
 */
bool who_is_person(int sock, pid_t *pid);

#endif
