/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The terminal is the user's alone: no sandboxed process uses it, so nothing needs to be stopped
 * while a question is shown. Keys typed before it appeared do not count. If a question is not
 * answered in time, the user is taken to be away, and commands no longer wait for the next.
 */

#include "cli/run/log-ask.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/control-server.h"
#include "base/clock.h"
#include "base/own.h"
#include "run/ask-words.h"
#include "settings/settings.h"
#include "system/descriptors.h"
#include "vocab/protected-classes.h"

static void print(const char *text)
{
    fputs(text, stdout);
    fflush(stdout);
}

/* ---- the session ---- */

/* takes over the message */
static void send_session(struct log_ask *a, json_t *message)
{
    OWN(json) json_t *m = message;
    OWN(mem) char *text = m ? json_dumps(m, JSON_COMPACT) : NULL;
    if (text && a->session >= 0)
        (void)!fd_packet_send(a->session, text, strlen(text), -1, true);
}

static void watch(struct log_ask *a, bool on)
{
    send_session(a, json_pack("{s:b}", "watch", on));
}

static void answer(struct log_ask *a, uint32_t number, enum consent how)
{
    send_session(
        a, json_pack("{s:I, s:s}", "answer", (json_int_t)number, "consent", consent_word(how)));
}

static void remove_question(struct log_ask *a, uint32_t number)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++)
        if (a->queue[i].number != number)
            a->queue[n++] = a->queue[i];
    a->n = n;
}

/* Each returns false if it makes no sense. */

static bool read_name(const json_t *q, struct consent_question *out)
{
    const char *class = json_text(q, "class"), *path = json_text(q, "path");
    enum protected_class found = protected_class_find(class, strlen(class));
    const char *rule = strcmp(class, "command") == 0 ? json_text(q, "rule") : NULL;
    if ((found == PROTECTED_NO_CLASS && !rule) || !path || strlen(path) >= sizeof(out->path))
        return false;
    out->class = rule ? CONSENT_COMMAND : (uint8_t)(found + 1);
    snprintf(out->host, sizeof(out->host), "%s", rule ? rule : "");
    memcpy(out->path, path, strlen(path));
    return true;
}

static bool read_host(const json_t *q, struct consent_question *out)
{
    const char *host = json_text(q, "host");
    json_int_t port = json_integer_value(json_object_get(q, "port"));
    struct peer parsed;
    if (!host || !peer_parse(host, strlen(host), &parsed) || port < 0 || port > UINT16_MAX)
        return false;
    memcpy(out->host, parsed.name, strlen(parsed.name));
    out->port = (uint16_t)port;
    out->udp = json_is_true(json_object_get(q, "udp"));
    return true;
}

static bool read_question(const json_t *m, struct log_question *out)
{
    const json_t *q = json_object_get(m, "question");
    const char *program = json_text(q, "program"), *command = json_text(m, "command");
    json_int_t wait = json_integer_value(json_object_get(q, "wait"));
    memset(out, 0, sizeof(*out));
    out->number = (uint32_t)json_integer_value(json_object_get(m, "number"));
    if (!out->number || !(json_text(q, "class") ? read_name : read_host)(q, &out->q))
        return false;
    out->until_ms = now_ms() + (uint64_t)(wait > 0 && wait < CONSENT_MS * 60 ? wait : CONSENT_MS);
    out->q.id = out->number;
    out->q.pid = (int32_t)json_integer_value(json_object_get(q, "pid"));
    snprintf(out->q.program, sizeof(out->q.program), "%s", program ? program : "");
    snprintf(out->command, sizeof(out->command), "%s", command ? command : "");
    return true;
}

static bool is_foreground(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void receive(struct log_ask *a)
{
    static char bytes[CONTROL_MESSAGE];
    ssize_t n = fd_packet_receive(a->session, bytes, sizeof(bytes), NULL, true);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        close(steal_fd(&a->session)); /* it has ended */
        a->n = 0;
    }
    bool whole = n > 0 && n <= (ssize_t)sizeof(bytes);
    OWN(json) json_t *m = whole ? json_loadb(bytes, (size_t)n, 0, NULL) : NULL;
    uint32_t number = (uint32_t)json_integer_value(json_object_get(m, "number"));
    remove_question(a, (uint32_t)json_integer_value(json_object_get(m, "withdrawn")));
    if (!number)
        return;
    if (a->n < LOG_ASK_QUEUE && is_foreground() && read_question(m, &a->queue[a->n]))
        a->n++;
    else
        answer(a, number, CONSENT_NOBODY);
}

/* ---- the answers that last ---- */

/* The class, the pattern of commands, or the host and port. */
static const char *value_of(const struct log_question *at, char where[PEER_TEXT])
{
    struct peer host;
    if (at->q.class == CONSENT_COMMAND)
        return at->q.host;
    if (at->q.class)
        return consent_class_name(&at->q);
    where[0] = '\0';
    if (peer_parse(at->q.host, strlen(at->q.host), &host))
        peer_text(&host, at->q.port, where);
    return where;
}

/* For all commands of the session, as `buckle grant` does. */
static bool grant_session(const struct log_ask *a, const struct log_question *at)
{
    struct bk_err err;
    char where[PEER_TEXT];
    OWN(json)
    json_t *m = json_pack("{s:s, s:s}", "grant",
                          at->q.class == CONSENT_COMMAND ? "allow-command"
                          : at->q.class                  ? "allow-protected"
                                                         : "allow-net",
                          "what", value_of(at, where));
    OWN(json) json_t *granted = control_server_ask(a->log, m, CONTROL_LONG_MS, &err);
    if (!granted)
        fprintf(stderr, "buckle: %s\n", err.msg);
    return granted != NULL;
}

static bool remember(const struct log_question *at)
{
    struct bk_err err;
    char where[PEER_TEXT];
    const char *key = at->q.class == CONSENT_COMMAND ? "agreedCommands"
                      : at->q.class                  ? "filesystem.allowProtected"
                                                     : "network.allowedDomains";
    if (settings_remember("/", key, value_of(at, where), &err) == 0)
        return true;
    fprintf(stderr, "buckle: %s\n", err.msg);
    return false;
}

/* ---- one question ---- */

static void show(const struct log_question *at)
{
    OWN(buf) struct buf out = {0};
    buf_str(&out, "\a"); /* the user may be looking elsewhere */
    if (at->command[0]) {
        buf_str(&out, "buckle: ");
        buf_safe(&out, at->command, strcspn(at->command, "\n"));
        buf_chr(&out, '\n');
    }
    ask_words_question(&at->q, (struct ask_choices){.session = true, .always = true}, &out);
    if (buf_ok(&out))
        print(out.s);
}

/* Reads a key, and what the session sends. Returns 0 if no key came, -1 if no more can come. */
static int wait_key(struct log_ask *a, uint64_t until)
{
    struct pollfd fds[] = {{a->session, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    uint64_t now = now_ms();
    char key;
    if (poll(fds, 2, until > now ? (int)(until - now) : 0) <= 0)
        return 0;
    if (fds[0].revents)
        receive(a);
    if (!fds[1].revents)
        return 0;
    ssize_t n = read(STDIN_FILENO, &key, 1);
    return n == 1 ? (unsigned char)key : n < 0 && (errno == EINTR || errno == EAGAIN) ? 0 : -1;
}

static enum consent take_key(struct log_ask *a, int key, const char **word)
{
    const struct log_question *at = &a->queue[0];
    if (key < 0)
        return CONSENT_NOBODY;
    if ((key | 0x20) == ASK_KEY_SESSION) {
        *word = grant_session(a, at) ? "for the session\n" : "for this run\n";
        return CONSENT_RUN;
    }
    enum consent got = ask_words_key((char)key);
    if (got == CONSENT_ALWAYS && !remember(at))
        return CONSENT_RUN; /* as much as can be had */
    return got;
}

/* Asks the first question. Returns the last key. */
static int ask(struct log_ask *a)
{
    const uint32_t number = a->queue[0].number;
    uint64_t until = a->queue[0].until_ms, deaf = now_ms() + ASK_DEAF_MS;
    const char *word = NULL;
    enum consent got = 0;
    int key = 0;
    show(&a->queue[0]);
    while (!got && a->n && a->queue[0].number == number) {
        bool hears = now_ms() >= deaf;
        key = wait_key(a, hears ? until : deaf);
        if (key < 0 || (hears && key && a->n && a->queue[0].number == number))
            got = take_key(a, key, &word);
        else if (now_ms() >= until)
            got = CONSENT_TIMEOUT;
    }
    print(word ? word : ask_words_answer(got));
    if (got)
        answer(a, number, got);
    remove_question(a, number);
    if (got == CONSENT_TIMEOUT) {
        a->away = true;
        print("buckle: no more questions until you press a key\n");
    }
    a->stopped |= got == CONSENT_DENY_ALL || got == CONSENT_NOBODY;
    if (a->away || a->stopped)
        watch(a, false);
    return key;
}

static void ask_all(struct log_ask *a)
{
    struct termios raw;
    int key = 0;
    if (tcgetattr(STDIN_FILENO, &a->mode) < 0)
        return;
    raw = a->mode;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
    while (a->n && !a->away && !a->stopped && key != ASK_KEY_INTERRUPT)
        key = ask(a);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &a->mode);
    for (; a->n; remove_question(a, a->queue[0].number))
        answer(a, a->queue[0].number, CONSENT_NOBODY);
    if (key == ASK_KEY_INTERRUPT)
        raise(SIGINT);
}

/* ---- the log's side ---- */

void log_ask_begin(struct log_ask *a, pid_t process, int log)
{
    struct bk_err err;
    *a = (struct log_ask){.session = -1, .log = log, .process = process};
    if (process <= 0 || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return;
    OWN(fd) int session = control_socket_connect("session", process, &err);
    OWN(json) json_t *message = json_pack("{s:b}", "watch", 1);
    OWN(json)
    json_t *fine =
        session >= 0 ? control_server_ask(session, message, CONTROL_USUAL_MS, &err) : NULL;
    if (fine) /* an older session has nothing to ask */
        a->session = steal_fd(&session);
}

/* Somebody is there again. */
static void come_back(struct log_ask *a)
{
    tcflush(STDIN_FILENO, TCIFLUSH);
    a->away = false;
    watch(a, true);
    print("buckle: asking again\n");
}

void log_ask_wait(struct log_ask *a, int ms)
{
    struct pollfd fds[] = {{a->session, POLLIN, 0}, {a->away ? STDIN_FILENO : -1, POLLIN, 0}};
    if (a->session < 0) {
        usleep((useconds_t)ms * 1000);
        return;
    }
    if (poll(fds, 2, ms) <= 0)
        return;
    if (fds[1].revents && is_foreground())
        come_back(a);
    if (fds[0].revents)
        receive(a);
    if (a->n)
        ask_all(a);
}

void log_ask_end(struct log_ask *a)
{
    if (a->session >= 0)
        close(steal_fd(&a->session));
}
