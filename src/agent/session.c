/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The handlers of a session's control server, and the runs that have joined it.
 */

#include "agent/session-int.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "run/grant.h"
#include "settings/flag-rule.h"
#include "system/descriptors.h"

/* ---- runs ---- */

struct session_run *session_find_run(const struct session *k, int client)
{
    for (size_t i = 0; i < k->nruns; i++)
        if (k->runs[i].client == client)
            return &k->runs[i];
    return NULL;
}

struct session_run *session_find_number(const struct session *k, uint64_t number)
{
    for (size_t i = 0; i < k->nruns; i++)
        if (k->runs[i].number == number)
            return &k->runs[i];
    return NULL;
}

static struct session_run *add_run(struct session *k, int client, const char *command)
{
    struct session_run *grown = realloc(k->runs, (k->nruns + 1) * sizeof(*grown));
    char *text = grown ? strdup(command) : NULL;
    k->runs = grown ? grown : k->runs;
    if (!text)
        return NULL;
    k->runs[k->nruns] =
        (struct session_run){.client = client, .number = ++k->last, .command = text};
    return &k->runs[k->nruns++];
}

static void note_end(const struct session *k, const struct session_run *run)
{
    if (k->world && k->world->ended && !run->left && !run->spare)
        k->world->ended(k->world->arg, run->command);
}

static void on_left(void *arg, int client)
{
    struct session *k = arg;
    struct session_run *run = session_find_run(k, client);
    session_ask_watch(k, client, false);
    watchers_drop(&k->watchers, client);
    session_spare_left(k, client);
    if (!run)
        return;
    session_ask_withdraw(k, run->number, 0);
    note_end(k, run);
    free(run->command);
    folder_user_free(&run->moves);
    *run = k->runs[--k->nruns];
}

int session_admit(struct session *k, const char *command, uint64_t *number, struct bk_err *err)
{
    int ends[2];
    if (fd_packet_pair(ends) < 0)
        return err_sys(err, "cannot start another command");
    OWN(fd) int theirs = ends[1];
    if (control_server_admit(&k->server, ends[0], err) < 0)
        return -1;
    const struct session_run *run = add_run(k, ends[0], command);
    if (!run)
        return err_nomem(err);
    *number = run->number;
    return steal_fd(&theirs);
}

int session_admit_spare(struct session *k, uint64_t *number, struct bk_err *err)
{
    int sock = session_admit(k, "", number, err);
    struct session_run *run = sock >= 0 ? session_find_number(k, *number) : NULL;
    if (run)
        run->spare = true;
    return sock;
}

bool session_expects(const struct session *k, uint64_t number)
{
    const struct session_run *run = session_find_number(k, number);
    return run && !run->left;
}

bool session_is_busy(const struct session *k)
{
    for (size_t i = 0; i < k->nruns; i++)
        if (!k->runs[i].left && !k->runs[i].spare)
            return true;
    return false;
}

/* Accepted only from runs that have joined. */

bool session_can_ask(const struct session *k)
{
    return k->client_asks || k->ask.nwatchers > 0;
}

static void do_join(struct session *k, int client, const json_t *m, struct buf *out)
{
    const char *command = json_text(m, "join");
    struct session_run *run = session_find_run(k, client);
    if (!run && command)
        run = add_run(k, client, command);
    if (!run)
        return control_server_refuse(out, command ? "out of memory" : "the command is missing");
    run->pid = (pid_t)json_integer_value(json_object_get(m, "pid"));
    run->spare |= json_is_true(json_object_get(m, "spare"));
    run->grants = json_array_size(k->grants);
    session_layers_join(&k->layers, k->server.passed);
    folder_user_read(&run->moves, m);
    control_server_answer(out, json_pack("{s:b, s:O, s:s, s:b, s:b, s:s*, s:s*}", "ok", 1, "grants",
                                         k->grants, "tmpdir", k->tmpdir.path, "asks",
                                         session_can_ask(k), "spares", session_wants_spare(k),
                                         "folder", session_folder(k->folders, &run->moves), "world",
                                         k->world ? k->world->folder : NULL));
}

/* Only of runs, which have joined. */
static void do_folder(struct session *k, int client, const json_t *m)
{
    const struct session_run *run = session_find_run(k, client);
    if (run && json_object_size(k->folders) < SESSION_ROOTS)
        session_folder_set(k->folders, &run->moves, json_text(m, "folder"));
}

static void do_left(struct session *k, int client)
{
    struct session_run *run = session_find_run(k, client);
    if (!run)
        return;
    note_end(k, run);
    run->left = true;
}

/* Every event of a session is a denial, so both counts are the store's. */
static void report_to_watchers(struct session *k, int client, const struct violation *v)
{
    OWN(buf) struct buf message = {0};
    watchers_event(&message, v->json, v->number, v->number, v->command);
    watchers_send(&k->watchers, client, &message);
}

static void do_events(struct session *k, int client, const json_t *m, struct buf *out)
{
    bool known = watchers_have(&k->watchers, client);
    uint64_t after = (uint64_t)json_integer_value(json_object_get(m, "after"));
    if (!watchers_add(&k->watchers, client))
        return control_server_refuse(out, "too many windows watch this session");
    uint64_t total = store_total(k->store);
    watchers_totals(out, total, total);
    struct violations *v =
        known ? NULL : store_get(k->store, &(struct store_wanted){.after = after});
    for (size_t i = 0; v && i < v->n; i++)
        report_to_watchers(k, client, &v->at[i]);
    free(v);
}

/* Only of runs, which have joined. */
static void do_event(struct session *k, int client, const json_t *m)
{
    const struct session_run *run = session_find_run(k, client);
    const json_t *event = json_object_get(m, "event");
    const char *line = json_text(event, "line"), *verdict = json_text(event, "verdict");
    json_int_t missed = json_integer_value(json_object_get(m, "missed"));
    OWN(mem) char *dumped = json_dumps(event, JSON_COMPACT);
    OWN(buf) struct buf json = {0};
    if (dumped)
        buf_json_text(&json, dumped, strlen(dumped));
    if (run && missed > 0)
        store_missed(k->store, (uint64_t)missed);
    bool named = verdict && strcmp(verdict, "deny") == 0;
    if (run && k->on_count && (named || missed > 0))
        k->on_count(k->arg, run->number, (uint64_t)(missed > 0 ? missed : 0) + named);
    bool denied = run && line && json.n && buf_ok(&json) && named;
    if (denied && k->on_denial)
        k->on_denial(k->arg, run->command, json.s);
    struct violation v = {
        .command_id = run ? run->number : 0, .command = run ? run->command : "", .line = line};
    v.json = json.s;
    if (denied && store_add(k->store, &v) && k->watchers.n) {
        v.number = store_total(k->store);
        report_to_watchers(k, -1, &v);
    }
}

void session_answer(const struct session *k, uint64_t run, uint32_t id, const char *word)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "{\"consent\": \"%s\", \"id\": %u}", word, id);
    for (size_t i = 0; i < k->nruns; i++)
        if (k->runs[i].number == run)
            (void)!fd_packet_send(k->runs[i].client, text, (size_t)n, -1, true);
}

static void do_question(struct session *k, int client, const json_t *m)
{
    const struct session_run *run = session_find_run(k, client);
    const json_t *question = json_object_get(m, "question");
    if (run && (!k->on_question || !k->on_question(k->arg, run->number, question)))
        session_ask_question(k, run->number, run->command, question);
}

static void do_withdrawn(struct session *k, int client, const json_t *m)
{
    const struct session_run *run = session_find_run(k, client);
    uint32_t id = (uint32_t)json_integer_value(json_object_get(m, "withdrawn"));
    if (run && id)
        session_ask_withdraw(k, run->number, id);
}

static void do_watch(struct session *k, int client, const json_t *m, struct buf *out)
{
    if (client < 0) /* session_request(), which has no socket to ask on */
        control_server_refuse(out, "unknown request");
    else if (session_ask_watch(k, client, json_is_true(json_object_get(m, "watch"))))
        control_server_answer(out, json_pack("{s:b}", "ok", 1));
    else
        control_server_refuse(out, "too many users watch this session");
}

static void do_log(struct session *k, const json_t *m, struct buf *out)
{
    enum { ROOM = CONTROL_MESSAGE - 20000 }; /* leaves room for one more event of any size */
    uint64_t after = (uint64_t)json_integer_value(json_object_get(m, "after"));
    struct violations *v = store_get(k->store, &(struct store_wanted){.after = after});
    uint64_t total = store_total(k->store);
    size_t kept = store_count(k->store);
    buf_fmt(out,
            "{\"ok\": true, \"total\": %llu, \"denied\": %llu, \"oldest\": %llu, \"events\": [",
            (unsigned long long)total, (unsigned long long)total,
            (unsigned long long)(total > kept ? total - kept : 0) + 1);
    size_t i = 0;
    for (; v && i < v->n && out->n < ROOM; i++) {
        buf_str(out, i ? ", " : "");
        buf_add(out, v->at[i].json, strlen(v->at[i].json) - 1); /* without the closing brace */
        buf_str(out, ", \"command\": ");
        buf_json(out, v->at[i].command, strnlen(v->at[i].command, 4000));
        buf_chr(out, '}');
    }
    uint64_t last = v && i < v->n ? v->at[i - 1].number : total;
    buf_fmt(out, "], \"last\": %llu}", (unsigned long long)last);
    free(v);
}

static bool has_left(const struct session_run *run)
{
    struct pollfd p = {run->client, 0, 0};
    return poll(&p, 1, 0) == 1 && p.revents & (POLLHUP | POLLERR);
}

/* Retries, because a run opens its control socket shortly after it joins. */
static int connect_run(const struct session_run *run, struct bk_err *err)
{
    enum { TRIES = 40, PAUSE_NS = 5000000 };
    const struct timespec pause = {0, PAUSE_NS};
    int sock = -1;
    for (int i = 0; i < TRIES && !has_left(run); i++) {
        sock = control_socket_connect("run", run->pid, err);
        if (sock >= 0)
            break;
        nanosleep(&pause, NULL);
    }
    return sock;
}

static void grant_to(const struct session_run *run, const json_t *m, struct buf *waits)
{
    struct bk_err err;
    if (run->pid <= 0)
        return; /* it gets the grant when it joins */
    OWN(fd) int sock = connect_run(run, &err);
    OWN(json)
    json_t *handle_message = sock >= 0 ? control_server_ask(sock, m, CONTROL_USUAL_MS, &err) : NULL;
    const char *later = json_text(handle_message, "waits");
    if (!handle_message && !has_left(run))
        buf_fmt(waits, "process %d did not get the grant: %s\n", (int)run->pid, err.msg);
    else if (later)
        buf_str(waits, later);
}

static void add_lasting_grant(struct session *k, const char *option, const char *what)
{
    json_array_append_new(k->grants, json_pack("{s:s, s:s}", "grant", option, "what", what));
    session_drop_spare(k, false);
    if (k->on_grant)
        k->on_grant(k->arg);
}

/* Grants to future runs, and to current ones as far as their walls allow. */
static void do_grant(struct session *k, const json_t *m, struct buf *out)
{
    OWN(buf) struct buf waits = {0};
    OWN(buf) struct buf rule = {0};
    OWN(buf) struct buf links = {0};
    struct bk_err err;
    const char *option = json_text(m, "grant"), *what = json_text(m, "what");
    if (!option || !grants_know(option) || !what || !what[0])
        return control_server_refuse(out, "unknown or empty grant");
    if (json_array_size(k->grants) >= SESSION_GRANTS)
        return control_server_refuse(out, "too many grants; add it to the settings instead");
    /* every run would reject it */
    if (rule_write(option, what, "/", true, &rule, &links, &err) < 0)
        return control_server_refuse(out, err.msg);
    if (json_integer_value(json_object_get(m, "seconds")) == 0)
        add_lasting_grant(k, option, what); /* others are for what runs now */
    for (size_t i = 0; i < k->nruns; i++)
        if (!k->runs[i].spare)
            grant_to(&k->runs[i], m, &waits);
    control_server_answer(out, json_pack("{s:b, s:s}", "ok", 1, "waits", waits.s ? waits.s : ""));
}

static bool is_root(const struct session *k, const char *folder)
{
    const char *id;
    json_t *root;
    json_object_foreach(k->roots, id, root)
    {
        if (strcmp(json_string_value(root), folder) == 0)
            return true;
    }
    return false;
}

/*
 * Sets the folder that an agent's session can write: the one of its first request. Later requests
 * can't change it, because the model chooses them. An agent may start a new session at any time
 * (for example when the user clears the conversation), with the model already in another folder. It
 * then gets the folder that the agent was started in, if that is already a root.
 */
static void do_root(struct session *k, const json_t *m, struct buf *out)
{
    const char *id = json_text(m, "of"), *cwd = json_text(m, "root"),
               *start = json_text(m, "start");
    const char *root = id ? json_text(k->roots, id) : NULL;
    if (!id || strlen(id) > 256 || !cwd || cwd[0] != '/' || strlen(cwd) >= PATH_MAX)
        return control_server_refuse(out, "the folder or the session is missing");
    if (!root && json_object_size(k->roots) >= SESSION_ROOTS)
        return control_server_refuse(out, "the agent has too many sessions; restart it");
    if (!root) {
        root = start && is_root(k, start) ? start : cwd;
        json_object_set_new(k->roots, id, json_string(root));
    }
    control_server_answer(out, json_pack("{s:b, s:s}", "ok", 1, "root", root));
}

static void do_about(const struct session *k, struct buf *out)
{
    char words[64];
    snprintf(words, sizeof(words), k->owner ? "%s for process %d" : "%s", k->kind, (int)k->owner);
    control_server_answer(out, json_pack("{s:b, s:i, s:s, s:[s]}", "ok", 1, "pid", (int)getpid(),
                                         "cwd", k->cwd, "command", words));
}

/* Only of runs, which have joined. */
static void do_link(struct session *k, int client, struct buf *out)
{
    struct session_run *run = session_find_run(k, client);
    int link = run ? steal_fd(&k->server.passed) : -1;
    if (run)
        run->link = link;
    if (link < 0)
        control_server_refuse(out, "not a run of this session");
    else if (session_loopback_add(&k->loopback, link) < 0)
        control_server_refuse(out, "out of memory");
    else
        control_server_answer(out, json_pack("{s:b}", "ok", 1));
}

static void do_list(const struct session *k, struct buf *out)
{
    enum { SHOWN = 200, COMMAND = 200 };
    json_t *runs = json_array();
    for (size_t i = 0; i < k->nruns && i < SHOWN; i++) {
        const struct session_run *run = &k->runs[i];
        OWN(buf) struct buf command = {0};
        if (run->spare)
            continue;
        buf_safe(&command, run->command, strnlen(run->command, COMMAND));
        json_array_append_new(
            runs, json_pack("{s:I, s:i, s:s, s:b, s:o}", "number", (json_int_t)run->number, "pid",
                            (int)run->pid, "command", command.s ? command.s : "", "background",
                            run->left, "ports", session_loopback_ports(&k->loopback, run->link)));
    }
    control_server_answer(out, json_pack("{s:b, s:o}", "ok", 1, "runs", runs));
}

static void handle_message(void *arg, int client, const json_t *m, struct buf *out)
{
    struct session *k = arg;
    k->active_ms = now_ms();
    if (json_object_get(m, "link")) {
        do_link(k, client, out);
    } else if (json_object_get(m, "event")) {
        do_event(k, client, m);
    } else if (json_object_get(m, "events")) {
        do_events(k, client, m, out);
    } else if (json_object_get(m, "question")) {
        do_question(k, client, m);
    } else if (json_object_get(m, "withdrawn")) {
        do_withdrawn(k, client, m);
    } else if (json_object_get(m, "watch")) {
        do_watch(k, client, m, out);
    } else if (json_object_get(m, "questions")) {
        session_ask_list(k, out);
    } else if (json_object_get(m, "answer")) {
        session_ask_answer(k, client, m);
    } else if (json_object_get(m, "join")) {
        do_join(k, client, m, out);
    } else if (json_object_get(m, "spare")) {
        session_keep_spare(k, client, m, out);
    } else if (json_object_get(m, "take")) {
        session_take_spare(k, client, m);
    } else if (json_object_get(m, "folder")) {
        do_folder(k, client, m);
    } else if (json_object_get(m, "left")) {
        do_left(k, client);
    } else if (json_object_get(m, "list")) {
        do_list(k, out);
    } else if (json_object_get(m, "log")) {
        do_log(k, m, out);
    } else if (json_object_get(m, "grant")) {
        do_grant(k, m, out);
    } else if (json_object_get(m, "grants")) {
        control_server_answer(out, json_pack("{s:b, s:O}", "ok", 1, "grants", k->grants));
    } else if (json_object_get(m, "root")) {
        do_root(k, m, out);
    } else if (json_object_get(m, "about")) {
        do_about(k, out);
    } else {
        control_server_refuse(out, "unknown request");
    }
}

void session_request(struct session *k, const json_t *message, struct buf *answer)
{
    handle_message(k, -1, message, answer);
}

/* ---- what its runs share ---- */

static int open_shared(struct session *k, const char *tmpdir_in, struct bk_err *err)
{
    if (tmpdir_name_in(&k->tmpdir, tmpdir_in, err) < 0 || tmpdir_make(&k->tmpdir, err) < 0)
        return -1;
    session_layers_open(&k->layers, &k->tmpdir, k->world ? k->world->folder : NULL);
    return 0;
}

static void close_shared(struct session *k)
{
    if (session_layers_close(&k->layers))
        tmpdir_leave(&k->tmpdir);
    else
        tmpdir_remove(&k->tmpdir);
}

/* ---- open and close ---- */

int session_open(struct session *k, const char *kind, pid_t owner, const char *tmpdir_in,
                 const struct session_world *world, struct bk_err *err)
{
    *k = (struct session){.kind = kind, .owner = owner, .tmpdir.lock = -1, .world = world};
    fd_watch_init(&k->fds);
    session_loopback_init(&k->loopback, &k->fds);
    k->server = (struct control_server){.fds = &k->fds,
                                        .listener = -1,
                                        .key = -1,
                                        .claim = -1,
                                        .fn = handle_message,
                                        .left = on_left,
                                        .coming = session_announce,
                                        .came = session_note_caller,
                                        .arg = k};
    k->store = store_new(0);
    k->grants = json_array();
    k->roots = json_object();
    k->folders = json_object();
    k->active_ms = now_ms();
    if (!k->store || !k->grants || !k->roots || !k->folders)
        return session_close(k), err_nomem(err);
    if (!getcwd(k->cwd, sizeof(k->cwd)))
        k->cwd[0] = '\0';
    /* a session without an owner works without a control socket, too */
    if (control_server_open(&k->server, "session", owner, err) < 0 && owner)
        return session_close(k), -1;
    return open_shared(k, tmpdir_in, err) < 0 ? session_close(k), -1 : 0;
}

void session_close(struct session *k)
{
    session_drop_spare(k, false);
    control_server_close(&k->server);
    session_ask_end(k);
    session_loopback_free(&k->loopback);
    fd_watch_end(&k->fds);
    store_free(k->store);
    json_decref(k->grants);
    json_decref(k->roots);
    json_decref(k->folders);
    free(k->runs);
    close_shared(k);
}
