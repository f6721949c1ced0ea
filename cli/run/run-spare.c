/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Everything up to the command's exec happens in advance. When the command comes, all that the
 * sandbox was made from is gathered again, by the code that an ordinary run uses, with the real
 * command. Only if not one byte of it has changed, the command is let go. Otherwise this run ends,
 * and the process that has the command runs it as usual.
 */

#include "cli/run/run-spare.h"

#include "cli/run/spare-words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "run/stay.h"
#include "system/descriptors.h"
#include "system/inherited.h"
#include "system/process.h"

/* ---- what it depends on ---- */

static void copy_text(struct buf *to, const struct buf *from)
{
    buf_add(to, from->s ? from->s : "", from->n);
}

void spare_note_grants(struct spare *s, const struct buf *rules, const struct buf *links)
{
    if (!s->holds)
        return;
    copy_text(&s->grants, rules);
    copy_text(&s->links, links);
}

/* A grant makes the session drop its spare. */
void spare_copy_session(const struct spare *s, struct live *live, struct buf *rules,
                        struct buf *links)
{
    live->link = s->live->link;
    live->layers = s->live->layers;
    live->session = s->live->session;
    memcpy(live->tmpdir, s->live->tmpdir, sizeof(live->tmpdir));
    copy_text(rules, &s->grants);
    copy_text(links, &s->links);
}

/* Whether a launch of this command would build the sandbox that waits here. */
static bool is_current(const struct spare *s, char **argv, bool asks)
{
    OWN(buf) struct buf now = {0};
    return s->gather(s->arg, argv, asks, &now) && now.n == s->inputs.n &&
           memcmp(now.s, s->inputs.s, now.n) == 0;
}

static char **placeholder(const struct spare *s)
{
    return (char **)s->run->spec->launch.argv;
}

/* The same for the command that it was made for. */
static bool is_current_for_any(void *arg)
{
    const struct spare *s = arg;
    return is_current(s, placeholder(s), s->live->asks);
}

/* Nothing that such a check looks at has changed since the last one; or the holder has announced
 * its command, and nothing had changed a moment ago. A launch as usual takes longer from reading
 * settings to starting its command. */
static bool was_checked(const struct spare *s)
{
    enum { MOMENT_MS = 3 };
    bool just_now = s->checked_ms && now_ms() - s->checked_ms < MOMENT_MS;
    return s->asks == s->live->asks && s->is_for_any(s->arg) &&
           (just_now || run_inputs_are_quiet(s->run));
}

/* ---- the command ---- */

static void answer(const struct spare *s, char what)
{
    (void)!fd_packet_send(s->client, &what, 1, -1, true);
}

/* Nothing has run in it, and nothing will: a client that comes yet has to run its command itself.
 */
static void give_up(struct spare *s)
{
    s->given_up = true;
    if (s->client > 0)
        answer(s, ORDER_STALE);
    run_cancel(true);
}

static void let_go(struct spare *s)
{
    const char *start = s->start[0] ? s->start : s->order.start;
    struct launch_order o = {.argv = s->order.argv,
                             .env = s->order.env,
                             .nfds = s->nstdio,
                             .start = start[0] ? start : NULL};
    if (s->given_up || !run_is_whole(s->run) ||
        (!was_checked(s) && !is_current(s, s->order.argv, s->asks)) || !s->complete(s->arg, &o))
        return give_up(s);
    for (int i = 0; i < (int)s->nstdio; i++) {
        o.fds[i] = s->stdio[i];
        o.as[i] = i;
    }
    answer(s, ORDER_TAKEN);
    s->taken = true;
    if (run_release(s->run, &o) < 0)
        run_cancel(true);
    if (s->nstdio == ORDER_STDIO)
        dup2(s->stdio[STDERR_FILENO], STDERR_FILENO); /* for our reports */
    for (size_t i = 0; i < s->nstdio; i++)
        close(s->stdio[i]);
    s->begin(s->arg);
}

/* ---- messages ---- */

static void take_order(struct spare *s, const char *bytes, size_t n)
{
    s->bytes = malloc(n);
    if (!s->bytes)
        return give_up(s);
    memcpy(s->bytes, bytes, n);
    if (!order_read(s->bytes, n, &s->order))
        return give_up(s);
    if (!s->registers)
        s->asks = s->order.asks;
    if (!s->order.stdio)
        let_go(s);
}

static void take_descriptor(struct spare *s, int passed)
{
    if (s->nstdio == ORDER_STDIO || !s->order.argv || s->taken) {
        close(passed);
        return;
    }
    s->stdio[s->nstdio++] = passed;
    if (s->nstdio == ORDER_STDIO)
        let_go(s);
}

static void check_soon(struct spare *s)
{
    if (s->given_up)
        return;
    if (!run_inputs_are_quiet(s->run) && !is_current_for_any(s))
        return give_up(s);
    run_adopt_folders(s->run);
    s->checked_ms = now_ms();
}

static void send_signal(struct spare *s, int sig)
{
    if (s->started)
        run_signal(sig);
    else if (sig > 0 && sig < 64)
        s->signals |= UINT64_C(1) << sig;
}

void spare_started(struct spare *s)
{
    s->started = true;
    for (int sig = 1; sig < 64 && s->taken; sig++)
        if (s->signals >> sig & 1)
            run_signal(sig);
}

enum received { ENDED, NOTHING, MESSAGE };

static enum received receive(struct spare *s, int from)
{
    static char bytes[ORDER_MOST];
    int passed = -1;
    ssize_t n = fd_packet_receive(from, bytes, sizeof(bytes), &passed, true);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return NOTHING;
    if (n <= 0 || n > ORDER_MOST) {
        run_cancel(true);
        return ENDED;
    }
    if (passed >= 0)
        take_descriptor(s, passed);
    else if (n == 1 && bytes[0] == ORDER_SOON && !s->taken)
        check_soon(s);
    else if (n == 2 && bytes[0] == ORDER_SIGNAL && s->taken)
        send_signal(s, bytes[1]);
    else if (!s->taken && !s->order.argv)
        take_order(s, bytes, (size_t)n);
    return MESSAGE;
}

static void on_client(void *arg, int fd)
{
    struct spare *s = arg;
    enum received got;
    do
        got = receive(s, fd);
    while (got == MESSAGE && s->order.argv && !s->taken && !s->given_up); /* its streams */
    if (got == ENDED)
        fd_watch_drop(&s->live->fd_watch, fd);
}

/* The holder has a command itself. */
static void on_holder(void *arg, int fd)
{
    struct spare *s = arg;
    s->client = fd;
    on_client(arg, fd);
}

/* The session passes a client on, or announces that one may come. What comes with it: whether the
 * user can be asked, and the folder to start in. */
static void on_session(void *arg, int fd)
{
    struct spare *s = arg;
    char bytes[PATH_MAX + 2];
    struct bk_err err;
    int passed = -1;
    ssize_t n = fd_packet_receive(fd, bytes, sizeof(bytes) - 1, &passed, true);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n == 1 && passed < 0 && bytes[0] == ORDER_SOON)
        return check_soon(s);
    fd_watch_drop(&s->live->fd_watch, fd);
    if (n <= 0 || n >= (ssize_t)sizeof(bytes) || passed < 0 ||
        fd_watch_add(&s->live->fd_watch, passed, on_client, s, &err) < 0) {
        run_cancel(true);
        return;
    }
    bytes[n] = '\0';
    s->asks = bytes[0] == 'a';
    memcpy(s->start, bytes + 1, (size_t)n);
    s->client = passed;
}

/* ---- beginning and end ---- */

int spare_choose(struct spare *s, const struct cli_args *args, struct bk_err *err)
{
    const char *where = args_value(args, "spare");
    char *end = NULL;
    if (!where)
        return 0;
    s->args = args;
    s->registers = strcmp(where, "session") == 0;
    long fd = strncmp(where, "fd:", 3) == 0 ? strtol(where + 3, &end, 10) : -1;
    if (!s->registers && (!end || *end || fd <= STDERR_FILENO || fd > INT_MAX ||
                          fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0))
        return err_set(err, BK_E_INPUT, "--spare: %s is not an open file descriptor", where);
    if (args_has(args, "control-fd") || args_has(args, "dry-run"))
        return err_set(err, BK_E_INPUT, "--spare: not with --control-fd or --dry-run");
    process_keep_memory(); /* what is compared needs the same memory each time */
    s->holds = true;
    s->holder = s->registers ? 0 : (int)fd;
    return 0;
}

int spare_open(struct spare *s, struct run_spec *spec, struct bk_err *err)
{
    process_remember_signals();
    const struct spare_call call = {.args = s->args, .name = s->name, .argv = placeholder(s)};
    if (s->registers)
        return spare_key(&call, s->key) && process_inherited(0, s->inherited)
                   ? 0
                   : err_set(err, BK_E_INPUT, "--spare: not here");
    s->live->own[spec->launch.nuser_fds++] = s->holder;
    return fd_watch_add(&s->live->fd_watch, s->holder, on_holder, s, err);
}

static bool report_ready(struct spare *s)
{
    const char ready = ORDER_READY;
    struct bk_err err;
    int ends[2];
    if (!s->registers)
        return fd_packet_send(s->holder, &ready, 1, -1, true) == 1;
    if (fd_packet_pair(ends) < 0)
        return false;
    OWN(fd) int theirs = ends[1];
    s->holder = ends[0];
    return live_offer(s->live, s->key, s->inherited, theirs) &&
           fd_watch_add(&s->live->fd_watch, s->holder, on_session, s, &err) == 0;
}

/* Also looks whether anything has changed since it was read. */
void spare_held(struct spare *s)
{
    s->asks = s->live->asks;
    bool known = run_put_inputs(s->run, s->run, &s->inputs);
    run_settings_put(s->settings, &s->inputs);
    if (!known || !buf_ok(&s->inputs) || !is_current_for_any(s) || !report_ready(s))
        run_cancel(true);
    else if (!run_watch_inputs(s->run, is_current_for_any, s))
        give_up(s);
}

/* The output has ended only when nobody can write to it, and we still could. */
static void release_streams(const struct spare *s)
{
    if (s->nstdio == ORDER_STDIO)
        dup2(STDIN_FILENO, STDERR_FILENO); /* a spare's own, /dev/null */
}

/* Whoever waits for the status would otherwise wait for a processor, too: freeing this process's
 * memory and making the next spare keep one busy for half a millisecond. */
static void let_others_run(void)
{
    const struct timespec moment = {.tv_nsec = 3000000};
    nanosleep(&moment, NULL);
}

void spare_end(struct spare *s, int status)
{
    if (!s->holds)
        return;
    if (s->taken) {
        release_streams(s);
        (void)!fd_packet_send(s->client, &status, sizeof(status), -1, true);
        let_others_run();
    }
    bool again = s->taken && s->registers;
    struct spare_call next = {.args = s->args, .name = s->name, .argv = placeholder(s)};
    if (again)
        spare_start_next(&next);
    run_clean(s->run);
    _exit(0);
}

void spare_free(struct spare *s)
{
    buf_free(&s->inputs);
    buf_free(&s->grants);
    buf_free(&s->links);
    order_free(&s->order);
    free(s->bytes);
}
