/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_HOOK_INSTALL_H
#define BK_CLI_AGENT_HOOK_INSTALL_H

#include <stdbool.h>

#include "base/err.h"

/* Writes `buckle hook` into an agent's configuration, or takes it out again; everything else in the
 * file stays. agent: a name, or the path of a file. */
int hook_install(const char *agent, bool project, bool install, struct bk_err *err);

#endif
