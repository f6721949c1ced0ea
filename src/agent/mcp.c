/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The server's loop and the protocol around its tools. One thread; every command is a process, and
 * the loop waits for all of them with poll(). Messages from the client are untrusted: types are
 * checked before use, and errors are answered, never fatal.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/mcp-int.h"
#include "base/clock.h"
#include "base/own.h"

int mcp_view(const struct mcp *m, struct agent_view *v, struct bk_err *err)
{
    *v = (struct agent_view){.mode = m->o->mode, .planning = m->o->planning};
    snprintf(v->tmpdir, sizeof(v->tmpdir), "%s", m->session.tmpdir.path);
    return view_read(v, m->root, m->o->settings, m->o->nsettings, err);
}

/* ---- methods ---- */

typedef void method(struct mcp *m, const json_t *id, const json_t *params);

/* The client's version if we support it, otherwise our newest. */
static const char *choose_version(const char *wanted)
{
    static const char *const spoken[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
    for (size_t i = 0; wanted && i < sizeof(spoken) / sizeof(spoken[0]); i++)
        if (strcmp(wanted, spoken[i]) == 0)
            return spoken[i];
    return spoken[0];
}

static void do_initialize(struct mcp *m, const json_t *id, const json_t *params)
{
    OWN(agent_view) struct agent_view v;
    OWN(buf) struct buf text = {0};
    struct bk_err err;
    m->asks =
        json_is_object(json_object_get(json_object_get(params, "capabilities"), "elicitation"));
    m->initialized = true;
    m->session.client_asks = m->asks;
    if (mcp_view(m, &v, &err) == 0)
        summary_text(&v, &text);
    m->can_wait = view_can_wait(&v);
    json_t *result = json_pack("{s:s, s:{s:{}, s:{s:b}}, s:{s:s, s:s}}", "protocolVersion",
                               choose_version(json_text(params, "protocolVersion")), "capabilities",
                               "tools", "resources", "subscribe", 1, "serverInfo", "name", "buckle",
                               "version", BK_VERSION);
    if (text.n)
        json_object_set_new(result, "instructions", json_stringn(text.s, text.n));
    rpc_result(&m->rpc, id, result);
    mcp_spare_prepare(m);
}

static void do_ping(struct mcp *m, const json_t *id, const json_t *params)
{
    (void)params;
    rpc_result(&m->rpc, id, json_object());
}

static void do_list_tools(struct mcp *m, const json_t *id, const json_t *params)
{
    (void)params;
    rpc_result(&m->rpc, id, json_pack("{s:o}", "tools", mcp_tools()));
}

static void do_list_resources(struct mcp *m, const json_t *id, const json_t *params)
{
    (void)params;
    rpc_result(&m->rpc, id, json_pack("{s:o}", "resources", mcp_resources()));
}

static void do_list_templates(struct mcp *m, const json_t *id, const json_t *params)
{
    (void)params;
    rpc_result(&m->rpc, id, json_pack("{s:[]}", "resourceTemplates"));
}

static void do_read_resource(struct mcp *m, const json_t *id, const json_t *params)
{
    mcp_read_resource(m, id, json_text(params, "uri"));
}

static void do_subscribe(struct mcp *m, const json_t *id, const json_t *params)
{
    (void)params;
    m->watched = true;
    rpc_result(&m->rpc, id, json_object());
}

static void do_unsubscribe(struct mcp *m, const json_t *id, const json_t *params)
{
    (void)params;
    m->watched = false;
    rpc_result(&m->rpc, id, json_object());
}

static const struct {
    const char *name;
    method *run;
} methods[] = {
    {"initialize", do_initialize},
    {"ping", do_ping},
    {"tools/list", do_list_tools},
    {"tools/call", mcp_call_tool},
    {"resources/list", do_list_resources},
    {"resources/templates/list", do_list_templates},
    {"resources/read", do_read_resource},
    {"resources/subscribe", do_subscribe},
    {"resources/unsubscribe", do_unsubscribe},
};

static void do_method(struct mcp *m, const char *name, const json_t *id, const json_t *params)
{
    bool early = strcmp(name, "initialize") == 0 || strcmp(name, "ping") == 0;
    if (!m->initialized && !early) {
        rpc_error(&m->rpc, id, RPC_INVALID, "the first request must be initialize");
        return;
    }
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (strcmp(name, methods[i].name) == 0) {
            methods[i].run(m, id, params);
            return;
        }
    rpc_error(&m->rpc, id, RPC_METHOD, "there is no method %.100s", name);
}

/* ---- messages ---- */

/* Answers to our questions have the id "ask-N". */
static void handle_answer(struct mcp *m, const json_t *message)
{
    const char *id = json_text(message, "id");
    if (id && strncmp(id, "ask-", 4) == 0)
        mcp_answered(m, strtoull(id + 4, NULL, 10), json_object_get(message, "result"));
}

static void on_message(void *arg, json_t *message)
{
    struct mcp *m = arg;
    const json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");
    const char *name = json_text(message, "method");
    bool asks = json_is_string(id) || json_is_integer(id);
    if (!name && (json_object_get(message, "result") || json_object_get(message, "error")))
        handle_answer(m, message);
    else if (!name || (id && !asks) || (params && !json_is_object(params)))
        rpc_error(&m->rpc, asks ? id : NULL, RPC_INVALID, "not a request");
    else if (id)
        do_method(m, name, id, params);
    else if (strcmp(name, "notifications/cancelled") == 0)
        mcp_cancel(m, json_object_get(params, "requestId"));
}

/* ---- the loop ---- */

enum { FDS = 3 + MCP_CALLS * (JOB_PIPES + 2) };

static size_t list_fds(const struct mcp *m, struct pollfd *fds)
{
    size_t n = 0;
    fds[n++] = (struct pollfd){m->rpc.in, POLLIN, 0};
    fds[n++] = (struct pollfd){m->rpc.queue.n ? m->rpc.out : -1, POLLOUT, 0};
    fds[n++] = (struct pollfd){m->session.fds.fd, POLLIN, 0};
    for (size_t i = 0; i < MCP_CALLS; i++) {
        const struct job *j = &m->calls[i].job;
        if (!m->calls[i].used || !m->calls[i].started)
            continue;
        fds[n++] = (struct pollfd){j->exited ? -1 : j->watch, POLLIN, 0};
        fds[n++] = (struct pollfd){j->exited ? -1 : j->order, POLLIN, 0};
        for (int k = 0; k < JOB_PIPES; k++)
            fds[n++] = (struct pollfd){j->pipes[k], POLLIN, 0};
    }
    return n;
}

static int sooner(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

static int next_tick(struct mcp *m)
{
    enum { SOON_MS = 20 };
    int wait = sooner(m->events_pending ? MCP_PAUSE_MS : -1, mcp_spare_wait(m));
    for (size_t i = 0; i < MCP_CALLS; i++) {
        struct call *c = &m->calls[i];
        if (!c->used || !c->started)
            continue;
        wait = sooner(wait, job_tick(&c->job));
        if (c->ended_ms && !c->over)
            wait = sooner(wait, SOON_MS);
    }
    return wait;
}

static void notify_events(struct mcp *m)
{
    uint64_t now = now_ms();
    if (!m->events_pending || now - m->events_ms < MCP_PAUSE_MS)
        return;
    m->events_pending = false;
    m->events_ms = now;
    rpc_notify(&m->rpc, "notifications/resources/updated",
               json_pack("{s:s}", "uri", "buckle://events"));
}

static void run_once(struct mcp *m)
{
    static struct pollfd fds[FDS]; /* static because it is large */
    size_t n = list_fds(m, fds);
    if (poll(fds, n, next_tick(m)) < 0 && errno != EINTR) {
        m->rpc.ended = true;
        return;
    }
    for (size_t i = 0; i < MCP_CALLS; i++)
        if (m->calls[i].used && m->calls[i].started)
            job_read(&m->calls[i].job);
    fd_watch_all(&m->session.fds);
    mcp_spare_tick(m);
    job_reap_others();
    notify_events(m);
    for (size_t i = 0; i < MCP_CALLS; i++)
        if (m->calls[i].used && m->calls[i].started)
            mcp_update_call(m, &m->calls[i]);
    if (fds[1].revents)
        rpc_flush(&m->rpc);
    if (fds[0].revents && m->spare.used && job_is_ready(&m->spare.job))
        job_announce(&m->spare.job);
    if (fds[0].revents)
        rpc_read(&m->rpc, on_message, m);
}

/* Each command uses five descriptors. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void on_violations(void *arg, struct store *s)
{
    struct mcp *m = arg;
    (void)s;
    m->events_pending |= m->watched;
}

static int open_all(struct mcp *m, struct bk_err *err)
{
    if (!getcwd(m->root, sizeof(m->root)))
        return err_sys(err, "cannot read the working directory");
    memcpy(m->cwd, m->root, sizeof(m->cwd));
    OWN(agent_view) struct agent_view v;
    struct bk_err broken; /* the first command reports it */
    bool known = mcp_view(m, &v, &broken) == 0;
    if (session_open(&m->session, "mcp", 0, known ? view_tmpdir_place(&v, m->root) : NULL,
                     m->o->world, err) < 0)
        return -1;
    m->session.on_question = mcp_on_question;
    m->session.on_count = mcp_on_count;
    m->session.on_grant = mcp_spare_drop;
    m->session.arg = m;
    if (store_subscribe(m->session.store, on_violations, m) < 0)
        return err_nomem(err);
    return 0;
}

int mcp_serve(const struct mcp_options *o, int in, int out, struct bk_err *err)
{
    struct mcp *m = calloc(1, sizeof(*m));
    if (!m)
        return err_nomem(err);
    m->o = o;
    m->session.tmpdir.lock = -1;
    raise_descriptors();
    signal(SIGPIPE, SIG_IGN);
    rpc_init(&m->rpc, in, out);
    int result = open_all(m, err);
    while (result == 0 && !m->rpc.ended)
        run_once(m);
    mcp_spare_drop(m);
    for (size_t i = 0; i < MCP_CALLS; i++)
        call_free(&m->calls[i]);
    session_close(&m->session);
    rpc_free(&m->rpc);
    free(m);
    return result;
}
