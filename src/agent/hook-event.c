/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The formats are those of Claude Code, Codex and Gemini CLI (SessionStart, SubagentStart,
 * MessageDisplay), of Cursor and Copilot (sessionStart, subagentStart; Copilot's have no name), and
 * of Cline (TaskStart, TaskResume).
 */

#include "agent/hook-event.h"

#include <string.h>

#include "base/own.h"
#include "report/annotate.h"

enum shape { NESTED, FLAT, CLINE }; /* of the answer */

static const struct row {
    const char *key, *name; /* key: NULL if only its other keys tell */
    enum hook_event event;
    enum shape shape;
} rows[] = {
    {"hook_event_name", "SessionStart", HOOK_CONTEXT, NESTED},
    {"hook_event_name", "SubagentStart", HOOK_CONTEXT, NESTED},
    {"hook_event_name", "MessageDisplay", HOOK_DISPLAY, NESTED},
    {"hook_event_name", "sessionStart", HOOK_CONTEXT, FLAT},
    {"hookEventName", "sessionStart", HOOK_CONTEXT, FLAT},
    {"hookEventName", "subagentStart", HOOK_CONTEXT, FLAT},
    {"hookName", "TaskStart", HOOK_CONTEXT, CLINE},
    {"hookName", "TaskResume", HOOK_CONTEXT, CLINE},
    {NULL, "source", HOOK_CONTEXT, FLAT},
    {NULL, "agentName", HOOK_CONTEXT, FLAT},
};

/* Whether a message without a name is one about a start: never if it could be about a tool. */
static bool has_only(const json_t *message, const char *key)
{
    static const char *const others[] = {"hook_event_name", "hookEventName", "toolName",
                                         "tool_name",       "toolArgs",      "tool_input",
                                         "command",         "stopReason"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (json_object_get(message, others[i]))
            return false;
    return json_text(message, "sessionId") && json_text(message, key);
}

static const struct row *row_of(const json_t *message)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *name = rows[i].key ? json_text(message, rows[i].key) : NULL;
        if (rows[i].key ? name && strcmp(name, rows[i].name) == 0 : has_only(message, rows[i].name))
            return &rows[i];
    }
    return NULL;
}

enum hook_event hook_event_of(const json_t *message)
{
    const struct row *row = row_of(message);
    return row ? row->event : HOOK_NO_EVENT;
}

json_t *hook_context(const json_t *message, const char *text, size_t n)
{
    const struct row *row = row_of(message);
    OWN(json) json_t *words = n ? json_stringn(text, n) : NULL;
    if (!row || !words)
        return json_object();
    if (row->shape == CLINE)
        return json_pack("{s:b, s:O}", "cancel", false, "contextModification", words);
    if (row->shape == NESTED)
        return json_pack("{s:{s:s, s:O}}", "hookSpecificOutput", "hookEventName", row->name,
                         "additionalContext", words);
    /* each of the two agents has its own name for it */
    return json_pack("{s:O, s:O}", "additional_context", words, "additionalContext", words);
}

/* Agents send a message in pieces, each of whole lines. */
json_t *hook_display(const json_t *message)
{
    const json_t *piece = json_object_get(message, "delta");
    const char *text = json_string_value(piece);
    size_t n = json_string_length(piece);
    OWN(buf) struct buf shown = {0};
    if (!text)
        return json_object();
    struct annotate_piece where = {
        .after = json_integer_value(json_object_get(message, "index")) > 0,
        .before = !json_is_true(json_object_get(message, "final")),
    };
    annotate_strip_piece(text, n, where, &shown);
    if (!buf_ok(&shown) || shown.n == n)
        return json_object(); /* as it is */
    return json_pack("{s:{s:s, s:o}}", "hookSpecificOutput", "hookEventName", "MessageDisplay",
                     "displayContent", json_stringn(shown.s ? shown.s : "", shown.n));
}
