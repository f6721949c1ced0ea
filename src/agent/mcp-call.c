/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * An agent's commands, from decision to result. decide() says what to do; this file asks the user,
 * starts the command, and reports its progress and result.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/line-rules.h"
#include "agent/mcp-int.h"
#include "base/clock.h"
#include "base/own.h"
#include "command/end-folder.h"
#include "report/annotate.h"

/* ---- the table ---- */

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

struct call *call_new(struct mcp *m)
{
    struct call *oldest = NULL;
    for (size_t i = 0; i < MCP_CALLS; i++) {
        struct call *c = &m->calls[i];
        if (!c->used)
            return c;
        if (c->background && c->over && (!oldest || c->number < oldest->number))
            oldest = c;
    }
    if (oldest)
        call_free(oldest);
    return oldest;
}

struct call *call_find(struct mcp *m, uint64_t number)
{
    for (size_t i = 0; number && i < MCP_CALLS; i++)
        if (m->calls[i].used && m->calls[i].number == number)
            return &m->calls[i];
    return NULL;
}

/* ---- progress ---- */

static void report_progress(struct mcp *m, struct call *c)
{
    enum { SHOWN = 2000 };
    struct capture *out = &c->job.captured[JOB_OUT], *err = &c->job.captured[JOB_ERR];
    uint64_t bytes = out->total + err->total, now = now_ms();
    OWN(buf) struct buf news = {0};
    if (!c->token || bytes == c->progress_bytes || now - c->progress_ms < MCP_PAUSE_MS)
        return;
    c->progress_bytes = bytes;
    c->progress_ms = now;
    capture_news(out, &news);
    capture_news(err, &news);
    size_t from = news.n > SHOWN ? news.n - SHOWN : 0;
    while (from && from < news.n && ((unsigned char)news.s[from] & 0xc0) == 0x80)
        from++;
    rpc_notify(&m->rpc, "notifications/progress",
               json_pack("{s:O, s:I, s:o}", "progressToken", c->token, "progress",
                         (json_int_t)bytes, "message", mcp_string(news.s + from, news.n - from)));
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

/* ---- results ---- */

size_t call_text(struct mcp *m, const struct call *c, const struct buf *out, const struct buf *err,
                 struct buf *annotated, struct buf *text)
{
    bool over = c->over;
    const struct store_wanted its = {.command_id = c->number};
    struct violations *v = over ? store_get(m->session.store, &its) : NULL;
    size_t listed = v ? v->n : 0, n = over && c->denied > listed ? c->denied : listed;
    annotate(out->s ? out->s : "", out->n, NULL, 0, text); /* escape our tag in stdout too */
    annotate(err->s ? err->s : "", err->n, v, n, annotated);
    buf_add(text, annotated->s ? annotated->s : "", annotated->n);
    free(v);
    const struct job *j = &c->job;
    if (over && j->timed_out)
        buf_fmt(text, "\n[killed after its time limit of %u ms]", c->timeout_ms);
    else if (over && j->cancelled)
        buf_str(text, "\n[cancelled]");
    else if (over && WIFSIGNALED(j->status))
        buf_fmt(text, "\n[killed by signal %d]", WTERMSIG(j->status));
    else if (over && WEXITSTATUS(j->status))
        buf_fmt(text, "\n[exit status %d]", WEXITSTATUS(j->status));
    return n;
}

int call_status(const struct call *c)
{
    int status = c->job.status;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static json_t *result_of(struct mcp *m, struct call *c)
{
    const struct job *j = &c->job;
    OWN(buf) struct buf out = {0};
    OWN(buf) struct buf err = {0};
    OWN(buf) struct buf annotated = {0};
    OWN(buf) struct buf text = {0};
    capture_text(&j->captured[JOB_OUT], &out);
    capture_text(&j->captured[JOB_ERR], &err);
    size_t denied = call_text(m, c, &out, &err, &annotated, &text);
    json_t *facts =
        json_pack("{s:o, s:o, s:i, s:b, s:b, s:b, s:I, s:s}", "stdout", mcp_string(out.s, out.n),
                  "stderr", mcp_string(annotated.s, annotated.n), "exitCode", call_status(c),
                  "sandboxed", c->sandboxed, "timedOut", j->timed_out, "cancelled", j->cancelled,
                  "violations", (json_int_t)denied, "cwd", m->cwd);
    return mcp_text(text.s, text.n, j->status != 0 || j->timed_out || j->cancelled, facts);
}

/* The next command starts where this one ended, inside the project (session-folder.h). */
static void follow_cwd(struct mcp *m, struct call *c)
{
    const char *cwd = c->job.cwd;
    if (c->background || cwd[0] != '/')
        return;
    bool fits = session_folder_fits(cwd, m->root);
    snprintf(m->cwd, sizeof(m->cwd), "%s", fits ? cwd : m->root);
    if (fits)
        return;
    OWN(buf) struct buf note = {0};
    buf_str(&note, END_FOLDER_NOTE);
    buf_safe(&note, cwd, strlen(cwd));
    buf_chr(&note, '\n');
    if (buf_ok(&note))
        capture_add(&c->job.captured[JOB_ERR], note.s, note.n);
}

/* Nobody reads what background processes write from now on, but they must not fail there. */
static void on_rest(void *arg, int fd)
{
    static char block[65536];
    struct mcp *m = arg;
    ssize_t n = read(fd, block, sizeof(block));
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    fd_watch_drop(&m->session.fds, fd);
    close(fd);
}

static void drain_rest(struct mcp *m, struct call *c)
{
    struct bk_err err;
    for (int i = 0; i < 2; i++) {
        OWN(fd) int rest = job_take_rest(&c->job, i);
        if (rest >= 0 && fd_watch_add(&m->session.fds, rest, on_rest, m, &err) == 0)
            (void)steal_fd(&rest);
    }
}

void mcp_on_count(void *arg, uint64_t run, uint64_t denied)
{
    struct call *c = call_find(arg, run);
    if (c)
        c->denied += denied;
}

/* A run closes its session socket after its last event. A killed run may not, so the wait is
 * limited. It is longer with a world: the checkpoint is made when the socket closes, and would
 * otherwise hold what the next command has done. */
static bool has_all_events(struct mcp *m, struct call *c)
{
    enum { PATIENCE_MS = 500, WORLD_PATIENCE_MS = 5000 };
    const uint64_t most = m->session.world ? WORLD_PATIENCE_MS : PATIENCE_MS;
    if (!job_is_over(&c->job))
        return false;
    c->ended_ms = c->ended_ms ? c->ended_ms : now_ms();
    return !session_expects(&m->session, c->number) || now_ms() - c->ended_ms > most;
}

void mcp_update_call(struct mcp *m, struct call *c)
{
    report_progress(m, c);
    c->over = c->over || has_all_events(m, c);
    if (!c->over || !c->id)
        return;
    follow_cwd(m, c);
    drain_rest(m, c);
    if (!c->job.cancelled) /* a cancelled request gets no answer */
        rpc_result(&m->rpc, c->id, result_of(m, c));
    if (c->sandboxed)
        mcp_spare_soon(m);
    call_free(c);
}

/* ---- starting ---- */

static void refuse_call(struct mcp *m, struct call *c, const char *why)
{
    mcp_refuse(m, c->id, why);
    call_free(c);
}

/* Answers the request; from now on the agent uses the job's number. */
static void answer_background(struct mcp *m, struct call *c)
{
    char text[128];
    snprintf(text, sizeof(text),
             "Started in the background as job %llu. bash_output shows its output.",
             (unsigned long long)c->number);
    json_t *facts =
        json_pack("{s:I, s:b}", "job", (json_int_t)c->number, "sandboxed", c->sandboxed);
    rpc_result(&m->rpc, c->id, mcp_text(text, strlen(text), false, facts));
    json_decref(c->id);
    c->id = NULL;
}

struct job_spec mcp_job_spec(const struct mcp *m, const struct call *c, int session)
{
    return (struct job_spec){.program = m->o->program,
                             .command = c->command,
                             .shell = c->shell ? c->shell : m->o->shell,
                             .root = m->root,
                             .cwd = m->cwd,
                             .here = m->o->here,
                             .tmpdir = m->session.tmpdir.path,
                             .settings = m->o->settings,
                             .nsettings = m->o->nsettings,
                             .sandboxed = c->sandboxed,
                             .grantable = m->o->grantable,
                             .world = m->o->world != NULL,
                             .session = session,
                             .timeout_ms = c->timeout_ms,
                             .max_procs = m->o->max_procs,
                             .max_output = m->o->max_output};
}

/* Patterns of commands that the user has agreed to with the line. */
struct agreed {
    const char *at[COMMAND_PATTERNS];
    size_t n;
};

static void add_agreed(void *arg, const char *pattern)
{
    struct agreed *a = arg;
    if (a->n < COMMAND_PATTERNS)
        a->at[a->n++] = pattern;
}

static bool start_as_usual(struct mcp *m, struct call *c, const struct agreed *agreed,
                           struct bk_err *err)
{
    OWN(fd) int session = session_admit(&m->session, c->command, &c->number, err);
    struct job_spec spec = mcp_job_spec(m, c, session);
    spec.agreed = agreed->at;
    spec.nagreed = agreed->n;
    return session >= 0 && job_start(&c->job, &spec, err) == 0;
}

/* A spare knows nothing of what the user has agreed to. */
static void start_job(struct mcp *m, struct call *c, const struct agreed *agreed)
{
    struct bk_err err;
    bool spare = !agreed->n && mcp_spare_use(m, c);
    if (!spare && !start_as_usual(m, c, agreed, &err)) {
        mcp_refuse_error(m, c->id, &err);
        call_free(c);
        return;
    }
    c->started = true;
    if (c->background)
        answer_background(m, c);
}

/* Asks the user, through the client, whether to run this command. by_rule: a rule of the settings
 * asks, and the answer can last. */
static void ask_user(struct mcp *m, struct call *c, bool by_rule)
{
    char id[32];
    OWN(buf) struct buf words = {0};
    c->asked = ++m->last_question;
    snprintf(id, sizeof(id), "ask-%llu", (unsigned long long)c->asked);
    c->asked_outside = !c->sandboxed;
    buf_fmt(&words, "Run this command %s the sandbox?\n\n", c->sandboxed ? "in" : "outside");
    buf_safe(&words, c->command, strlen(c->command));
    if (c->shell) {
        buf_str(&words, "\n\nin the shell ");
        buf_safe(&words, c->shell, strlen(c->shell));
    }
    json_t *lasts =
        by_rule ? json_pack("{s:{s:s, s:s, s:[s,s,s]}}", "allow", "type", "string", "description",
                            "how long: once, such commands for the session, or always", "enum",
                            "once", "session", "always")
                : json_object();
    rpc_send(&m->rpc,
             json_pack("{s:s, s:s, s:{s:o, s:{s:s, s:o}}}", "id", id, "method",
                       "elicitation/create", "params", "message", mcp_string(words.s, words.n),
                       "requestedSchema", "type", "object", "properties", lasts));
}

static void refuse_decided(struct mcp *m, struct call *c, const struct decision *d)
{
    OWN(buf) struct buf why = {0};
    buf_str(&why, "Not run: ");
    decide_reason(d, &why);
    if (d->action != DECIDE_REFUSE)
        buf_str(&why, "; the user has to approve it, and this client can't ask");
    if (d->action != DECIDE_REFUSE && d->row != DECIDE_ROW_BYPASS_ALLOWED &&
        !d->rule) /* these are always asked */
        buf_fmt(&why, " (%s)", remedy_words(REMEDY_MCP_MODE_OPEN));
    buf_chr(&why, '.');
    refuse_call(m, c, buf_ok(&why) ? why.s : "Not run.");
}

static void refuse_root(struct mcp *m, struct call *c, const char *all)
{
    OWN(buf) struct buf why = {0};
    buf_str(&why, "Not run: ");
    buf_safe(&why, m->root, strlen(m->root));
    buf_fmt(&why,
            " is %s, and the command could write to all of it. The user can start the server in a "
            "project folder, list folders in the setting filesystem.allowWrite, or %s.",
            all, remedy_words(REMEDY_MCP_HERE));
    refuse_call(m, c, buf_ok(&why) ? why.s : "Not run.");
}

/* What lasts of the user's answer to a line that rules ask about. */
static void remember_line(struct mcp *m, const struct agreed *agreed, const char *how)
{
    struct bk_err err;
    for (size_t i = 0; how && i < agreed->n; i++)
        if (strcmp(how, "always") == 0) /* or at least for this line */
            (void)settings_remember(m->root, "agreedCommands", agreed->at[i], &err);
        else if (strcmp(how, "session") == 0)
            mcp_grant(m, "allow-command", agreed->at[i]);
}

/* Uses the current settings. approved: the user has agreed meanwhile; how: for how long, or NULL.
 */
static void decide_again(struct mcp *m, struct call *c, bool approved, const char *how)
{
    OWN(agent_view) struct agent_view v;
    struct bk_err err;
    if (mcp_view(m, &v, &err) < 0) { /* without readable settings, run nothing */
        mcp_refuse_error(m, c->id, &err);
        call_free(c);
        return;
    }
    struct agreed agreed = {0};
    m->can_wait = view_can_wait(&v);
    view_agree(&v, m->session.grants);
    struct decide_settings s = view_decides(&v);
    struct decision d = decide(&s, &(struct decide_request){.command = c->command,
                                                            .bypass = c->bypass,
                                                            .other_shell = c->shell != NULL});
    c->sandboxed = d.sandboxed;
    const char *all = d.sandboxed && !m->o->here ? view_root_is_all(&v, m->root) : NULL;
    /* The client has applied its rules to the call, but they know nothing of running outside. */
    bool wants = d.action == DECIDE_ASK || (d.action == DECIDE_CLIENT && !d.sandboxed);
    bool question = wants && !(approved && (d.sandboxed || c->asked_outside));
    if (d.action == DECIDE_REFUSE || (question && !m->asks))
        refuse_decided(m, c, &d);
    else if (all)
        refuse_root(m, c, all);
    else if (question)
        ask_user(m, c, d.row == DECIDE_ROW_COMMAND_ASKED);
    else {
        if (approved && d.row == DECIDE_ROW_COMMAND_ASKED)
            line_rules_asked(&v.result.policy, c->command, add_agreed, &agreed);
        remember_line(m, &agreed, how);
        start_job(m, c, &agreed);
    }
}

void call_decide(struct mcp *m, struct call *c)
{
    decide_again(m, c, false, NULL);
}

void mcp_answered(struct mcp *m, uint64_t question, const json_t *result)
{
    const char *action = json_text(result, "action");
    if (mcp_question_answered(m, question, result))
        return;
    for (size_t i = 0; question && i < MCP_CALLS; i++) {
        struct call *c = &m->calls[i];
        if (!c->used || c->asked != question || c->started)
            continue;
        c->asked = 0;
        if (action && strcmp(action, "accept") == 0)
            decide_again(m, c, true, json_text(json_object_get(result, "content"), "allow"));
        else
            refuse_call(m, c,
                        c->asked_outside
                            ? "The user does not want this command to run outside the sandbox."
                            : "The user does not want this command to run.");
    }
}
