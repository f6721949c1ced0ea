/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_MCP_INT_H
#define BK_AGENT_MCP_INT_H

#include "agent/job.h"
#include "agent/json.h"
#include "agent/mcp.h"
#include "agent/rpc.h"
#include "kernel/scratch.h"
#include "report/store.h"

enum { MCP_CALLS = 256 };

/* A command, from its call until its answer was given; one in the background until it was read to
 * its end. */
struct call {
    bool used, started, background;
    uint64_t number; /* what the agent calls it by */
    json_t *id;      /* of the request that waits for it; NULL: none does */
    json_t *token;   /* whom to tell of progress, or NULL */
    char *command, *shell;
    uint32_t timeout_ms;
    bool sandboxed;
    const char *reason; /* why so */
    struct job job;
    uint64_t told_ms, told_bytes, ended_ms;
    uint64_t asked; /* number of the question that it waits for; 0: none */
};

struct mcp {
    const struct mcp_options *o;
    struct rpc rpc;
    struct store *store;
    struct scratch scratch; /* commands' TMPDIR */
    struct call calls[MCP_CALLS];
    uint64_t last_number, last_question;
    char root[4096]; /* where it began: the project, for settings and for the sandbox */
    char cwd[4096];  /* where the next command begins */
    bool initialized, asks, watched; /* the client can ask the person; wants to hear of events */
};

/* mcp-tools.c */
json_t *mcp_tools(void); /* their description */
void mcp_call_tool(struct mcp *m, const json_t *id, const json_t *params);
/* What came of it, when something did: answers its request. */
void mcp_tend(struct mcp *m, struct call *c);
void mcp_cancel(struct mcp *m, const json_t *request);
void mcp_answered(struct mcp *m, uint64_t question, const json_t *result);
void call_free(struct call *c);

/* mcp-resources.c */
json_t *mcp_resources(void);
void mcp_read_resource(struct mcp *m, const json_t *id, const char *uri);

/* A tool's answer. */
json_t *mcp_text(const char *text, size_t n, bool is_error, json_t *structured);

/* Settings as they are now. */
int mcp_view(const struct mcp *m, struct agent_view *v, struct bk_err *err);

uint64_t mcp_now_ms(void);

#endif
