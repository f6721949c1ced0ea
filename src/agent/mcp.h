/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_MCP_H
#define BK_AGENT_MCP_H

#include "agent/agent-view.h"
#include "base/err.h"

/* `buckle mcp`: a sandboxed shell for agents that speak the Model Context Protocol. */
struct mcp_options {
    const char *program; /* this one */
    const char *shell;
    const char *const *settings; /* files besides those that are found */
    size_t nsettings;
    enum permission_mode mode;
    bool planning, grantable;
    bool here;               /* also in the home directory, and in / */
    uint32_t timeout_ms;     /* of commands that name none */
    uint32_t max_timeout_ms; /* of those that do */
    uint32_t max_procs;      /* of a command */
    size_t max_output;       /* bytes of each stream that are kept */
};

/* Serves until the client is gone. Everything that still runs then is ended. */
int mcp_serve(const struct mcp_options *o, int in, int out, struct bk_err *err);

#endif
