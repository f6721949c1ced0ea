/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PROFILE_LINUX_SUPPORT_H
#define BK_CLI_PROFILE_LINUX_SUPPORT_H

#include <stdbool.h>

#include "vocab/vocab.h"

/* Whether anything a Linux program does can ask for this operation. Rules on the others are kept
 * but never decide anything there. */
bool linux_has_operation(enum vocab_op op);

#endif
