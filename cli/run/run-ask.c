/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The terminal and every window that watches are asked at once. The first answer counts, and the
 * others forget the question. Without a terminal, windows alone are asked.
 */

#include "cli/run/run-ask.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "system/descriptors.h"
#include "vocab/protected-classes.h"

/* "Always": saves the host, the class or the pattern in the user's settings. Runs in the thread
 * that asks. */
static bool remember_answer(void *arg, const struct consent_question *q)
{
    struct invocation *r = arg;
    struct bk_err err;
    struct peer host;
    char where[PEER_TEXT];
    if (q->class == CONSENT_COMMAND) {
        atomic_store(&r->watch.own, true);
        return settings_remember(r->cwd, "agreedCommands", q->host, &err) == 0;
    }
    if (!q->class && !peer_parse(q->host, strlen(q->host), &host))
        return false;
    if (!q->class)
        peer_text(&host, q->port, where);
    const char *key = q->class ? "filesystem.allowProtected" : "network.allowedDomains";
    const char *value = q->class ? protected_classes[q->class - 1].name : where;
    atomic_store(&r->watch.own, true);
    return settings_remember(r->cwd, key, value, &err) == 0;
}

static bool has_terminal(void)
{
    OWN(fd) int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    return tty >= 0;
}

/* The terminal has answered: no window needs to. */
static void on_asked(void *arg, int fd)
{
    struct invocation *r = arg;
    uint32_t id;
    if (fd_packet_receive(fd, &id, sizeof(id), NULL, true) == sizeof(id))
        live_forget_question(&r->live, id);
    else if (errno != EAGAIN && errno != EINTR)
        fd_watch_drop(&r->live.fd_watch, fd);
}

/* A window has answered: the terminal needs not. */
static void on_window_answer(void *arg, const struct consent_question *q, int channel,
                             enum consent answer)
{
    struct invocation *r = arg;
    struct consent_question gone = *q;
    if (answer == CONSENT_ALWAYS && (args_has(r->args, "profile") || !remember_answer(r, q)))
        answer = CONSENT_RUN;
    consent_answer(channel, q->id, answer);
    gone.withdrawn = true;
    if (r->asker.started)
        ask_tty_question(&r->asker, &gone, channel);
}

void run_ask_question(void *arg, const struct consent_question *q, int channel)
{
    struct invocation *r = arg;
    struct bk_err err;
    /* settings may have changed */
    if (!q->class && run_settings_strict(&r->settings) && !q->withdrawn) {
        consent_answer(channel, q->id, CONSENT_DENY);
        return;
    }
    r->asker.remember =
        args_has(r->args, "profile") ? NULL : remember_answer; /* settings don't count */
    r->asker.arg = r;
    r->live.answered = on_window_answer;
    r->live.answered_arg = r;
    if (q->withdrawn)
        live_forget_question(&r->live, q->id);
    /* without a terminal, those who watch in a window can still answer */
    bool windows = !q->withdrawn && live_ask_windows(&r->live, q, channel);
    if (!windows || has_terminal())
        ask_tty_question(&r->asker, q, channel);
    if (r->asker.started && !r->hears_tty)
        r->hears_tty =
            fd_watch_add(&r->live.fd_watch, r->asker.questions[0], on_asked, r, &err) == 0;
}

void run_ask_end(struct invocation *r)
{
    if (r->hears_tty)
        fd_watch_drop(&r->live.fd_watch, r->asker.questions[0]);
    ask_tty_end(&r->asker);
}
