/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The user sits at the terminal that the command uses as well, so a question takes the terminal
 * over:
 *
 *   1. stop every process of the sandbox: it could overwrite the question and read the answer
 *   2. take the foreground: an interactive shell inside may have given it to one of its jobs
 *   3. discard what was typed, also just after the question appeared: it was meant for the command,
 *      and one key is enough to answer
 *
 * Afterwards all of this is undone. A background job waits with its question until it is in the
 * foreground, or until the time is up.
 *
 * A separate thread asks, because users take their time; meanwhile the run receives events. The
 * thread shares only two sockets with it.
 */

#include "run/ask-tty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "command/pause.h"
#include "run/ask-words.h"
#include "system/descriptors.h"

enum {
    QUEUE = 64,          /* more than the gate has open at once */
    FOREGROUND_MS = 200, /* between two checks for the foreground */
};

struct asked {
    struct consent_question q;
    int channel; /* where the answer goes */
};

struct pending {
    struct asked asked;
    uint64_t until_ms;
};

struct asker {
    int questions;
    const struct ask_tty *by;
    int tty; /* -1: there is none */
    bool over;
    size_t n;
    struct pending queue[QUEUE]; /* the first is asked */
    /* while it is ours: */
    bool taken;
    pid_t group; /* whose it was */
    struct termios mode;
};

/* ---- the queue ---- */

static void remove_question(struct asker *a, size_t i)
{
    memmove(&a->queue[i], &a->queue[i + 1], (a->n - i - 1) * sizeof(a->queue[0]));
    a->n--;
}

static void withdraw(struct asker *a, uint32_t id)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->queue[i].asked.q.id == id) {
            remove_question(a, i);
            return;
        }
}

/* Answers, and says so: nobody else is asked any more. */
static void answer_here(const struct asker *a, int channel, uint32_t id, enum consent answer)
{
    consent_answer(channel, id, answer);
    (void)!fd_packet_send(a->questions, &id, sizeof(id), -1, true);
}

static void receive_questions(struct asker *a)
{
    struct asked m;
    ssize_t n = fd_packet_receive(a->questions, &m, sizeof(m), NULL, true);
    if (n < 0)
        return;
    if (n != sizeof(m))
        a->over = true;
    else if (m.q.withdrawn)
        withdraw(a, m.q.id);
    else if (a->tty < 0 || a->n == QUEUE)
        answer_here(a, m.channel, m.q.id, a->tty < 0 ? CONSENT_NOBODY : CONSENT_DENY);
    else
        a->queue[a->n++] = (struct pending){m, now_ms() + m.q.wait_ms};
}

/* ---- the terminal ---- */

static void write_terminal(const struct asker *a, const char *s, size_t n)
{
    while (n) {
        ssize_t did = write(a->tty, s, n);
        if (did < 0 && errno != EINTR)
            return;
        s += did > 0 ? did : 0;
        n -= did > 0 ? (size_t)did : 0;
    }
}

/* Whether we have the foreground, or a job of the command has it. */
static bool may_take(const struct asker *a)
{
    pid_t group = tcgetpgrp(a->tty);
    return group == getpgrp() || pause_contains(group);
}

static bool read_key_line(struct asker *a)
{
    pause_stop();
    a->group = tcgetpgrp(a->tty);
    if ((a->group != getpgrp() && tcsetpgrp(a->tty, getpgrp()) < 0) ||
        tcgetattr(a->tty, &a->mode) < 0) {
        pause_release();
        return false;
    }
    struct termios m = a->mode;
    m.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
    m.c_iflag |= ICRNL;
    m.c_oflag |= OPOST | ONLCR;
    m.c_cflag |= CREAD;
    m.c_cc[VMIN] = 1;
    m.c_cc[VTIME] = 0;
    tcsetattr(a->tty, TCSAFLUSH, &m);
    a->taken = true;
    return true;
}

static void give_back(struct asker *a, int signal)
{
    if (!a->taken)
        return;
    tcsetattr(a->tty, TCSAFLUSH, &a->mode);
    if (a->group > 0 && a->group != getpgrp())
        tcsetpgrp(a->tty, a->group);
    a->taken = false;
    /* as the terminal does for the foreground */
    if (signal && a->group > 0)
        kill(-a->group, signal);
    pause_release();
}

/* ---- one question ---- */

static void show(const struct asker *a, const struct consent_question *q)
{
    /* undo what the command did to the terminal: margins, colours, character sets */
    static const char plain[] = "\033[!p\033[0m\r\n";
    const char *term = getenv("TERM");
    OWN(buf) struct buf out = {0};
    if (term && *term && strcmp(term, "dumb") != 0)
        buf_str(&out, plain);
    ask_words_question(q, (struct ask_choices){.always = a->by->remember != NULL}, &out);
    if (buf_ok(&out))
        write_terminal(a, out.s, out.n);
}

/* Waits for a key, a question or a timeout. Returns the key or 0. */
static enum consent wait_for_key(struct asker *a, int ms, int *signal)
{
    struct pollfd fds[] = {{a->questions, POLLIN, 0}, {a->tty, POLLIN, 0}};
    char key;
    if (poll(fds, 2, ms) <= 0)
        return 0;
    if (fds[0].revents)
        receive_questions(a);
    if (!fds[1].revents)
        return 0;
    ssize_t n = read(a->tty, &key, 1);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        return CONSENT_NOBODY; /* the terminal is gone */
    *signal = n == 1 && key == ASK_KEY_INTERRUPT ? SIGINT : 0;
    enum consent answer = n == 1 ? ask_words_key(key) : 0;
    return answer == CONSENT_ALWAYS && !a->by->remember ? 0 : answer;
}

static int left(uint64_t until, uint64_t now)
{
    return until > now ? (int)(until - now) : 0;
}

static bool write_down(const struct asker *a, uint32_t id)
{
    return a->n && a->queue[0].asked.q.id == id &&
           a->by->remember(a->by->arg, &a->queue[0].asked.q);
}

/* 0: it was withdrawn. */
static enum consent ask(struct asker *a, uint32_t id, int *signal)
{
    uint64_t until = a->queue[0].until_ms, deaf = now_ms() + ASK_DEAF_MS, now;
    enum consent answer = 0;
    show(a, &a->queue[0].asked.q);
    while (!answer && !a->over && a->n && a->queue[0].asked.q.id == id) {
        now = now_ms();
        if (now >= until)
            answer = CONSENT_TIMEOUT;
        else if (now < deaf &&
                 (answer = wait_for_key(a, left(deaf, now), signal)) != CONSENT_NOBODY)
            answer = 0;
        else if (now >= deaf)
            answer = wait_for_key(a, left(until, now), signal);
    }
    if (answer == CONSENT_ALWAYS && !write_down(a, id))
        answer = CONSENT_RUN; /* as much as can be had */
    const char *word = ask_words_answer(answer);
    write_terminal(a, word, strlen(word));
    return answer;
}

static void attend(struct asker *a)
{
    uint32_t id = a->queue[0].asked.q.id;
    int signal = 0, channel = a->queue[0].asked.channel;
    if (!a->taken && (!may_take(a) || !read_key_line(a))) {
        struct pollfd more = {a->questions, POLLIN, 0};
        if (now_ms() >= a->queue[0].until_ms) {
            answer_here(a, channel, id, CONSENT_TIMEOUT);
            remove_question(a, 0);
        } else if (poll(&more, 1, FOREGROUND_MS) > 0) {
            receive_questions(a);
        }
        return;
    }
    enum consent answer = ask(a, id, &signal);
    if (answer)
        answer_here(a, channel, id, answer);
    withdraw(a, id);
    if (a->n == 0 || signal || answer == CONSENT_DENY_ALL)
        give_back(a, signal);
}

static void *ask_all(void *arg)
{
    const struct ask_tty *t = arg;
    struct asker a = {.questions = t->questions[1], .by = t};
    OWN(fd) int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    a.tty = tty;
    while (!a.over) {
        struct pollfd more = {a.questions, POLLIN, 0};
        if (a.n)
            attend(&a);
        else if (poll(&more, 1, -1) > 0)
            receive_questions(&a);
    }
    give_back(&a, 0);
    return NULL;
}

/* ---- the run's side ---- */

static int start(struct ask_tty *a)
{
    sigset_t all, was;
    if (fd_packet_pair(a->questions) < 0)
        return -1;
    sigfillset(&all); /* also SIGTTOU: taking the terminal must not stop us */
    pthread_sigmask(SIG_SETMASK, &all, &was);
    int err = pthread_create(&a->thread, NULL, ask_all, a);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (err) {
        close(a->questions[0]);
        close(a->questions[1]);
        return -1;
    }
    a->started = true;
    return 0;
}

void ask_tty_question(struct ask_tty *a, const struct consent_question *q, int channel)
{
    struct asked m;
    memset(&m, 0, sizeof(m));
    m.q = *q;
    m.channel = channel;
    if (!a->started && start(a) < 0) {
        consent_answer(channel, q->id, CONSENT_NOBODY);
        return;
    }
    if (fd_packet_send(a->questions[0], &m, sizeof(m), -1, true) < 0 && !q->withdrawn)
        consent_answer(channel, q->id, CONSENT_DENY);
}

void ask_tty_end(struct ask_tty *a)
{
    if (!a->started)
        return;
    close(a->questions[0]);
    pthread_join(a->thread, NULL);
    close(a->questions[1]);
    a->started = false;
}
