/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_POLICY_TARGET_H
#define BK_POLICY_TARGET_H

#include "settings/access.h"

/* Whether commands run under macOS's sandbox-exec here (src/macos). */
bool policy_on_macos(void);

/* The target of policies for commands that run here. */
struct access_target policy_target_here(void);

#endif
