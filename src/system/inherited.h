/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SYSTEM_INHERITED_H
#define BK_SYSTEM_INHERITED_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/sha256.h"

/* A digest of what programs inherit from a process (0: this one) besides variables, folder,
 * descriptors, blocked signals and the namespaces that control sockets compare (agent/caller.h):
 * user, umask, limits, priority, ignored signals, other namespaces, control group. Returns false
 * if that is not known. */
bool process_inherited(pid_t pid, char out[SHA256_HEX + 1]);
/* Appends which signals were blocked when process_remember_signals() was called. */
void process_put_blocked(struct buf *out);

/* Before this process changes them: which signals are blocked, and which of those that the C
 * library keeps for itself are ignored. Its threads handle them, and a program that is executed
 * then would find them neither handled nor ignored. */
void process_remember_signals(void);
/* As they were, for a program that is executed next. */
void process_restore_signals(void);

#endif
