/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_MCP_INT_H
#define BK_AGENT_MCP_INT_H

#include "agent/job.h"
#include "agent/json.h"
#include "agent/mcp.h"
#include "agent/rpc.h"
#include "agent/session.h"
#include "kernel/launch/tmpdir.h"

enum { MCP_CALLS = 256 };

/* A command, from its call until its answer was given; one in the background until it was read to
 * its end. */
struct call {
    bool used, started, background, bypass, sandboxed;
    bool over;       /* it has ended, and all that it had to tell was heard */
    uint64_t number; /* what the agent and the session call it by, once it was started */
    json_t *id;      /* of the request that waits for it; NULL: none does */
    json_t *token;   /* whom to tell of progress, or NULL */
    char *command;
    char *shell; /* one of the agent's choice, or NULL */
    uint32_t timeout_ms;
    struct job job;
    uint64_t told_ms, told_bytes, ended_ms;
    uint64_t asked; /* number of the question that it waits for; 0: none */
};

struct mcp {
    const struct mcp_options *o;
    struct rpc rpc;
    struct session session; /* it is a session: what was denied, and granted */
    struct tmpdir scratch;  /* commands' TMPDIR */
    struct call calls[MCP_CALLS];
    uint64_t last_question;
    char root[4096]; /* where it began: the project, for settings and for the sandbox */
    char cwd[4096];  /* where the next command begins */
    bool initialized, asks, watched; /* the client can ask the person; wants to hear of events */
    bool news;                       /* there are some */
    uint64_t news_ms;                /* when it was told last */
};

/* How often a client is told of what goes on, at most: as somebody could read. */
enum { MCP_PAUSE_MS = 200 };

/* mcp-call.c */
struct call *call_new(struct mcp *m); /* NULL: too many; the oldest that ended makes room */
struct call *call_find(struct mcp *m, uint64_t number);
void call_free(struct call *c);
/* Starts it, asks about it or refuses it, and answers its request in the latter case. */
void call_decide(struct mcp *m, struct call *c);
int call_status(const struct call *c); /* as a shell would have it */
/* What of its output is to be shown, with what was denied and how it ended when it has; the error
 * output alone with the former, too. How much was denied. */
size_t call_text(struct mcp *m, const struct call *c, const struct buf *out, const struct buf *err,
                 struct buf *annotated, struct buf *text);
/* Tells what is new; answers its request when it is done. */
void mcp_tend(struct mcp *m, struct call *c);
void mcp_cancel(struct mcp *m, const json_t *request);
void mcp_answered(struct mcp *m, uint64_t question, const json_t *result);

/* mcp-tools.c */
json_t *mcp_tools(void); /* their description */
void mcp_call_tool(struct mcp *m, const json_t *id, const json_t *params);

/* A tool's answers. */
json_t *mcp_text(const char *text, size_t n, bool is_error, json_t *structured);
void mcp_refuse(struct mcp *m, const json_t *id, const char *why);
void mcp_refuse_error(struct mcp *m, const json_t *id, const struct bk_err *err);
json_t *mcp_string(const char *s, size_t n); /* s may be NULL; empty when it is no text */

/* mcp-resources.c */
json_t *mcp_resources(void);
void mcp_read_resource(struct mcp *m, const json_t *id, const char *uri);

/* Settings as they are now. */
int mcp_view(const struct mcp *m, struct agent_view *v, struct bk_err *err);

#endif
