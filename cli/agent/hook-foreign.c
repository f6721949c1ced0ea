/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Messages and answers of agents that no dialect covers (agents.def has their documentation).
 * Whatever is not understood is a no: agents take exit status 2 for one.
 */

#include "cli/agent/hook-foreign.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"

enum { SAYS_NO = 2 };

static bool is_one_of(const char *word, const char *const *words)
{
    for (; word && *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

/* ---- messages ---- */

/* Windsurf: tool_info.command_line. Cline: preToolUse. Kiro, goose and Qwen Code: tool_input. */
static const char *command_of(const json_t *m, bool *other)
{
    static const char *const shells[] = {
        "execute_bash", "shell", "developer__shell",  "execute_command",
        "run_commands", "bash",  "run_shell_command", NULL};
    const json_t *info = json_object_get(m, "tool_info"), *cline = json_object_get(m, "preToolUse");
    const json_t *input = json_object_get(m, "tool_input");
    const char *tool = json_text(cline ? cline : m, cline ? "toolName" : "tool_name");
    if (info)
        return json_text(info, "command_line");
    *other = tool && !is_one_of(tool, shells);
    return json_text(cline ? json_object_get(cline, "parameters") : input, "command");
}

static const char *folder_of(const json_t *m)
{
    const char *cwd = json_text(json_object_get(m, "tool_info"), "cwd");
    const json_t *roots = json_object_get(m, "workspaceRoots");
    cwd = cwd ? cwd : json_text(m, "cwd");
    cwd = cwd ? cwd : json_text(m, "working_dir");
    return cwd ? cwd : json_string_value(json_array_get(roots, 0));
}

static const char *session_of(const json_t *m)
{
    static const char *const keys[] = {"session_id", "trajectory_id", "taskId", "conversation_id"};
    const char *id = NULL;
    for (size_t i = 0; !id && i < sizeof(keys) / sizeof(keys[0]); i++)
        id = json_text(m, keys[i]);
    return id;
}

/* What any other program sends. The agent's own rules decide whether it asks. */
static json_t *plain_message(const json_t *m, const char *command)
{
    const char *cwd = folder_of(m), *session = session_of(m);
    json_t *plain =
        command ? json_pack("{s:s, s:s, s:b}", "command", command, "mode", "client", "asks", false)
                : NULL;
    if (plain && cwd)
        json_object_set_new(plain, "cwd", json_string(cwd));
    if (plain && session)
        json_object_set_new(plain, "session_id", json_string(session));
    return plain;
}

/* Copilot CLI: arguments as an object, or as its text. A tool's that takes another text stay. */
static void read_arguments(json_t *m)
{
    const json_t *given = json_object_get(m, "toolArgs");
    size_t n = json_string_length(given);
    json_t *read = n ? json_loadb(json_string_value(given), n, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (json_is_object(read))
        json_object_set(m, "toolArgs", read);
    json_decref(read);
}

json_t *foreign_message(struct foreign *f, json_t *message, bool by_status)
{
    OWN(json) json_t *m = message;
    const char *event = json_text(m, "hook_event_name"), *tool = json_text(m, "tool_name");
    bool pre = event && strcmp(event, "PreToolUse") == 0;
    json_t *input = json_object_get(m, "tool_input");
    if (by_status) {
        f->kind = FOREIGN_STATUS;
        const char *command = command_of(m, &f->other);
        return f->other ? json_object() : plain_message(m, command);
    }
    if (event && tool && strcmp(event, "preToolUse") == 0 && json_is_object(input)) {
        f->kind = FOREIGN_CURSOR;
        f->input = json_incref(input);
        f->other = strcmp(tool, "Shell") != 0;
        return f->other ? json_object() : plain_message(m, json_text(input, "command"));
    }
    if (pre && json_object_get(m, "turn_id"))
        f->kind = FOREIGN_CODEX;
    if (json_text(m, "toolName"))
        read_arguments(m);
    if (pre && tool && strcmp(tool, "run_shell_command") == 0) { /* Qwen's name for it */
        f->kind = FOREIGN_QWEN;
        json_object_set_new(m, "tool_name", json_string("bash"));
    }
    return json_incref(m);
}

bool foreign_asks(const struct foreign *f)
{
    return f->kind == FOREIGN_NONE || f->kind == FOREIGN_QWEN;
}

/* ---- answers ---- */

static const char use_server[] = "commands run in Buckle's sandbox, and this hook can't start them "
                                 "there: use the bash tool of the "
                                 "buckle MCP server";

/* A command runs unchanged only if it may run outside; the agent's own rules may still refuse it.
 */
static json_t *answer_status(const json_t *plain, int *status)
{
    const char *decision = json_text(plain, "decision"), *reason = json_text(plain, "reason");
    bool inside = json_is_true(json_object_get(plain, "sandboxed"));
    bool free =
        decision && !inside && (strcmp(decision, "allow") == 0 || strcmp(decision, "client") == 0);
    if (!*status && !free)
        fprintf(stderr, "buckle: %s\n", inside ? use_server : reason ? reason : "not allowed");
    *status = free ? *status : SAYS_NO;
    return NULL;
}

static json_t *answer_cursor(const struct foreign *f, const json_t *plain, int status)
{
    const char *decision = json_text(plain, "decision"), *reason = json_text(plain, "reason");
    const char *command = json_text(plain, "command");
    bool inside = json_is_true(json_object_get(plain, "sandboxed")) && command;
    bool no = status || !decision || strcmp(decision, "deny") == 0 ||
              (!inside && strcmp(decision, "allow") != 0);
    json_t *answer = json_pack("{s:s}", "permission", no ? "deny" : "allow");
    if (no)
        json_object_set_new(answer, "user_message", json_string(reason ? reason : "not allowed"));
    if (!no && inside) {
        json_t *input = json_copy(f->input);
        json_object_set_new(input, "command", json_string(command));
        json_object_set_new(answer, "updated_input", input);
    }
    return answer;
}

/* Codex refuses an answer with "ask", with "allow" alone, or with a command but no "allow". */
static json_t *answer_codex(json_t *answer)
{
    json_t *output = json_object_get(answer, "hookSpecificOutput");
    const char *decision = json_text(output, "permissionDecision");
    bool no = decision && strcmp(decision, "deny") == 0;
    if (!output || no)
        return json_incref(answer);
    if (json_object_get(output, "updatedInput")) {
        json_object_set_new(output, "permissionDecision", json_string("allow"));
        return json_incref(answer);
    }
    if (!decision || strcmp(decision, "allow") == 0)
        return json_object();
    json_object_set_new(output, "permissionDecision", json_string("deny"));
    return json_incref(answer);
}

/* Qwen Code does not look at updatedInput, and runs what the model wrote. */
static json_t *answer_qwen(json_t *answer)
{
    json_t *output = json_object_get(answer, "hookSpecificOutput");
    if (!json_object_get(output, "updatedInput"))
        return json_incref(answer);
    json_object_del(output, "updatedInput");
    json_object_set_new(output, "permissionDecision", json_string("deny"));
    json_object_set_new(output, "permissionDecisionReason", json_string(use_server));
    return json_incref(answer);
}

json_t *foreign_answer(const struct foreign *f, json_t *answer, int *status)
{
    OWN(json) json_t *a = answer;
    if (f->other) /* not ours to decide */
        return f->kind == FOREIGN_STATUS ? NULL : json_pack("{s:s}", "permission", "allow");
    switch (f->kind) {
    case FOREIGN_STATUS:
        return answer_status(a, status);
    case FOREIGN_CURSOR:
        return answer_cursor(f, a, *status);
    case FOREIGN_CODEX:
        return answer_codex(a);
    case FOREIGN_QWEN:
        return answer_qwen(a);
    default:
        return json_incref(a);
    }
}
