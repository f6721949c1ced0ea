/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Each agent has its own message format ("dialect") for the same content. The working directory in
 * a message is the model's choice; the agent applies it when it runs the answer, so it plays no
 * role here.
 */

#include "agent/hook.h"

#include <stdlib.h>
#include <string.h>

static const char bypass_key[] = "dangerouslyDisableSandbox";

/* Keys and values of one agent's messages. */
static const struct dialect {
    const char *event_key, *event; /* identify its messages */
    const char *tool_key, *input_key;
    const char *tools[4];     /* tools that run shell commands */
    const char *variables[2]; /* environment variables with the project's folder */
    const char *mode_key;
    bool moves; /* its shell tool stays in the folder where the last command ended */
} dialects[] = {
    {"hook_event_name",
     "PreToolUse",
     "tool_name",
     "tool_input",
     {"Bash", "bash", "shell"},
     {"CLAUDE_PROJECT_DIR"},
     "permission_mode",
     true},
    {"hook_event_name",
     "BeforeTool",
     "tool_name",
     "tool_input",
     {"run_shell_command"},
     {"GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"},
     "approval_mode",
     false},
    {"hookEventName",
     "preToolUse",
     "toolName",
     "toolArgs",
     {"bash", "shell", "powershell"},
     {NULL},
     "permissionMode",
     true},
    {"hook_event_name",
     "beforeShellExecution",
     NULL,
     NULL,
     {NULL},
     {"CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR"},
     "permission_mode",
     false},
    {NULL, NULL, NULL, NULL, {NULL}, {NULL}, "mode", true},
};

enum { PRE_TOOL, BEFORE_TOOL, PRE_TOOL_CAMEL, BEFORE_SHELL, PLAIN, DIALECTS };

static int dialect_of(const json_t *message)
{
    bool named =
        json_object_get(message, "hook_event_name") || json_object_get(message, "hookEventName");
    for (int i = 0; named && i < DIALECTS; i++) {
        const char *event = dialects[i].event ? json_text(message, dialects[i].event_key) : NULL;
        if (event && strcmp(event, dialects[i].event) == 0)
            return i;
    }
    if (named)
        return -1;
    /* some agents omit the event's name */
    return json_text(message, "toolName")  ? PRE_TOOL_CAMEL
           : json_text(message, "command") ? PLAIN
                                           : -1;
}

static bool runs_commands(const struct dialect *d, const char *tool, const char *const *more,
                          size_t n)
{
    for (size_t i = 0; i < 4 && d->tools[i]; i++)
        if (strcmp(d->tools[i], tool) == 0)
            return true;
    for (size_t i = 0; i < n; i++)
        if (strcmp(more[i], tool) == 0)
            return true;
    return false;
}

static const char *session_of(const json_t *message)
{
    static const char *const keys[] = {"session_id", "sessionId", "conversation_id"};
    const char *id = NULL;
    for (size_t i = 0; !id && i < sizeof(keys) / sizeof(keys[0]); i++)
        id = json_text(message, keys[i]);
    return id;
}

const char *hook_project(const struct hook_call *call)
{
    const struct dialect *d = &dialects[call->dialect];
    for (size_t i = 0; i < 2 && d->variables[i]; i++) {
        const char *named = getenv(d->variables[i]);
        if (named && named[0] == '/')
            return named;
    }
    return NULL;
}

/* Claude Code takes "ask" for a yes in modes such as bypassPermissions and auto, and earlier
 * versions of Gemini CLI did so always. Any other program has to say whether it asks. */
static void asks_user(const json_t *message, struct hook_call *out)
{
    const json_t *said = json_object_get(message, "asks");
    const char *mode = out->mode ? out->mode : "";
    bool claude = strcmp(mode, "default") == 0 || strcmp(mode, "acceptEdits") == 0;
    out->vouches = out->dialect == PRE_TOOL ? claude : out->dialect == PLAIN && json_is_true(said);
    out->asks = out->vouches || (out->dialect != PRE_TOOL && !said);
    /* ignore the flag if the user might not be asked */
    out->bypass = out->vouches && json_is_true(json_object_get(out->input, bypass_key));
}

int hook_read(const json_t *message, const char *const *tools, size_t ntools, struct hook_call *out)
{
    int which = dialect_of(message);
    if (which < 0)
        return -1;
    const struct dialect *d = &dialects[which];
    *out = (struct hook_call){.dialect = which,
                              .mode = json_text(message, d->mode_key),
                              .cwd = json_text(message, "cwd"),
                              .agent = json_text(message, "agent_id"),
                              .session = session_of(message)};
    if (!d->input_key) {
        out->shell = true;
        out->input = message;
        out->rules = which == PLAIN ? json_object_get(message, "rules") : NULL;
    } else {
        const char *tool = json_text(message, d->tool_key);
        out->input = json_object_get(message, d->input_key);
        out->shell = tool && runs_commands(d, tool, tools, ntools);
        if (!tool || !out->input || (out->shell && !json_is_object(out->input)))
            return -1;
        out->rules_tool = which == PRE_TOOL && strcmp(tool, "Bash") == 0 ? "Bash"
                          : which == BEFORE_TOOL && out->shell           ? "run_shell_command"
                                                                         : NULL;
    }
    out->command = json_text(out->input, "command");
    /* agents put a sub-agent back into the project's folder after each command */
    out->keeps_folder = d->moves && !out->agent;
    asks_user(message, out);
    return 0;
}

/* An unknown mode asks no less than the agent does. A program that has no mode of its own has no
 * rules of its own either. */
enum permission_mode hook_mode(const struct hook_call *call, bool *planning)
{
    enum permission_mode mode = call->dialect == PLAIN ? PERMISSION_PROMPT : PERMISSION_CLIENT;
    *planning = false;
    if (call->mode)
        (void)view_mode(call->mode, &mode, planning);
    return mode;
}

/* ---- answers ---- */

static const char *const effect_words[] = {"client", "allow", "ask", "deny", "client"};

/* A dialect's keys for the decision and its reason; neither without a decision. */
static json_t *decision(enum hook_effect e, const char *key, const char *reason_key,
                        const char *reason)
{
    return e == HOOK_PASS ? json_object()
                          : json_pack("{s:s, s:s}", key, effect_words[e], reason_key, reason);
}

static json_t *replaced_input(const struct hook_call *call, const char *command)
{
    json_t *input = json_copy((json_t *)call->input);
    json_object_set_new(input, "command", json_string(command));
    /* The decision is made, so clear the flag. (One agent merges our input over its own, so
     * removing the key would not clear it.) */
    if (json_object_get(input, bypass_key))
        json_object_set_new(input, bypass_key, json_false());
    return input;
}

static json_t *answer_pre_tool(const struct hook_call *call, enum hook_effect e, const char *reason,
                               const char *command)
{
    json_t *answer = decision(e, "permissionDecision", "permissionDecisionReason", reason);
    json_object_set_new(answer, "hookEventName", json_string("PreToolUse"));
    if (command)
        json_object_set_new(answer, "updatedInput", replaced_input(call, command));
    return json_pack("{s:o}", "hookSpecificOutput", answer);
}

static json_t *answer_before_tool(const struct hook_call *call, enum hook_effect e,
                                  const char *reason, const char *command)
{
    json_t *answer = decision(e, "decision", "reason", reason);
    if (command)
        json_object_set_new(answer, "hookSpecificOutput",
                            json_pack("{s:s, s:o}", "hookEventName", "BeforeTool", "tool_input",
                                      replaced_input(call, command)));
    return answer;
}

static json_t *answer_camel(const struct hook_call *call, enum hook_effect e, const char *reason,
                            const char *command)
{
    json_t *answer = decision(e, "permissionDecision", "permissionDecisionReason", reason);
    if (command)
        json_object_set_new(answer, "modifiedArgs", replaced_input(call, command));
    return answer;
}

/* This dialect can't replace the command. */
static json_t *answer_before_shell(const struct hook_call *call, enum hook_effect e,
                                   const char *reason, const char *command)
{
    (void)call;
    if (!command)
        return json_pack("{s:s, s:s, s:s}", "permission", effect_words[e], "userMessage", reason,
                         "agentMessage", reason);
    return json_pack("{s:s, s:s, s:s}", "permission", "deny", "userMessage",
                     "commands run in Buckle's sandbox: use the bash tool of `buckle mcp`",
                     "agentMessage",
                     "This command must run in the sandbox, and this hook can't start it there. "
                     "Use the bash tool of the buckle MCP server.");
}

static json_t *answer_plain(const struct hook_call *call, enum hook_effect e, const char *reason,
                            const char *command)
{
    return json_pack("{s:s, s:s, s:s, s:b}", "decision", effect_words[e], "reason", reason,
                     "command",
                     command         ? command
                     : call->command ? call->command
                                     : "",
                     "sandboxed", command != NULL);
}

json_t *hook_answer(const struct hook_call *call, enum hook_effect effect, const char *reason,
                    const char *command)
{
    static json_t *(*const answers[])(const struct hook_call *, enum hook_effect, const char *,
                                      const char *) = {
        answer_pre_tool, answer_before_tool, answer_camel, answer_before_shell, answer_plain};
    if (effect == HOOK_LEAVE && call->dialect != PLAIN)
        return json_object();
    return answers[call->dialect](call, effect, reason, command);
}

json_t *hook_refusal(const char *reason)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s}}", "decision", "deny", "permission",
                     "deny", "permissionDecision", "deny", "reason", reason, "hookSpecificOutput",
                     "hookEventName", "PreToolUse", "permissionDecision", "deny",
                     "permissionDecisionReason", reason);
}
