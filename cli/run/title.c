/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Only a number is written, so nothing that a command chose reaches the terminal. A timer keeps a
 * thousand denials a second from becoming as many writes. Terminals keep titles on a stack: the old
 * one is pushed before the first count and popped at the end.
 *
 * The command may have made itself the foreground, with a terminal that stops background output.
 * SIGTTOU is blocked during a write, and then the write just goes through.
 */

#include "cli/run/title.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system/fd-group.h"

enum { EVERY_MS = 250 };

static void put(const struct title *t, const char *text)
{
    sigset_t ttou, before;
    sigemptyset(&ttou);
    sigaddset(&ttou, SIGTTOU);
    sigprocmask(SIG_BLOCK, &ttou, &before);
    (void)!write(t->tty, text, strlen(text));
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void put_count(struct title *t)
{
    char text[80];
    snprintf(text, sizeof(text), "%s\033]2;buckle: %llu denied\007", t->shown ? "" : "\033[22;2t",
             (unsigned long long)t->denied);
    put(t, text);
    t->shown = t->denied;
    t->waits = fd_timer_set(t->timer, EVERY_MS) == 0;
}

static void on_timer(void *arg, int timer)
{
    struct title *t = arg;
    fd_timer_clear(timer);
    t->waits = false;
    if (t->denied != t->shown)
        put_count(t);
}

static bool begin(struct title *t, struct fd_watch *watch)
{
    struct bk_err err;
    const char *term = getenv("TERM");
    t->watch = watch;
    t->tty = term && *term && strcmp(term, "dumb") != 0
                 ? open("/dev/tty", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                 : -1;
    t->timer = t->tty >= 0 ? fd_timer_open() : -1;
    return t->timer >= 0 && fd_watch_add(watch, t->timer, on_timer, t, &err) == 0;
}

void title_show(struct title *t, struct fd_watch *watch, uint64_t denied)
{
    t->denied = denied;
    if (t->tty == 0 && !begin(t, watch)) {
        title_end(t);
        t->tty = -1;
    }
    if (t->tty > 0 && !t->waits && t->denied)
        put_count(t);
}

void title_end(struct title *t)
{
    if (t->tty > 0 && t->shown)
        put(t, "\033]2;\007\033[23;2t");
    if (t->timer > 0) {
        fd_watch_drop(t->watch, t->timer);
        close(t->timer);
    }
    if (t->tty > 0)
        close(t->tty);
    t->tty = t->timer = -1;
}
