/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PROFILE_LINUX_SUPPORT_H
#define BK_CLI_PROFILE_LINUX_SUPPORT_H

#include <stdbool.h>

#include "vocab/vocab.h"

/* Whether any action of a Linux program is this operation. Rules on other operations are kept, but
 * never decide on Linux. */
bool linux_has_operation(enum vocab_op op);

#endif
