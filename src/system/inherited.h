/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SYSTEM_INHERITED_H
#define BK_SYSTEM_INHERITED_H

#include <stdbool.h>

#include "base/buf.h"

/* Appends what programs inherit from this process besides variables, folder and descriptors: user,
 * umask, limits, priority, signals, namespaces, control group. Returns false if that is not known.
 */
bool process_put_inherited(struct buf *out);

/* Before this process changes them: which signals are blocked, and which of those that the C
 * library keeps for itself are ignored. Its threads handle them, and a program that is executed
 * then would find them neither handled nor ignored. */
void process_remember_signals(void);
/* As they were, for a program that is executed next. */
void process_restore_signals(void);

#endif
