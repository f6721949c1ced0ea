/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_HOOK_INSTALL_H
#define BK_CLI_AGENT_HOOK_INSTALL_H

#include <stdbool.h>

#include "base/err.h"

/* Adds `buckle hook` to an agent's configuration, or removes it, and keeps the rest of the file.
 * `agent` is a name or the path of a file. Returns 0 or -1. */
int hook_install(const char *agent, bool project, bool install, struct bk_err *err);

#endif
