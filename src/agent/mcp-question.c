/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A command wants to change a protected name, or to connect to a host that no rule names: the
 * client asks the user (elicitation), while the call waits in the command's judge or gate, which
 * also keeps the time.
 */

#include <stdio.h>
#include <string.h>

#include "agent/mcp-int.h"
#include "base/own.h"
#include "net/consent.h"
#include "settings/settings.h"
#include "vocab/protected-classes.h"

static struct mcp_question *find_question(struct mcp *m, uint64_t asked)
{
    for (size_t i = 0; i < MCP_QUESTIONS; i++)
        if (m->questions[i].asked == asked)
            return &m->questions[i];
    return NULL;
}

static void send_question(struct mcp *m, const struct mcp_question *q, const struct buf *words)
{
    char id[32];
    json_t *lengths = json_pack("[s,s,s,s]", "once", "run", "session", "always");
    snprintf(id, sizeof(id), "ask-%llu", (unsigned long long)q->asked);
    rpc_send(&m->rpc,
             json_pack("{s:s, s:s, s:{s:o, s:{s:s, s:{s:{s:s, s:s, s:o}}}}}", "id", id, "method",
                       "elicitation/create", "params", "message", mcp_string(words->s, words->n),
                       "requestedSchema", "type", "object", "properties", "allow", "type", "string",
                       "description",
                       "how long: once, for this command (run), for the session, or always", "enum",
                       lengths));
}

static void word_name(const struct mcp_question *q, const json_t *question,
                      enum protected_class class, struct buf *words)
{
    const char *path = json_text(question, "path");
    buf_str(words, " wants to change ");
    buf_safe(words, path, strlen(path));
    buf_fmt(words, ", a protected name of the class %s: %s. Allow it?", q->class,
            protected_classes[class].brief);
}

static void word_command(const json_t *question, const char *rule, struct buf *words)
{
    const char *path = json_text(question, "path");
    buf_str(words, " wants to run ");
    buf_safe(words, path, strlen(path));
    buf_str(words, ". The settings ask about ");
    buf_safe(words, rule, strlen(rule));
    buf_str(words, ". Allow it?");
}

static void word_host(const struct mcp_question *q, const json_t *question, struct buf *words)
{
    buf_str(words, json_is_true(json_object_get(question, "udp")) ? " wants to send datagrams to "
                                                                  : " wants to connect to ");
    buf_safe(words, q->where, strlen(q->where));
    buf_str(words, ", which no rule names. Allow it?");
}

bool mcp_on_question(void *arg, uint64_t run, const json_t *question)
{
    struct mcp *m = arg;
    const char *program = json_text(question, "program"), *where = json_text(question, "where");
    const char *name = json_text(question, "class");
    uint32_t id = (uint32_t)json_integer_value(json_object_get(question, "id"));
    enum protected_class class =
        name ? protected_class_find(name, strlen(name)) : PROTECTED_NO_CLASS;
    bool about_name = class != PROTECTED_NO_CLASS && json_text(question, "path");
    const char *rule = name && strcmp(name, "command") == 0 ? json_text(question, "rule") : NULL;
    bool about_command =
        rule && json_text(question, "path") && strlen(rule) < sizeof(m->questions[0].where);
    bool about_host = !name && where && where[0] && strlen(where) < sizeof(m->questions[0].where);
    struct mcp_question *q =
        m->asks && (about_name || about_host || about_command) ? find_question(m, 0) : NULL;
    OWN(buf) struct buf words = {0};
    if (!q)
        return false;
    *q = (struct mcp_question){.asked = ++m->last_question, .run = run, .id = id};
    buf_safe(&words, program && program[0] ? program : "A program",
             program && program[0] ? strlen(program) : 9);
    if (about_command) {
        q->command = true;
        strcpy(q->where, rule);
        word_command(question, rule, &words);
    } else if (about_name) {
        q->class = protected_classes[class].name;
        word_name(q, question, class, &words);
    } else {
        strcpy(q->where, where);
        word_host(q, question, &words);
    }
    send_question(m, q, &words);
    return true;
}

/* For all commands of the session, as `buckle grant` does. */
void mcp_grant(struct mcp *m, const char *option, const char *what)
{
    OWN(buf) struct buf answer = {0};
    OWN(json) json_t *grant = json_pack("{s:s, s:s}", "grant", option, "what", what);
    session_request(&m->session, grant, &answer); /* or at least for this command */
}

/* What an answer is about, as a grant and as a setting. */
static const char *grant_of(const struct mcp_question *q)
{
    return q->command ? "allow-command" : q->class ? "allow-protected" : "allow-net";
}

static const char *setting_of(const struct mcp_question *q)
{
    return q->command ? "agreedCommands"
           : q->class ? "filesystem.allowProtected"
                      : "network.allowedDomains";
}

/* The answer, and what lasts of it. */
static enum consent take_answer(struct mcp *m, const struct mcp_question *q, const json_t *result)
{
    const char *action = json_text(result, "action");
    const char *how = json_text(json_object_get(result, "content"), "allow");
    struct bk_err err;
    if (!action || strcmp(action, "accept") != 0)
        return CONSENT_DENY;
    const char *what = q->class ? q->class : q->where;
    if (how && strcmp(how, "always") == 0) /* or at least for this command */
        (void)settings_remember(m->root, setting_of(q), what, &err);
    else if (how && strcmp(how, "session") == 0)
        mcp_grant(m, grant_of(q), what);
    else if (!how || strcmp(how, "run") != 0)
        return CONSENT_ONCE;
    return CONSENT_RUN;
}

bool mcp_question_answered(struct mcp *m, uint64_t question, const json_t *result)
{
    struct mcp_question *q = question ? find_question(m, question) : NULL;
    if (!q)
        return false;
    session_answer(&m->session, q->run, q->id, consent_word(take_answer(m, q, result)));
    q->asked = 0;
    return true;
}
