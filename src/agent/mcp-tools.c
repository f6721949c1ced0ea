/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The tools: a shell whose commands run in the sandbox, those it left in the background, and what
 * the sandbox has to say. What becomes of a command is decide()'s word; here it is carried out.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/mcp-int.h"
#include "base/own.h"
#include "report/annotate.h"

json_t *mcp_text(const char *text, size_t n, bool is_error, json_t *structured)
{
    json_t *said = json_stringn(text ? text : "", n);
    json_t *result = json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text",
                               said ? said : json_string(""), "isError", is_error);
    if (structured)
        json_object_set_new(result, "structuredContent", structured);
    return result;
}

static void refuse(struct mcp *m, const json_t *id, const char *why)
{
    rpc_result(&m->rpc, id, mcp_text(why, strlen(why), true, NULL));
}

static void refuse_error(struct mcp *m, const json_t *id, const struct bk_err *err)
{
    OWN(buf) struct buf why = {0};
    if (err->file[0])
        buf_fmt(&why, "%s:%u: ", err->file, err->line);
    buf_fmt(&why, "%s", err->msg);
    if (err->hint[0])
        buf_fmt(&why, " (%s)", err->hint);
    refuse(m, id, why.s ? why.s : err->msg);
}

/* ---- calls ---- */

void call_free(struct call *c)
{
    if (!c->used)
        return;
    if (c->started)
        job_free(&c->job);
    json_decref(c->id);
    json_decref(c->token);
    free(c->command);
    free(c->shell);
    *c = (struct call){0};
}

static bool is_done(const struct call *c)
{
    return c->started && job_is_over(&c->job);
}

/* A free place; the oldest of those that ended in the background makes room. */
static struct call *new_call(struct mcp *m)
{
    struct call *oldest = NULL;
    for (size_t i = 0; i < MCP_CALLS; i++) {
        struct call *c = &m->calls[i];
        if (!c->used)
            return c;
        if (c->background && is_done(c) && (!oldest || c->number < oldest->number))
            oldest = c;
    }
    if (oldest)
        call_free(oldest);
    return oldest;
}

static struct call *find_call(struct mcp *m, uint64_t number)
{
    for (size_t i = 0; number && i < MCP_CALLS; i++)
        if (m->calls[i].used && m->calls[i].number == number)
            return &m->calls[i];
    return NULL;
}

/* ---- what came of it ---- */

static void store_events(struct mcp *m, struct call *c)
{
    OWN(buf) struct buf line = {0};
    bool any = false;
    while (line.n = 0, job_event(&c->job, &line)) {
        OWN(json) json_t *event = json_loadb(line.s, line.n, 0, NULL);
        const char *words = json_text(event, "line"), *verdict = json_text(event, "verdict");
        if (!words || !verdict || strcmp(verdict, "deny") != 0)
            continue;
        any |= store_add(m->store, &(struct violation){.command_id = c->number,
                                                       .command = c->command,
                                                       .line = words,
                                                       .json = line.s});
    }
    if (any && m->watched)
        rpc_notify(&m->rpc, "notifications/resources/updated",
                   json_pack("{s:s}", "uri", "buckle://events"));
}

/* Not more often than somebody could read. */
static void tell_progress(struct mcp *m, struct call *c)
{
    enum { PAUSE_MS = 200, SHOWN = 2000 };
    struct capture *out = &c->job.captured[JOB_OUT], *err = &c->job.captured[JOB_ERR];
    uint64_t bytes = out->total + err->total, now = mcp_now_ms();
    OWN(buf) struct buf news = {0};
    if (!c->token || bytes == c->told_bytes || now - c->told_ms < PAUSE_MS)
        return;
    c->told_bytes = bytes;
    c->told_ms = now;
    capture_news(out, &news);
    capture_news(err, &news);
    size_t from = news.n > SHOWN ? news.n - SHOWN : 0;
    while (from && from < news.n && ((unsigned char)news.s[from] & 0xc0) == 0x80)
        from++;
    json_t *text = json_stringn(news.s ? news.s + from : "", news.n - from);
    rpc_notify(&m->rpc, "notifications/progress",
               json_pack("{s:O, s:I, s:o}", "progressToken", c->token, "progress",
                         (json_int_t)bytes, "message", text ? text : json_string("")));
}

static void add_remark(struct buf *out, const struct call *c)
{
    const struct job *j = &c->job;
    if (j->timed_out)
        buf_fmt(out, "\n[ended after its time limit of %u ms]", c->timeout_ms);
    else if (j->cancelled)
        buf_str(out, "\n[cancelled]");
    else if (WIFSIGNALED(j->status))
        buf_fmt(out, "\n[ended by signal %d]", WTERMSIG(j->status));
    else if (WEXITSTATUS(j->status))
        buf_fmt(out, "\n[exit status %d]", WEXITSTATUS(j->status));
}

static json_t *text_of(const struct buf *b)
{
    json_t *j = json_stringn(b->s ? b->s : "", b->n);
    return j ? j : json_string("");
}

/* Standard output, error output with what was denied, and how it ended. */
static json_t *result_of(struct mcp *m, struct call *c)
{
    const struct job *j = &c->job;
    OWN(buf) struct buf out = {0};
    OWN(buf) struct buf err = {0};
    OWN(buf) struct buf told = {0};
    OWN(buf) struct buf all = {0};
    struct violations *v = store_get(m->store, &(struct store_wanted){.command_id = c->number});
    capture_text(&j->captured[JOB_OUT], &out);
    capture_text(&j->captured[JOB_ERR], &err);
    annotate(err.s ? err.s : "", err.n, v, &told);
    buf_add(&all, out.s ? out.s : "", out.n);
    buf_add(&all, told.s ? told.s : "", told.n);
    add_remark(&all, c);
    bool failed = j->status != 0 || j->timed_out || j->cancelled;
    int status = WIFEXITED(j->status) ? WEXITSTATUS(j->status) : 128 + WTERMSIG(j->status);
    json_t *facts = json_pack("{s:o, s:o, s:i, s:b, s:b, s:b, s:I, s:s}", "stdout", text_of(&out),
                              "stderr", text_of(&told), "exitCode", status, "sandboxed",
                              c->sandboxed, "timedOut", j->timed_out, "cancelled", j->cancelled,
                              "violations", (json_int_t)(v ? v->n : 0), "cwd", m->cwd);
    free(v);
    return mcp_text(all.s, all.n, failed, facts);
}

/* The next command begins where this one ended, if that is still a folder. */
static void follow_cwd(struct mcp *m, const struct call *c)
{
    struct stat st;
    const char *cwd = c->job.cwd;
    if (!c->background && cwd[0] == '/' && stat(cwd, &st) == 0 && S_ISDIR(st.st_mode))
        snprintf(m->cwd, sizeof(m->cwd), "%s", cwd);
}

void mcp_tend(struct mcp *m, struct call *c)
{
    store_events(m, c);
    tell_progress(m, c);
    if (!is_done(c) || !c->id)
        return;
    follow_cwd(m, c);
    if (!c->job.cancelled) /* nobody waits for an answer to what was cancelled */
        rpc_result(&m->rpc, c->id, result_of(m, c));
    call_free(c);
}

void mcp_cancel(struct mcp *m, const json_t *request)
{
    for (size_t i = 0; request && i < MCP_CALLS; i++) {
        struct call *c = &m->calls[i];
        if (!c->used || !c->id || !json_equal(c->id, request))
            continue;
        if (!c->started) {
            call_free(c);
            continue;
        }
        c->job.cancelled = true;
        job_end(&c->job);
    }
}

/* ---- starting ---- */

static void start(struct mcp *m, struct call *c)
{
    struct bk_err err;
    struct job_spec spec = {.program = m->o->program,
                            .command = c->command,
                            .shell = c->shell,
                            .root = m->root,
                            .cwd = m->cwd,
                            .tmpdir = m->scratch.path,
                            .settings = m->o->settings,
                            .nsettings = m->o->nsettings,
                            .sandboxed = c->sandboxed,
                            .grantable = m->o->grantable,
                            .timeout_ms = c->timeout_ms,
                            .max_output = m->o->max_output};
    if (job_start(&c->job, &spec, &err) < 0) {
        refuse_error(m, c->id, &err);
        call_free(c);
        return;
    }
    c->started = true;
    if (!c->background)
        return;
    char text[128];
    snprintf(text, sizeof(text),
             "Started in the background as job %llu. bash_output shows its output.",
             (unsigned long long)c->number);
    rpc_result(
        &m->rpc, c->id,
        mcp_text(text, strlen(text), false,
                 json_pack("{s:I, s:b}", "job", (json_int_t)c->number, "sandboxed", c->sandboxed)));
    json_decref(c->id);
    c->id = NULL;
}

/* Through the client, when it can: the person decides whether this one runs outside. */
static void ask(struct mcp *m, struct call *c)
{
    char id[32];
    OWN(buf) struct buf words = {0};
    c->asked = ++m->last_question;
    snprintf(id, sizeof(id), "ask-%llu", (unsigned long long)c->asked);
    buf_str(&words, "Run this command outside the sandbox?\n\n");
    buf_safe(&words, c->command, strlen(c->command));
    rpc_send(&m->rpc, json_pack("{s:s, s:s, s:{s:o, s:{s:s, s:{}}}}", "id", id, "method",
                                "elicitation/create", "params", "message", text_of(&words),
                                "requestedSchema", "type", "object", "properties"));
}

void mcp_answered(struct mcp *m, uint64_t question, const json_t *result)
{
    const char *action = json_text(result, "action");
    for (size_t i = 0; question && i < MCP_CALLS; i++) {
        struct call *c = &m->calls[i];
        if (!c->used || c->asked != question || c->started)
            continue;
        c->asked = 0;
        if (action && strcmp(action, "accept") == 0) {
            start(m, c);
        } else {
            refuse(m, c->id, "The person does not want this command to run outside the sandbox.");
            call_free(c);
        }
    }
}

/* ---- bash ---- */

struct asked {
    const char *command, *shell;
    json_int_t timeout;
    bool background, bypass;
};

/* One key of a tool's arguments. */
struct argument {
    const char *name;
    json_type type;
};

/* An argument that nobody knows is a wish that would go unheard. */
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
            return snprintf(why, sizeof(why), "The argument %s is of another type.", key), why;
        if (json_is_string(value) && strlen(json_string_value(value)) != json_string_length(value))
            return snprintf(why, sizeof(why), "The argument %s has a NUL in it.", key), why;
    }
    return NULL;
}

static void decide_call(struct mcp *m, struct call *c, bool bypass)
{
    OWN(agent_view) struct agent_view v;
    struct bk_err err;
    if (mcp_view(m, &v, &err) < 0) { /* no settings that can be read, no command */
        refuse_error(m, c->id, &err);
        call_free(c);
        return;
    }
    struct decide_settings s = view_decides(&v);
    struct decision d = decide(&s, &(struct decide_request){c->command, bypass});
    c->sandboxed = d.sandboxed;
    c->reason = d.reason;
    if (d.action == DECIDE_REFUSE || (d.action == DECIDE_ASK && !d.sandboxed && !m->asks)) {
        OWN(buf) struct buf why = {0};
        buf_fmt(&why, "Not run: %s%s.", d.reason,
                d.action == DECIDE_REFUSE
                    ? ""
                    : "; that needs the person's word, and this client cannot ask for it (the "
                      "person can start `buckle mcp --mode open`)");
        refuse(m, c->id, why.s ? why.s : "Not run.");
        call_free(c);
    } else if (d.action == DECIDE_ASK && !d.sandboxed) {
        ask(m, c);
    } else { /* the client lets the person approve calls: that is the asking for what runs inside */
        start(m, c);
    }
}

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

static void do_bash(struct mcp *m, const json_t *id, const json_t *given, const json_t *meta)
{
    const char *command = json_text(given, "command"), *shell = json_text(given, "shellExecutable");
    const char *wrong = check_arguments(given, bash_arguments, 6);
    if (wrong || !command) {
        refuse(m, id, wrong ? wrong : "Which command?");
        return;
    }
    struct call *c = new_call(m);
    if (!c) {
        refuse(m, id, "Too many commands run at once; wait for one, or kill one.");
        return;
    }
    *c = (struct call){.used = true,
                       .number = ++m->last_number,
                       .background = json_is_true(json_object_get(given, "run_in_background")),
                       .id = json_deep_copy(id),
                       .token = json_incref(json_object_get(meta, "progressToken")),
                       .command = strdup(command),
                       .shell = strdup(shell ? shell : m->o->shell)};
    c->timeout_ms = c->background && !json_object_get(given, "timeout") ? 0 : timeout_of(m, given);
    if (!c->command || !c->shell) {
        refuse(m, id, "Out of memory.");
        call_free(c);
        return;
    }
    decide_call(m, c, json_is_true(json_object_get(given, "dangerouslyDisableSandbox")));
}

/* ---- background jobs ---- */

static const struct argument job_argument[] = {{"job", JSON_INTEGER}};

static struct call *named_job(struct mcp *m, const json_t *id, const json_t *given)
{
    const char *wrong = check_arguments(given, job_argument, 1);
    struct call *c = find_call(m, (uint64_t)json_integer_value(json_object_get(given, "job")));
    if (wrong || !c || !c->background) {
        refuse(m, id, wrong ? wrong : "There is no such job.");
        return NULL;
    }
    return c;
}

static void do_output(struct mcp *m, const json_t *id, const json_t *given, const json_t *meta)
{
    struct call *c = named_job(m, id, given);
    (void)meta;
    if (!c)
        return;
    OWN(buf) struct buf out = {0};
    OWN(buf) struct buf err = {0};
    OWN(buf) struct buf all = {0};
    bool over = is_done(c);
    struct violations *v =
        over ? store_get(m->store, &(struct store_wanted){.command_id = c->number}) : NULL;
    capture_news(&c->job.captured[JOB_OUT], &out);
    capture_news(&c->job.captured[JOB_ERR], &err);
    buf_add(&all, out.s ? out.s : "", out.n);
    annotate(err.s ? err.s : "", err.n, v, &all);
    free(v);
    if (over)
        add_remark(&all, c);
    json_t *facts = json_pack("{s:I, s:b}", "job", (json_int_t)c->number, "running", !over);
    if (over)
        json_object_set_new(facts, "exitCode",
                            json_integer(WIFEXITED(c->job.status) ? WEXITSTATUS(c->job.status)
                                                                  : 128 + WTERMSIG(c->job.status)));
    rpc_result(&m->rpc, id, mcp_text(all.s, all.n, false, facts));
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
    const char *wrong = check_arguments(given, NULL, 0);
    (void)meta;
    if (wrong) {
        refuse(m, id, wrong);
        return;
    }
    if (mcp_view(m, &v, &err) < 0) {
        refuse_error(m, id, &err);
        return;
    }
    summary_text(&v, &text);
    if (!text.n)
        buf_str(&text, "Commands do not run in a sandbox.\n");
    buf_fmt(&text, "So far %llu operations were denied. The working directory is %s.\n",
            (unsigned long long)store_total(m->store), m->cwd);
    summary_json(&v, &facts);
    rpc_result(
        &m->rpc, id,
        mcp_text(text.s, text.n, false, facts.s ? json_loadb(facts.s, facts.n, 0, NULL) : NULL));
}

static void do_violations(struct mcp *m, const json_t *id, const json_t *given, const json_t *meta)
{
    static const struct argument known[] = {{"limit", JSON_INTEGER}, {"command", JSON_STRING}};
    const char *wrong = check_arguments(given, known, 2);
    json_int_t limit = json_integer_value(json_object_get(given, "limit"));
    (void)meta;
    if (wrong) {
        refuse(m, id, wrong);
        return;
    }
    OWN(buf) struct buf text = {0};
    struct store_wanted wanted = {.limit = limit > 0 ? (size_t)limit : 0,
                                  .command = json_text(given, "command")};
    struct violations *v = store_get(m->store, &wanted);
    json_t *list = json_array();
    for (size_t i = 0; v && i < v->n; i++) {
        json_t *event = json_loads(v->at[i].json, 0, NULL);
        buf_fmt(&text, "%s\n", v->at[i].line);
        json_object_set_new(event, "command", json_string(v->at[i].command));
        json_array_append_new(list, event);
    }
    buf_fmt(&text, "%llu in all.", (unsigned long long)store_total(m->store));
    free(v);
    rpc_result(&m->rpc, id,
               mcp_text(text.s, text.n, false,
                        json_pack("{s:o, s:I}", "violations", list, "total",
                                  (json_int_t)store_total(m->store))));
}

/* ---- the table ---- */

#define OBJECT(properties) "{\"type\":\"object\",\"properties\":{" properties "}"
#define JOB_SCHEMA                                                                                 \
    OBJECT("\"job\":{\"type\":\"integer\",\"description\":\"its number\"}")                        \
    ",\"required\":[\"job\"]}"

static const struct {
    const char *name, *description, *schema;
    void (*run)(struct mcp *m, const json_t *id, const json_t *given, const json_t *meta);
} tools[] = {
    {"bash",
     "Runs a shell command in the sandbox. The working directory is kept from one command to the "
     "next; variables are not. What the sandbox denies is listed in <sandbox_violations> after the "
     "error output; sandbox_status tells what is allowed.",
     OBJECT("\"command\":{\"type\":\"string\",\"description\":\"what the shell is to run\"},"
            "\"timeout\":{\"type\":\"integer\",\"description\":\"milliseconds after which it is "
            "ended with everything it started\"},"
            "\"description\":{\"type\":\"string\",\"description\":\"what it is for, in a few "
            "words\"},"
            "\"run_in_background\":{\"type\":\"boolean\",\"description\":\"return at once; see "
            "bash_output and bash_kill\"},"
            "\"shellExecutable\":{\"type\":\"string\",\"description\":\"another shell\"},"
            "\"dangerouslyDisableSandbox\":{\"type\":\"boolean\",\"description\":\"run it outside "
            "the sandbox, if the settings allow that and the person agrees; only on clear evidence "
            "that the sandbox made this command fail\"}") ",\"required\":[\"command\"]}",
     do_bash},
    {"bash_output",
     "Shows what a command in the background has printed since this was called last.", JOB_SCHEMA,
     do_output},
    {"bash_kill", "Ends a command in the background, and everything it started.", JOB_SCHEMA,
     do_kill},
    {"sandbox_status", "Tells what commands may read, write and reach.", OBJECT("") "}", do_status},
    {"sandbox_violations", "Lists what was denied, the newest last.",
     OBJECT("\"limit\":{\"type\":\"integer\",\"description\":\"only so many of the newest\"},"
            "\"command\":{\"type\":\"string\",\"description\":\"only of commands with this "
            "text\"}") "}",
     do_violations},
};

enum { TOOLS = sizeof(tools) / sizeof(tools[0]) };

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
        rpc_error(&m->rpc, id, RPC_PARAMS, "which tool?");
        return;
    }
    for (size_t i = 0; i < TOOLS; i++)
        if (strcmp(name, tools[i].name) == 0) {
            tools[i].run(m, id, given, meta);
            return;
        }
    rpc_error(&m->rpc, id, RPC_PARAMS, "no tool is called %.100s", name);
}
