/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The MCP tools and their arguments: a sandboxed shell (mcp-call.c), its background jobs, and the
 * sandbox's status. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/mcp-int.h"
#include "base/own.h"

/* ---- results ---- */

json_t *mcp_string(const char *s, size_t n)
{
    json_t *text = json_stringn(s ? s : "", s ? n : 0);
    return text ? text : json_string("");
}

json_t *mcp_text(const char *text, size_t n, bool is_error, json_t *structured)
{
    json_t *result = json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text",
                               mcp_string(text, n), "isError", is_error);
    if (structured)
        json_object_set_new(result, "structuredContent", structured);
    return result;
}

void mcp_refuse(struct mcp *m, const json_t *id, const char *why)
{
    rpc_result(&m->rpc, id, mcp_text(why, strlen(why), true, NULL));
}

void mcp_refuse_error(struct mcp *m, const json_t *id, const struct bk_err *err)
{
    OWN(buf) struct buf why = {0};
    if (err->file[0])
        buf_fmt(&why, "%s:%u: ", err->file, err->line);
    buf_fmt(&why, "%s", err->msg);
    if (err->hint[0])
        buf_fmt(&why, " (%s)", err->hint);
    mcp_refuse(m, id, why.s ? why.s : err->msg);
}

/* ---- arguments ---- */

/* One key of a tool's arguments. */
struct argument {
    const char *name;
    json_type type;
};

/* Rejects unknown arguments, because ignoring them would hide a mistake. */
static const char *check_arguments(const json_t *given, const struct argument *known, size_t n)
{
    static char why[160];
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)given, key, value)
    {
        size_t i = 0;
        while (i < n && strcmp(known[i].name, key) != 0)
            i++;
        bool flag = i < n && known[i].type == JSON_TRUE && json_is_boolean(value);
        if (i == n)
            return snprintf(why, sizeof(why), "There is no argument %.80s.", key), why;
        if (!flag && json_typeof(value) != known[i].type)
            return snprintf(why, sizeof(why), "The argument %s has the wrong type.", key), why;
        if (json_is_string(value) && strlen(json_string_value(value)) != json_string_length(value))
            return snprintf(why, sizeof(why), "The argument %s contains a NUL.", key), why;
    }
    return NULL;
}

/* ---- bash ---- */

static const struct argument bash_arguments[] = {
    {"command", JSON_STRING},         {"timeout", JSON_INTEGER},
    {"description", JSON_STRING},     {"run_in_background", JSON_TRUE},
    {"shellExecutable", JSON_STRING}, {"dangerouslyDisableSandbox", JSON_TRUE},
};

static uint32_t timeout_of(const struct mcp *m, const json_t *given)
{
    json_int_t wanted = json_integer_value(json_object_get(given, "timeout"));
    uint32_t most = m->o->max_timeout_ms;
    return wanted <= 0 ? m->o->timeout_ms : wanted > most ? most : (uint32_t)wanted;
}

/* A shell chosen by the agent, or NULL if it is the default one. */
static const char *other_shell(const struct mcp *m, const json_t *given)
{
    const char *shell = json_text(given, "shellExecutable");
    return shell && strcmp(shell, m->o->shell) != 0 ? shell : NULL;
}

static void do_bash(struct mcp *m, const json_t *id, const json_t *given, const json_t *meta)
{
    const char *command = json_text(given, "command"), *shell = other_shell(m, given);
    if (!command)
        return mcp_refuse(m, id, "The argument command is missing.");
    struct call *c = call_new(m);
    if (!c)
        return mcp_refuse(m, id, "Too many commands are running; wait for one, or kill one.");
    *c = (struct call){
        .used = true,
        .background = json_is_true(json_object_get(given, "run_in_background")),
        .bypass = json_is_true(json_object_get(given, "dangerouslyDisableSandbox")),
        .id = json_deep_copy(id),
        .token = json_incref(json_object_get(meta, "progressToken")),
        .command = strdup(command),
        .shell = shell ? strdup(shell) : NULL,
    };
    c->timeout_ms = c->background && !json_object_get(given, "timeout") ? 0 : timeout_of(m, given);
    if (c->command && c->id && (c->shell || !shell))
        return call_decide(m, c);
    mcp_refuse(m, id, "Out of memory.");
    call_free(c);
}

/* ---- background jobs ---- */

static const struct argument job_arguments[] = {{"job", JSON_INTEGER}};

static struct call *named_job(struct mcp *m, const json_t *id, const json_t *given)
{
    struct call *c = call_find(m, (uint64_t)json_integer_value(json_object_get(given, "job")));
    if (c && c->background)
        return c;
    mcp_refuse(m, id, "There is no such job.");
    return NULL;
}

static void do_output(struct mcp *m, const json_t *id, const json_t *given, const json_t *meta)
{
    struct call *c = named_job(m, id, given);
    (void)meta;
    if (!c)
        return;
    OWN(buf) struct buf out = {0};
    OWN(buf) struct buf err = {0};
    OWN(buf) struct buf annotated = {0};
    OWN(buf) struct buf text = {0};
    bool over = c->over;
    capture_news(&c->job.captured[JOB_OUT], &out);
    capture_news(&c->job.captured[JOB_ERR], &err);
    call_text(m, c, &out, &err, &annotated, &text);
    json_t *facts = json_pack("{s:I, s:b}", "job", (json_int_t)c->number, "running", !over);
    if (over)
        json_object_set_new(facts, "exitCode", json_integer(call_status(c)));
    rpc_result(&m->rpc, id, mcp_text(text.s, text.n, false, facts));
    if (over)
        call_free(c);
}

static void do_kill(struct mcp *m, const json_t *id, const json_t *given, const json_t *meta)
{
    struct call *c = named_job(m, id, given);
    (void)meta;
    if (!c)
        return;
    job_end(&c->job);
    rpc_result(&m->rpc, id,
               mcp_text("Ended.", 6, false, json_pack("{s:I}", "job", (json_int_t)c->number)));
}

/* ---- the sandbox ---- */

static void do_status(struct mcp *m, const json_t *id, const json_t *given, const json_t *meta)
{
    OWN(agent_view) struct agent_view v;
    OWN(buf) struct buf text = {0};
    OWN(buf) struct buf facts = {0};
    struct bk_err err;
    (void)given;
    (void)meta;
    if (mcp_view(m, &v, &err) < 0)
        return mcp_refuse_error(m, id, &err);
    summary_text(&v, &text);
    if (!text.n)
        buf_str(&text, "Commands do not run in a sandbox.\n");
    uint64_t denied = store_total(m->session.store);
    buf_fmt(&text, "So far %llu operation%s denied. The working directory is %s.\n",
            (unsigned long long)denied, denied == 1 ? " was" : "s were", m->cwd);
    summary_json(&v, &facts);
    rpc_result(
        &m->rpc, id,
        mcp_text(text.s, text.n, false, facts.s ? json_loadb(facts.s, facts.n, 0, NULL) : NULL));
}

static const struct argument violations_arguments[] = {{"limit", JSON_INTEGER},
                                                       {"command", JSON_STRING}};

static void do_violations(struct mcp *m, const json_t *id, const json_t *given, const json_t *meta)
{
    json_int_t limit = json_integer_value(json_object_get(given, "limit"));
    OWN(buf) struct buf text = {0};
    struct store_wanted wanted = {.limit = limit > 0 ? (size_t)limit : 0,
                                  .command = json_text(given, "command")};
    struct violations *v = store_get(m->session.store, &wanted);
    json_int_t total = (json_int_t)store_total(m->session.store);
    json_t *list = json_array();
    (void)meta;
    for (size_t i = 0; v && i < v->n; i++) {
        json_t *event = json_loads(v->at[i].json, 0, NULL);
        buf_fmt(&text, "%s\n", v->at[i].line);
        json_object_set_new(event, "command", json_string(v->at[i].command));
        json_array_append_new(list, event);
    }
    buf_fmt(&text, "%lld in total.", (long long)total);
    free(v);
    json_t *facts = json_pack("{s:o, s:I}", "violations", list, "total", total);
    rpc_result(&m->rpc, id, mcp_text(text.s, text.n, false, facts));
}

/* ---- the table ---- */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define OBJECT(properties) "{\"type\":\"object\",\"properties\":{" properties "}"
#define JOB_SCHEMA                                                                                 \
    OBJECT("\"job\":{\"type\":\"integer\",\"description\":\"the job's number\"}")                  \
    ",\"required\":[\"job\"]}"

static const struct {
    const char *name, *description, *schema;
    const struct argument *arguments;
    size_t narguments;
    void (*run)(struct mcp *m, const json_t *id, const json_t *given, const json_t *meta);
} tools[] = {
    {"bash",
     "Runs a shell command in the sandbox. The working directory persists between commands; "
     "variables don't. A <sandbox_violations> block after the error output lists what the sandbox "
     "denied; sandbox_status shows what is allowed.",
     OBJECT(
         "\"command\":{\"type\":\"string\",\"description\":\"the shell command\"},"
         "\"timeout\":{\"type\":\"integer\",\"description\":\"milliseconds after which the command "
         "and everything it started are killed\"},"
         "\"description\":{\"type\":\"string\",\"description\":\"its purpose, in a few "
         "words\"},"
         "\"run_in_background\":{\"type\":\"boolean\",\"description\":\"return at once; see "
         "bash_output and bash_kill\"},"
         "\"shellExecutable\":{\"type\":\"string\",\"description\":\"another shell\"},"
         "\"dangerouslyDisableSandbox\":{\"type\":\"boolean\",\"description\":\"run it outside "
         "the sandbox, if the settings allow that and the user agrees; only on clear evidence "
         "that the sandbox made this command fail\"}") ",\"required\":[\"command\"]}",
     bash_arguments, COUNT(bash_arguments), do_bash},
    {"bash_output", "Shows what a background command has printed since the last call.", JOB_SCHEMA,
     job_arguments, COUNT(job_arguments), do_output},
    {"bash_kill", "Kills a background command and everything it started.", JOB_SCHEMA,
     job_arguments, COUNT(job_arguments), do_kill},
    {"sandbox_status", "Shows what commands can read, write and connect to.", OBJECT("") "}", NULL,
     0, do_status},
    {"sandbox_violations", "Lists denials, newest last.",
     OBJECT("\"limit\":{\"type\":\"integer\",\"description\":\"at most this many, the newest\"},"
            "\"command\":{\"type\":\"string\",\"description\":\"only for commands with this "
            "text\"}") "}",
     violations_arguments, COUNT(violations_arguments), do_violations},
};

enum { TOOLS = COUNT(tools) };

json_t *mcp_tools(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < TOOLS; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", tools[i].name,
                                              "description", tools[i].description, "inputSchema",
                                              json_loads(tools[i].schema, 0, NULL)));
    return list;
}

void mcp_call_tool(struct mcp *m, const json_t *id, const json_t *params)
{
    const char *name = json_text(params, "name");
    const json_t *given = json_object_get(params, "arguments");
    const json_t *meta = json_object_get(params, "_meta");
    if (!name || (given && !json_is_object(given))) {
        rpc_error(&m->rpc, id, RPC_PARAMS, "the tool's name is missing");
        return;
    }
    for (size_t i = 0; i < TOOLS; i++)
        if (strcmp(name, tools[i].name) == 0) {
            const char *wrong = check_arguments(given, tools[i].arguments, tools[i].narguments);
            return wrong ? mcp_refuse(m, id, wrong) : tools[i].run(m, id, given, meta);
        }
    rpc_error(&m->rpc, id, RPC_PARAMS, "there is no tool %.100s", name);
}
