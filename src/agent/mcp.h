/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_MCP_H
#define BK_AGENT_MCP_H

#include "agent/agent-view.h"
#include "base/err.h"

struct session_world;

/* `buckle mcp`: a sandboxed shell for agents that use the Model Context Protocol. */
struct mcp_options {
    const char *program; /* our own path */
    const char *shell;
    const char *const *settings; /* files besides the standard ones */
    size_t nsettings;
    enum permission_mode mode;
    bool planning, grantable;
    bool here; /* allow the home directory and / as the project */
    /* what its commands write to, or NULL (agent/session.h) */
    const struct session_world *world;
    bool no_spare;           /* keep no sandbox ready (mcp-spare.c) */
    uint32_t timeout_ms;     /* default for commands */
    uint32_t max_timeout_ms; /* upper limit */
    uint32_t max_procs;      /* per command */
    size_t max_output;       /* bytes to keep per stream */
};

/* Serves until the client disconnects, then kills all remaining commands. */
int mcp_serve(const struct mcp_options *o, int in, int out, struct bk_err *err);

#endif
