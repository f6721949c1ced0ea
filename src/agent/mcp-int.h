/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_MCP_INT_H
#define BK_AGENT_MCP_INT_H

#include "agent/job.h"
#include "agent/json.h"
#include "agent/mcp.h"
#include "agent/rpc.h"
#include "agent/session.h"

enum { MCP_CALLS = 256 };

/* A command, from the call to its answer; in the background, until its last output was read. */
struct call {
    bool used, started, background, bypass, sandboxed;
    bool over;       /* ended, and all its events have arrived */
    uint64_t number; /* its id for the agent and the session, once started */
    json_t *id;      /* of the pending request, or NULL */
    json_t *token;   /* for progress notifications, or NULL */
    char *command;
    char *shell; /* chosen by the agent, or NULL */
    uint32_t timeout_ms;
    struct job job;
    uint64_t progress_ms, progress_bytes, ended_ms;
    uint64_t asked;     /* number of the pending question; 0: none */
    bool asked_outside; /* it is about running outside */
    uint64_t denied;    /* operations */
};

/* A question about a protected name or a host, while the client asks the user. */
enum { MCP_QUESTIONS = 32 };
struct mcp_question {
    uint64_t asked; /* its number; 0: unused */
    uint64_t run;
    uint32_t id;       /* for session_answer() */
    bool command;      /* about starting one */
    const char *class; /* else NULL: a host */
    char where[300];   /* then: the host and port; of a command, the rule's pattern */
};

struct mcp {
    const struct mcp_options *o;
    struct rpc rpc;
    struct session session; /* collects denials and grants; has the TMPDIR of commands */
    struct call calls[MCP_CALLS];
    uint64_t last_question;
    struct mcp_question questions[MCP_QUESTIONS];
    char root[4096];                 /* the start folder: the project, for settings and sandbox */
    char cwd[4096];                  /* where the next command begins */
    bool initialized, asks, watched; /* the client can ask the user; it subscribed to events */
    bool events_pending;             /* events not reported yet */
    bool can_wait; /* a spare could be used with the settings of the last command */
    struct mcp_spare {
        bool used; /* there is one, perhaps still being prepared */
        struct job job;
        uint64_t number; /* in the session */
        uint64_t since_ms;
        uint64_t wanted_ms; /* when to make the next one, or 0 */
    } spare;
    uint64_t events_ms; /* when events were last reported */
};

/* As `buckle grant` does. */
void mcp_grant(struct mcp *m, const char *option, const char *what);

/* Minimum time between notifications. */
enum { MCP_PAUSE_MS = 200 };

/* mcp-call.c */
struct call *call_new(struct mcp *m); /* NULL: too many. Drops the oldest finished job if needed */
struct call *call_find(struct mcp *m, uint64_t number);
void call_free(struct call *c);
/* Starts the command, asks the user or refuses it; a refusal answers the request. */
void call_decide(struct mcp *m, struct call *c);
int call_status(const struct call *c); /* as a shell reports it */
/* Appends output for the agent to text: stdout and stderr, plus violations and exit status once it
 * has ended. annotated gets stderr with violations. Returns the number of violations. */
size_t call_text(struct mcp *m, const struct call *c, const struct buf *out, const struct buf *err,
                 struct buf *annotated, struct buf *text);
/* Reports progress, and answers the request when the command is done. */
void mcp_update_call(struct mcp *m, struct call *c);
void mcp_on_count(void *arg, uint64_t run, uint64_t denied); /* for the session */
void mcp_cancel(struct mcp *m, const json_t *request);
void mcp_answered(struct mcp *m, uint64_t question, const json_t *result);

/* mcp-spare.c: a sandbox that is ready for the next command */
void mcp_spare_prepare(struct mcp *m);   /* unless there is one, or none can be used */
void mcp_spare_soon(struct mcp *m);      /* the same in a moment */
int mcp_spare_wait(const struct mcp *m); /* milliseconds until then, or -1 */
void mcp_spare_drop(void *m);
/* Drops one that is old or has failed, and makes one that is due. */
void mcp_spare_tick(struct mcp *m);
/* Starts the call's command in it. Returns false if that has to be done as usual. */
bool mcp_spare_use(struct mcp *m, struct call *c);
struct job_spec mcp_job_spec(const struct mcp *m, const struct call *c, int session);

/* mcp-question.c: questions about protected names and hosts */
bool mcp_on_question(void *arg, uint64_t run, const json_t *question); /* for the session */
/* Whether the answer was for one of them. */
bool mcp_question_answered(struct mcp *m, uint64_t question, const json_t *result);

/* mcp-tools.c */
json_t *mcp_tools(void); /* their descriptions */
void mcp_call_tool(struct mcp *m, const json_t *id, const json_t *params);

/* Results of tools. */
json_t *mcp_text(const char *text, size_t n, bool is_error, json_t *structured);
void mcp_refuse(struct mcp *m, const json_t *id, const char *why);
void mcp_refuse_error(struct mcp *m, const json_t *id, const struct bk_err *err);
json_t *mcp_string(const char *s,
                   size_t n); /* s may be NULL; an empty string if it is not valid UTF-8 */

/* mcp-resources.c */
json_t *mcp_resources(void);
void mcp_read_resource(struct mcp *m, const json_t *id, const char *uri);

/* Reads the current settings. */
int mcp_view(const struct mcp *m, struct agent_view *v, struct bk_err *err);

#endif
