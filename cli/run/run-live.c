/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Messages are JSON objects, one for another:
 *
 *   {"grant": "allow-read", "what": PATH, "seconds": N}
 *                                           → {"ok": true, "waits": TEXT}
 *   {"log": true, "after": N}               → {"ok": true, "total": N, "denied": N, "oldest": N,
 *                                              "last": N, "events": [{…}]}
 *   {"events": true, "after": N}            see agent/watchers.h
 *   {"watch": true}                         → {"ok": true}, and questions as in
 *                                              agent/session-ask.h
 *   {"consent": "once", "id": N}            from the session: the answer to a question
 *   {"questions": true}                     → {"ok": true, "questions": [{…}]}, those that wait
 *   {"about": true}                         → {"ok": true, "pid": N, "member": BOOL,
 *                                              "cwd": …, "command": […]}
 *
 * or {"ok": false, "error": TEXT}.
 */

#include "cli/run/run-live.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/agent/control-client.h"
#include "net/consent.h"
#include "report/annotate.h"
#include "settings/flag-rule.h"
#include "system/fd-group.h"
#include "system/descriptors.h"
#include "vocab/protected-classes.h"

/* ---- events ---- */

/* Never waits: events that the session does not read at once are only counted. */
static void report_to_session(struct live *l, const struct event *e)
{
    OWN(buf) struct buf message = {0};
    struct policies policies = run_policies(l->run);
    buf_fmt(&message, "{\"missed\": %llu, \"event\": ", (unsigned long long)l->missed);
    event_json(e, policies_graph(&policies, e->policy), NULL, &message);
    buf_chr(&message, '}');
    bool sent = buf_ok(&message) && message.n <= CONTROL_MESSAGE &&
                fd_packet_send(l->session, message.s, message.n, -1, true) > 0;
    l->missed = sent ? 0 : l->missed + !e->allow;
}

static void on_session_answer(void *arg, int fd)
{
    struct live *l = arg;
    char text[512];
    ssize_t n = fd_packet_receive(fd, text, sizeof(text), NULL, true);
    if (n == 0 && l->left)
        _exit(0); /* all that is left ends with us */
    if (n == 0)
        fd_watch_drop(&l->fd_watch, fd); /* it is gone: questions time out */
    if (n <= 0 || n > (ssize_t)sizeof(text))
        return;
    OWN(json) json_t *m = json_loadb(text, (size_t)n, 0, NULL);
    const char *word = json_text(m, "consent");
    uint32_t id = (uint32_t)json_integer_value(json_object_get(m, "id"));
    if (word && id)
        consent_answer(l->channel, id, consent_of_word(word));
}

/* Begins to listen to the session at the first question. */
static bool can_ask(struct live *l, int channel)
{
    struct bk_err err;
    if (l->session <= 0)
        return false;
    if (!l->heard && fd_watch_add(&l->fd_watch, l->session, on_session_answer, l, &err) < 0)
        return false;
    l->heard = true;
    l->channel = channel;
    return true;
}

static void send_fact(const struct live *l, json_t *fact)
{
    OWN(json) json_t *m = fact;
    OWN(mem) char *text = m ? json_dumps(m, JSON_COMPACT) : NULL;
    if (text && l->session > 0)
        (void)!fd_packet_send(l->session, text, strlen(text), -1, true);
}

void live_folder(const struct live *l, const char *folder)
{
    send_fact(l, json_pack("{s:s}", "folder", folder));
}

void live_stay(struct live *l)
{
    struct bk_err err;
    l->left = true;
    send_fact(l, json_pack("{s:b}", "left", 1));
    if (!l->heard && fd_watch_add(&l->fd_watch, l->session, on_session_answer, l, &err) < 0)
        _exit(0); /* nobody could end it */
    l->heard = true;
}

/* A late answer has no effect, so nothing is lost if the session does not get this. */
static void withdraw(const struct live *l, uint32_t id)
{
    char message[48];
    int n = snprintf(message, sizeof(message), "{\"withdrawn\": %u}", id);
    if (l->session > 0)
        (void)!fd_packet_send(l->session, message, (size_t)n, -1, true);
}

/* {"question": {…}, without the closing brace. */
static void write_question(const struct consent_question *q, struct buf *out)
{
    buf_fmt(out, "{\"question\": {\"id\": %u, \"pid\": %d, \"wait\": %u, ", q->id, q->pid,
            q->wait_ms);
    if (q->class) {
        buf_fmt(out, "\"class\": \"%s\", \"path\": ", consent_class_name(q));
        buf_json(out, q->path, strlen(q->path));
        if (q->class == CONSENT_COMMAND) {
            buf_str(out, ", \"rule\": ");
            buf_json(out, q->host, strlen(q->host));
        }
    } else {
        struct peer host;
        char where[PEER_TEXT] = "";
        if (peer_parse(q->host, strlen(q->host), &host))
            peer_text(&host, q->port, where);
        buf_fmt(out, "\"port\": %u, \"udp\": %s, \"where\": ", q->port, q->udp ? "true" : "false");
        buf_json(out, where, strlen(where));
        buf_str(out, ", \"host\": ");
        buf_json(out, q->host, strlen(q->host));
    }
    buf_str(out, ", \"program\": ");
    buf_json(out, q->program, strlen(q->program));
    buf_chr(out, '}');
}

void live_question(struct live *l, const struct consent_question *q, int channel)
{
    OWN(buf) struct buf message = {0};
    if (q->withdrawn) {
        withdraw(l, q->id);
        return;
    }
    write_question(q, &message);
    buf_chr(&message, '}');
    if (!can_ask(l, channel) || !buf_ok(&message) || message.n > CONTROL_MESSAGE ||
        fd_packet_send(l->session, message.s, message.n, -1, true) < 0)
        consent_answer(channel, q->id, CONSENT_NOBODY);
}

/* ---- windows ---- */

static void write_asked(const struct live_asked *a, struct buf *out)
{
    write_question(a->q, out);
    buf_fmt(out, ", \"number\": %u}", a->id);
}

static void send_question(const struct live *l, const struct live_asked *a, int client)
{
    OWN(buf) struct buf message = {0};
    write_asked(a, &message);
    watchers_send(&l->askers, client, &message);
}

/* As many as fit. */
static void answer_questions(const struct live *l, struct buf *out)
{
    enum { ROOM = CONTROL_MESSAGE - 20000 }; /* for one more, whatever it is */
    const char *comma = "";
    buf_str(out, "{\"ok\": true, \"questions\": [");
    for (size_t i = 0; i < LIVE_QUESTIONS && out->n < ROOM; i++) {
        if (!l->asked[i].id)
            continue;
        buf_str(out, comma);
        write_asked(&l->asked[i], out);
        comma = ", ";
    }
    buf_str(out, "]}");
}

static struct live_asked *find_asked(struct live *l, uint32_t id)
{
    for (size_t i = 0; i < LIVE_QUESTIONS; i++)
        if (l->asked[i].id == id)
            return &l->asked[i];
    return NULL;
}

void live_forget_question(struct live *l, uint32_t id)
{
    struct live_asked *a = id ? find_asked(l, id) : NULL;
    OWN(buf) struct buf message = {0};
    if (!a)
        return;
    buf_fmt(&message, "{\"withdrawn\": %u}", id);
    watchers_send(&l->askers, -1, &message);
    free(a->q);
    *a = (struct live_asked){0};
}

bool live_ask_windows(struct live *l, const struct consent_question *q, int channel)
{
    struct live_asked *a = find_asked(l, 0);
    struct consent_question *copy = a ? malloc(sizeof(*copy)) : NULL;
    if (copy) {
        *copy = *q;
        *a = (struct live_asked){q->id, channel, copy};
        send_question(l, a, -1);
    }
    return copy && l->askers.n > 0;
}

static void answer_watch(struct live *l, int client, const json_t *m, struct buf *out)
{
    if (!json_is_true(json_object_get(m, "watch"))) {
        watchers_drop(&l->askers, client);
    } else if (!watchers_add(&l->askers, client)) {
        control_server_refuse(out, "too many users watch this run");
        return;
    }
    buf_str(out, "{\"ok\": true}");
    for (size_t i = 0; i < LIVE_QUESTIONS; i++)
        if (l->asked[i].id)
            send_question(l, &l->asked[i], client);
}

/* From a window: {"answer": N, "consent": "once"}. */
static void answer_question(struct live *l, int client, const json_t *m)
{
    uint32_t id = (uint32_t)json_integer_value(json_object_get(m, "answer"));
    const struct live_asked *a = id ? find_asked(l, id) : NULL;
    if (!a || !l->answered || !watchers_have(&l->askers, client))
        return;
    l->answered(l->answered_arg, a->q, a->channel, consent_of_word(json_text(m, "consent")));
    live_forget_question(l, id);
}

static void send_event(const struct live *l, int client, uint64_t number)
{
    struct policies policies = run_policies(l->run);
    const struct event *e = &l->events[(number - 1) % LIVE_EVENTS];
    OWN(buf) struct buf json = {0};
    OWN(buf) struct buf message = {0};
    event_json(e, policies_graph(&policies, e->policy), NULL, &json);
    if (!buf_ok(&json))
        return;
    watchers_event(&message, json.s, number, l->denied, NULL);
    watchers_send(&l->watchers, client, &message);
}

static void answer_events(struct live *l, int client, const json_t *m, struct buf *out)
{
    bool known = watchers_have(&l->watchers, client);
    uint64_t next = (uint64_t)json_integer_value(json_object_get(m, "after"));
    uint64_t oldest = l->total > LIVE_EVENTS ? l->total - LIVE_EVENTS : 0;
    if (!watchers_add(&l->watchers, client))
        return control_server_refuse(out, "too many windows watch this run");
    watchers_totals(out, l->total, l->denied);
    for (next = next < oldest ? oldest : next; !known && next < l->total; next++)
        send_event(l, client, next + 1);
}

static void on_left(void *arg, int client)
{
    struct live *l = arg;
    watchers_drop(&l->watchers, client);
    watchers_drop(&l->askers, client);
}

void live_leave(struct live *l)
{
    const struct timeval patience = {.tv_sec = 1};
    char message[64];
    if (l->session <= 0)
        return;
    int n = snprintf(message, sizeof(message), "{\"event\": {}, \"missed\": %llu}",
                     (unsigned long long)l->missed);
    setsockopt(l->session, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (l->missed)
        (void)!fd_packet_send(l->session, message, (size_t)n, -1, false);
    shutdown(l->session, SHUT_RDWR); /* it has ended, even if other processes hold the socket */
    close(l->session);
    l->session = 0;
}

void live_event(struct live *l, const struct event *e)
{
    if (!l->events)
        l->events = malloc(LIVE_EVENTS * sizeof(*l->events));
    if (l->events)
        memcpy(&l->events[l->total % LIVE_EVENTS], e, event_wire_size(e));
    l->total += l->events != NULL;
    l->denied += !e->allow;
    if (l->session > 0)
        report_to_session(l, e);
    if (l->watchers.n && l->events)
        send_event(l, -1, l->total);
}

/* The newest hundred, oldest first. */
void live_annotate(const struct live *l, struct buf *out)
{
    uint64_t first = l->total > LIVE_EVENTS ? l->total - LIVE_EVENTS : 0;
    OWN(buf) struct buf lines = {0};
    struct violations *v = calloc(1, sizeof(*v) + LIVE_EVENTS * sizeof(v->at[0]));
    size_t starts[LIVE_EVENTS];
    for (uint64_t i = first; v && i < l->total; i++) {
        const struct event *e = &l->events[i % LIVE_EVENTS];
        if (e->allow)
            continue;
        starts[v->n++] = lines.n;
        event_line(e, &lines);
        buf_add(&lines, "", 1);
    }
    for (size_t i = 0; v && buf_ok(&lines) && i < v->n; i++)
        v->at[i].line = lines.s + starts[i];
    if (buf_ok(&lines))
        annotate_block(v, l->denied, out);
    if (out->n)
        buf_chr(out, '\n');
    free(v);
}

/* ---- answers ---- */

static void set_expiry(struct live *l)
{
    unsigned next = grants_expire(&l->grants);
    if (next)
        (void)fd_timer_set(l->expiry, next);
}

static void on_expiry(void *arg, int timer)
{
    fd_timer_clear(timer);
    set_expiry(arg);
}

/* A grant that nothing would end is not given. */
static bool can_expire(struct live *l)
{
    struct bk_err err;
    if (l->expiry > 0)
        return true;
    OWN(fd) int timer = fd_timer_open();
    if (timer < 0 || fd_watch_add(&l->fd_watch, timer, on_expiry, l, &err) < 0)
        return false;
    l->expiry = steal_fd(&timer);
    return true;
}

static void answer_grant(struct live *l, const json_t *message, struct buf *out)
{
    json_int_t seconds = json_integer_value(json_object_get(message, "seconds"));
    const char *option = json_string_value(json_object_get(message, "grant"));
    const char *what = json_string_value(json_object_get(message, "what"));
    OWN(buf) struct buf waits = {0};
    struct bk_err err;
    if (!option || !grants_know(option) || !what || !what[0])
        return control_server_refuse(out, "the message does not say what to grant");
    if (seconds < 0 || seconds > GRANTS_SECONDS || (seconds && !can_expire(l)))
        return control_server_refuse(out, "a grant cannot last that long");
    if (grants_add(&l->grants, option, what, (unsigned)seconds, &waits, &err) < 0)
        return control_server_refuse(out, err.msg);
    if (seconds)
        set_expiry(l);
    buf_str(out, "{\"ok\": true, \"waits\": ");
    buf_json(out, waits.s ? waits.s : "", waits.n);
    buf_chr(out, '}');
}

/* As many as fit; the client asks again for the rest. */
static void answer_log(struct live *l, const json_t *message, struct buf *out)
{
    enum { ROOM = CONTROL_MESSAGE - 20000 }; /* for one more, whatever it is */
    struct policies policies = run_policies(l->run);
    uint64_t next = (uint64_t)json_integer_value(json_object_get(message, "after"));
    uint64_t oldest = l->total > LIVE_EVENTS ? l->total - LIVE_EVENTS : 0;
    next = next > l->total ? l->total : next < oldest ? oldest : next;
    buf_fmt(out,
            "{\"ok\": true, \"total\": %llu, \"denied\": %llu, \"oldest\": %llu, \"events\": [",
            (unsigned long long)l->total, (unsigned long long)l->denied,
            (unsigned long long)oldest + 1);
    for (const char *comma = ""; next < l->total && out->n < ROOM; next++, comma = ", ") {
        const struct event *e = &l->events[next % LIVE_EVENTS];
        buf_str(out, comma);
        event_json(e, policies_graph(&policies, e->policy), NULL, out);
    }
    buf_fmt(out, "], \"last\": %llu}", (unsigned long long)next);
}

static void answer_about(const struct live *l, struct buf *out)
{
    const struct launch *s = &l->run->spec->launch;
    buf_fmt(out, "{\"ok\": true, \"pid\": %d, \"member\": %s, \"cwd\": ", (int)getpid(),
            l->session > 0 ? "true" : "false");
    buf_json(out, s->cwd, strlen(s->cwd));
    buf_str(out, ", \"command\": [");
    for (size_t i = 0; s->argv[i] && out->n < CONTROL_MESSAGE / 8; i++) {
        size_t n = strlen(s->argv[i]);
        buf_str(out, i ? ", " : "");
        buf_json(out, s->argv[i], n < 1000 ? n : 1000);
    }
    buf_str(out, "]}");
}

static void answer(void *arg, int guest, const json_t *m, struct buf *out)
{
    struct live *l = arg;
    if (json_object_get(m, "grant"))
        answer_grant(l, m, out);
    else if (json_object_get(m, "log"))
        answer_log(l, m, out);
    else if (json_object_get(m, "about"))
        answer_about(l, out);
    else if (json_object_get(m, "events"))
        answer_events(l, guest, m, out);
    else if (json_object_get(m, "watch"))
        answer_watch(l, guest, m, out);
    else if (json_object_get(m, "questions"))
        answer_questions(l, out);
    else if (json_object_get(m, "answer"))
        answer_question(l, guest, m);
    else
        control_server_refuse(out, "unknown request");
}

/* ---- a session ---- */

static int add_grants(const json_t *grants, bool shipped, struct buf *rules, struct buf *links,
                      struct bk_err *err)
{
    for (size_t i = 0; i < json_array_size(grants); i++) {
        const json_t *one = json_array_get(grants, i);
        const char *option = json_text(one, "grant"), *what = json_text(one, "what");
        if (option && what && rule_write(option, what, "/", shipped, rules, links, err) < 0)
            return -1;
    }
    return 0;
}

/* The pid of a session, or a descriptor that leads to one: fd:N. */
static int find_session(const char *where, struct bk_err *err)
{
    char *end;
    if (strncmp(where, "fd:", 3) != 0)
        return control_client_session(where, err);
    long fd = strtol(where + 3, &end, 10);
    if (*end || fd <= STDERR_FILENO || fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
        return err_set(err, BK_E_INPUT, "--session: %s is not an open file descriptor", where);
    return (int)fd;
}

/* The session leads to the servers of its other runs, and from them to ours. A session of an older
 * version does not; then each run has its servers for itself. */
void live_link(struct live *l)
{
    int ends[2];
    struct bk_err err;
    if (l->session <= 0 || fd_packet_pair(ends) < 0)
        return;
    OWN(fd) int theirs = ends[1];
    OWN(fd) int ours = ends[0];
    OWN(json) json_t *message = json_pack("{s:b}", "link", 1);
    OWN(json)
    json_t *answer = control_server_ask_with(l->session, message, theirs, CONTROL_LONG_MS, &err);
    if (answer)
        l->link = steal_fd(&ours);
}

bool live_offer(struct live *l, const char *key, const char *inherited, int sock)
{
    struct bk_err err;
    OWN(json) json_t *message = json_pack("{s:s, s:s}", "spare", key, "inherited", inherited);
    OWN(json)
    json_t *answer = control_server_ask_with(l->session, message, sock, CONTROL_SOON_MS, &err);
    return answer != NULL;
}

int live_join(struct live *l, const char *where, const char *command, bool shipped,
              struct buf *rules, struct buf *links, struct bk_err *err)
{
    OWN(fd) int socket_fd = find_session(where, err);
    OWN(buf) struct buf text = {0};
    buf_safe(&text, command, strnlen(command, 4000)); /* any bytes, as text */
    OWN(json)
    json_t *hello = json_pack("{s:s, s:i, s:s*, s:s*, s:s*, s:b}", "join", text.s ? text.s : "",
                              "pid", getpid(), "of", l->folder_of, "root", l->root, "cwd",
                              l->folder[0] ? l->folder : NULL, "spare", l->spare);
    int ends[2] = {-1, -1};
    if (fd_packet_pair(ends) < 0)
        return err_sys(err, "cannot join the session");
    OWN(fd) int theirs = ends[1];
    OWN(fd) int layers = ends[0];
    OWN(json)
    json_t *answer = socket_fd >= 0
                         ? control_server_ask_with(socket_fd, hello, theirs, CONTROL_LONG_MS, err)
                         : NULL;
    if (!answer || add_grants(json_object_get(answer, "grants"), shipped, rules, links, err) < 0)
        return -1;
    const char *tmpdir = json_text(answer, "tmpdir");
    if (tmpdir)
        snprintf(l->tmpdir, sizeof(l->tmpdir), "%s", tmpdir);
    const char *world = json_text(answer, "world");
    snprintf(l->world, sizeof(l->world), "%s", world ? world : "");
    const char *folder = json_text(answer, "folder");
    snprintf(l->folder, sizeof(l->folder), "%s", folder ? folder : "");
    l->asks = json_is_true(json_object_get(answer, "asks"));
    l->wants_spare = json_is_true(json_object_get(answer, "spares"));
    l->layers = steal_fd(&layers);
    l->session = steal_fd(&socket_fd);
    return 0;
}

/* ---- beginning and end ---- */

void live_handle_input(struct live *l)
{
    fd_watch_all(&l->fd_watch);
}

void live_open(struct live *l, struct run *r, struct run_spec *spec)
{
    struct bk_err err;
    l->run = r;
    fd_watch_init(&l->fd_watch);
    grants_init(&l->grants, r);
    l->server =
        (struct control_server){.fds = &l->fd_watch, .fn = answer, .left = on_left, .arg = l};
    (void)control_server_open(&l->server, "run", 0, &err);
    spec->launch.input_fd = l->fd_watch.fd;
    spec->launch.linked = l->link > 0;
    spec->launch.link = l->link;
    const int own[] = {l->fd_watch.fd, l->server.listener, l->server.key, l->session};
    spec->launch.nuser_fds = 0;
    spec->launch.user_fds = l->own;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (own[i] > STDERR_FILENO)
            l->own[spec->launch.nuser_fds++] = own[i];
}

void live_close(struct live *l)
{
    if (l->run) {
        control_server_close(&l->server);
        fd_watch_end(&l->fd_watch);
    }
    if (l->expiry > 0)
        close(l->expiry);
    live_leave(l);
    grants_free(&l->grants);
    for (size_t i = 0; i < LIVE_QUESTIONS; i++)
        free(l->asked[i].q);
    free(l->events);
}
