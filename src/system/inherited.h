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

#endif
