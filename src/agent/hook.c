/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "agent/hook.h"

#include <stdio.h>
#include <string.h>

/* Where an agent writes what. */
static const struct dialect {
    const char *event_key, *event; /* how its messages are told apart */
    const char *tool_key, *input_key;
    const char *tools[4];  /* those that run a shell's command */
    const char *where_key; /* in the input: where it is to run, or NULL */
    const char *mode_key;
} dialects[] = {
    {"hook_event_name",
     "PreToolUse",
     "tool_name",
     "tool_input",
     {"Bash", "bash", "shell"},
     NULL,
     "permission_mode"},
    {"hook_event_name",
     "BeforeTool",
     "tool_name",
     "tool_input",
     {"run_shell_command"},
     "directory",
     "approval_mode"},
    {"hookEventName",
     "preToolUse",
     "toolName",
     "toolArgs",
     {"bash", "shell", "powershell"},
     NULL,
     "permissionMode"},
    {"hook_event_name", "beforeShellExecution", NULL, NULL, {NULL}, NULL, "permission_mode"},
};

enum { PRE_TOOL, BEFORE_TOOL, PRE_TOOL_CAMEL, BEFORE_SHELL, DIALECTS };

static int dialect_of(const json_t *message)
{
    for (int i = 0; i < DIALECTS; i++) {
        const char *event = json_text(message, dialects[i].event_key);
        if (event && strcmp(event, dialects[i].event) == 0)
            return i;
    }
    /* some leave their event's name out, since a hook is there for one only */
    return json_text(message, "toolName") ? PRE_TOOL_CAMEL : -1;
}

static bool runs_commands(const struct dialect *d, const char *tool)
{
    for (size_t i = 0; i < 4 && d->tools[i]; i++)
        if (strcmp(d->tools[i], tool) == 0)
            return true;
    return false;
}

int hook_read(const json_t *message, struct hook_call *out)
{
    int which = dialect_of(message);
    if (which < 0)
        return -1;
    const struct dialect *d = &dialects[which];
    *out = (struct hook_call){.dialect = which,
                              .cwd = json_text(message, "cwd"),
                              .mode = json_text(message, d->mode_key)};
    if (which == BEFORE_SHELL) {
        out->shell = true;
        out->input = message;
    } else {
        const char *tool = json_text(message, d->tool_key);
        out->input = json_object_get(message, d->input_key);
        if (!tool || !json_is_object(out->input))
            return -1;
        out->shell = runs_commands(d, tool);
    }
    out->command = json_text(out->input, "command");
    out->bypass = json_is_true(json_object_get(out->input, "dangerouslyDisableSandbox"));
    if (d->where_key && json_text(out->input, d->where_key))
        out->cwd = json_text(out->input, d->where_key);
    return 0;
}

/* ---- answers ---- */

static const char *const words[] = {"", "allow", "ask", "deny"};

static json_t *replaced(const struct hook_call *call, const char *command)
{
    json_t *input = json_copy((json_t *)call->input);
    json_object_set_new(input, "command", json_string(command));
    /* what was asked for is settled; a second opinion might differ */
    json_object_del(input, "dangerouslyDisableSandbox");
    return input;
}

static json_t *answer_pre_tool(const struct hook_call *call, enum hook_effect e, const char *reason,
                               const char *command)
{
    json_t *said = json_pack("{s:s, s:s, s:s}", "hookEventName", "PreToolUse", "permissionDecision",
                             words[e], "permissionDecisionReason", reason);
    if (command)
        json_object_set_new(said, "updatedInput", replaced(call, command));
    return json_pack("{s:o}", "hookSpecificOutput", said);
}

/* It knows no "ask": its own confirmation comes where it lets a tool through. */
static json_t *answer_before_tool(const struct hook_call *call, enum hook_effect e,
                                  const char *reason, const char *command)
{
    json_t *said =
        json_pack("{s:s, s:s}", "decision", e == HOOK_DENY ? "deny" : "allow", "reason", reason);
    if (command)
        json_object_set_new(said, "hookSpecificOutput",
                            json_pack("{s:s, s:o}", "hookEventName", "BeforeTool", "tool_input",
                                      replaced(call, command)));
    return said;
}

static json_t *answer_camel(const struct hook_call *call, enum hook_effect e, const char *reason,
                            const char *command)
{
    json_t *said =
        json_pack("{s:s, s:s}", "permissionDecision", words[e], "permissionDecisionReason", reason);
    if (command)
        json_object_set_new(said, "modifiedArgs", replaced(call, command));
    return said;
}

/* There is no way to run something else in its place. */
static json_t *answer_before_shell(const struct hook_call *call, enum hook_effect e,
                                   const char *reason, const char *command)
{
    (void)call;
    if (!command)
        return json_pack("{s:s, s:s, s:s}", "permission", words[e], "userMessage", reason,
                         "agentMessage", reason);
    return json_pack("{s:s, s:s, s:s}", "permission", "deny", "userMessage",
                     "commands run in Buckle's sandbox: use the tool of `buckle mcp`",
                     "agentMessage",
                     "This command has to run in the sandbox, and this hook cannot put it there. "
                     "Use the bash tool of the buckle MCP server.");
}

json_t *hook_answer(const struct hook_call *call, enum hook_effect effect, const char *reason,
                    const char *command)
{
    static json_t *(*const answers[])(const struct hook_call *, enum hook_effect, const char *,
                                      const char *) = {answer_pre_tool, answer_before_tool,
                                                       answer_camel, answer_before_shell};
    if (effect == HOOK_LEAVE)
        return json_object();
    return answers[call->dialect](call, effect, reason, command);
}

json_t *hook_refusal(const char *reason)
{
    return json_pack("{s:s, s:s, s:s, s:{s:s, s:s, s:s}}", "decision", "deny", "permission", "deny",
                     "reason", reason, "hookSpecificOutput", "hookEventName", "PreToolUse",
                     "permissionDecision", "deny", "permissionDecisionReason", reason);
}
