/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SYSTEM_SEATBELT_H
#define BK_SYSTEM_SEATBELT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Seatbelt, the sandbox in macOS's kernel. Only macOS has it. */

/* Whether a process can confine itself: the functions are not in a public header, and may go. */
bool seatbelt_can_enter(void);
/* Confines this process by a profile, for good. Returns 0, or -1 with the reason in why[]. */
int seatbelt_enter(const char *profile, char *why, size_t n);

/* Whether the process at the other end of a local socket is confined; true if that is unknown. */
bool seatbelt_confines_peer(int sock);
bool seatbelt_confines(pid_t pid);

#endif
