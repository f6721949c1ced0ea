/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A command wants to change a protected name: the client asks the user (elicitation), while the
 * call waits in the command's judge, which also keeps the time.
 */

#include <stdio.h>
#include <string.h>

#include "agent/mcp-int.h"
#include "base/own.h"
#include "settings/settings.h"
#include "vocab/protected-classes.h"

static struct mcp_question *find_question(struct mcp *m, uint64_t asked)
{
    for (size_t i = 0; i < MCP_QUESTIONS; i++)
        if (m->questions[i].asked == asked)
            return &m->questions[i];
    return NULL;
}

static void send_question(struct mcp *m, uint64_t number, const char *words, size_t n)
{
    char id[32];
    snprintf(id, sizeof(id), "ask-%llu", (unsigned long long)number);
    rpc_send(&m->rpc,
             json_pack("{s:s, s:s, s:{s:o, s:{s:s, s:{s:{s:s, s:s, s:[s,s,s]}}}}}", "id", id,
                       "method", "elicitation/create", "params", "message", mcp_string(words, n),
                       "requestedSchema", "type", "object", "properties", "allow", "type", "string",
                       "description", "how long: this call, this command, or always", "enum",
                       "once", "run", "always"));
}

bool mcp_on_question(void *arg, uint64_t run, const json_t *question)
{
    struct mcp *m = arg;
    const char *path = json_text(question, "path"), *program = json_text(question, "program");
    const char *name = json_text(question, "class");
    uint32_t id = (uint32_t)json_integer_value(json_object_get(question, "id"));
    enum protected_class class =
        name ? protected_class_find(name, strlen(name)) : PROTECTED_NO_CLASS;
    struct mcp_question *q = m->asks && class != PROTECTED_NO_CLASS ? find_question(m, 0) : NULL;
    OWN(buf) struct buf words = {0};
    if (!q || !path)
        return false;
    *q = (struct mcp_question){++m->last_question, run, id, protected_classes[class].name};
    buf_safe(&words, program ? program : "A program", program ? strlen(program) : 9);
    buf_str(&words, " wants to change ");
    buf_safe(&words, path, strlen(path));
    buf_fmt(&words, ", a protected name of the class %s: %s. Allow it?", q->class,
            protected_classes[class].brief);
    send_question(m, q->asked, words.s, words.n);
    return true;
}

bool mcp_question_answered(struct mcp *m, uint64_t question, const json_t *result)
{
    struct mcp_question *q = question ? find_question(m, question) : NULL;
    const char *action = json_text(result, "action");
    const char *how = json_text(json_object_get(result, "content"), "allow");
    struct bk_err err;
    if (!q)
        return false;
    bool yes = action && strcmp(action, "accept") == 0;
    bool always = yes && how && strcmp(how, "always") == 0;
    if (always) /* or at least for this command */
        (void)settings_remember(m->root, "filesystem.allowProtected", q->class, &err);
    session_answer(&m->session, q->run, q->id,
                   !yes                                         ? "deny"
                   : always || (how && strcmp(how, "run") == 0) ? "run"
                                                                : "once");
    q->asked = 0;
    return true;
}
