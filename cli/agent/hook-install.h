/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_HOOK_INSTALL_H
#define BK_CLI_AGENT_HOOK_INSTALL_H

#include <stdbool.h>

#include "base/err.h"

struct hook_install {
    const char *agent; /* a name of agents.def, or the path of a file in the format of the first */
    bool project;      /* the project's files, not the user's */
    bool install;      /* or remove */
    bool mcp;          /* the MCP server instead of hooks */
    bool dry;          /* print the difference, change nothing */
};

/* Adds Buckle to an agent's configuration, or removes it. Everything else in the files stays byte
 * for byte. Returns 0 or -1. */
int hook_install(const struct hook_install *how, struct bk_err *err);

#endif
