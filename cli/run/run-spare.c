/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle run --spare`: everything up to the command's exec happens in advance. When the command
 * comes, all that the sandbox was made from is gathered again, by the code that an ordinary run
 * uses, with the real command. Only if not one byte of it has changed, the command is let go.
 * Otherwise this run ends, and whoever has the command runs it as usual.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "cli/run/invocation.h"
#include "cli/run/run-presets.h"
#include "run/stay.h"
#include "system/descriptors.h"
#include "system/process.h"

/* ---- what it depends on ---- */

void spare_note_grants(struct invocation *r)
{
    if (!r->spare.holds)
        return;
    buf_add(&r->spare.grants, r->flags.rules.s ? r->flags.rules.s : "", r->flags.rules.n);
    buf_add(&r->spare.links, r->flags.links.s ? r->flags.links.s : "", r->flags.links.n);
}

/* What runs of this session share is known already; a grant makes the session drop its spare. */
static void copy_session(struct invocation *q, const struct invocation *r)
{
    q->live.link = r->live.link;
    q->live.layers = r->live.layers;
    q->live.session = r->live.session;
    memcpy(q->live.tmpdir, r->live.tmpdir, sizeof(q->live.tmpdir));
    buf_add(&q->flags.rules, r->spare.grants.s ? r->spare.grants.s : "", r->spare.grants.n);
    buf_add(&q->flags.links, r->spare.links.s ? r->spare.links.s : "", r->spare.links.n);
}

static bool gather(struct invocation *q, struct invocation *r, struct buf *out)
{
    struct bk_err err;
    return invocation_fill(q, &err) == 0 && invocation_check_place(q, &err) == 0 &&
           q->spec.tmpdir && !q->spec.record.path && q->spec.nset_env == r->spec.nset_env &&
           !q->spec.launch.on_question == !r->spec.launch.on_question &&
           run_open(&q->run, &q->spec, false, &err) == 0 &&
           run_put_inputs(&q->run, &r->run, out);
}

/* Whether a launch of this command would build the sandbox that waits here. */
static bool is_current(struct invocation *r, const char **argv, bool asks)
{
    struct invocation *q = calloc(1, sizeof(*q));
    OWN(buf) struct buf now = {0};
    struct cli_args args = *r->args;
    if (!q)
        return false;
    args.pos = argv;
    for (args.npos = 0; argv[args.npos];)
        args.npos++;
    q->args = &args;
    q->how = r->how;
    q->stays = r->stays;
    q->like = &r->run;
    q->live.asks = asks;
    q->run.private_tmpdir.lock = -1;
    copy_session(q, r);
    const struct buf *then = &r->spare.inputs;
    bool same = gather(q, r, &now) && now.n == then->n && memcmp(now.s, then->s, now.n) == 0;
    invocation_free(q);
    return same;
}

/* ---- the command ---- */

static void answer(const struct spare *s, char what)
{
    (void)!fd_packet_send(s->client, &what, 1, -1, true);
}

/* Nothing has run in it. */
static void give_up(struct invocation *r)
{
    if (r->spare.client > 0)
        answer(&r->spare, ORDER_STALE);
    run_cancel(true);
}

/* The shell reports the folder in which it ends, as in an ordinary run. */
static bool wrap_line(struct invocation *r, char **argv)
{
    OWN(buf) struct buf line = {0};
    bool shell = argv[0] && argv[1] && argv[2] && !argv[3] && strcmp(argv[1], "-c") == 0;
    if (!r->live.folder_of)
        return true;
    if (!shell || r->ended.from <= 0)
        return false;
    buf_fmt(&line, END_FOLDER_TRAP "%s", argv[2]);
    if (!buf_ok(&line))
        return false;
    argv[2] = line.s;
    line = (struct buf){0};
    return true;
}

static bool choose_start(struct invocation *r, const char *start)
{
    if (!start[0])
        return true;
    if (!realpath(start, r->start))
        return false;
    r->spec.launch.start = r->start;
    return true;
}

/* From now on this run is the client's: what it says, and how it ends. */
static void become(struct invocation *r)
{
    struct spare *s = &r->spare;
    r->spec.launch.argv = s->order.argv;
    r->spec.command_text = s->order.text[0] ? s->order.text : r->spec.command_text;
    if (s->nstdio == ORDER_STDIO)
        dup2(s->stdio[2], STDERR_FILENO);
    if (r->how != REPORT_NONE)
        run_presets_announce(r->settings.now);
    if (r->stays)
        stay_report(s->client);
    watch_begin(&r->watch, &r->settings, &r->live);
}

/* The holder has announced its command, and nothing had changed a moment ago. A launch as usual
 * takes longer from reading settings to starting its command. */
static bool was_checked(const struct invocation *r)
{
    enum { MOMENT_MS = 3 };
    const struct spare *s = &r->spare;
    return !r->settings.now->by_command && s->order.asks == r->live.asks && s->checked_ms &&
           now_ms() - s->checked_ms < MOMENT_MS;
}

static void let_go(struct invocation *r)
{
    struct spare *s = &r->spare;
    struct launch_order o = {.argv = s->order.argv, .env = s->order.env, .nfds = s->nstdio};
    if ((!was_checked(r) && !is_current(r, (const char **)s->order.argv, s->order.asks)) ||
        !choose_start(r, s->order.start) || !wrap_line(r, s->order.argv))
        return give_up(r);
    o.start = r->spec.launch.start;
    for (int i = 0; i < (int)s->nstdio; i++) {
        o.fds[i] = s->stdio[i];
        o.as[i] = i;
    }
    answer(s, ORDER_TAKEN);
    s->taken = true;
    if (run_release(&r->run, &o) < 0)
        run_cancel(true);
    become(r);
    for (size_t i = 0; i < s->nstdio; i++)
        close(s->stdio[i]);
}

/* ---- messages ---- */

static void take_order(struct invocation *r, const char *bytes, size_t n)
{
    struct spare *s = &r->spare;
    s->bytes = s->bytes ? NULL : malloc(n);
    if (!s->bytes)
        return give_up(r);
    memcpy(s->bytes, bytes, n);
    if (!order_read(s->bytes, n, &s->order))
        return give_up(r);
    if (!s->order.stdio)
        let_go(r);
}

static void take_descriptor(struct invocation *r, int passed)
{
    struct spare *s = &r->spare;
    if (s->nstdio == ORDER_STDIO || !s->order.argv || s->taken) {
        close(passed);
        return;
    }
    s->stdio[s->nstdio++] = passed;
    if (s->nstdio == ORDER_STDIO)
        let_go(r);
}

static void check_soon(struct invocation *r)
{
    if (is_current(r, (const char **)r->args->pos, r->live.asks))
        r->spare.checked_ms = now_ms();
    else
        give_up(r);
}

/* Returns false at the end. */
static bool receive(struct invocation *r, int from)
{
    static char bytes[ORDER_MOST];
    struct spare *s = &r->spare;
    int passed = -1;
    ssize_t n = fd_packet_receive(from, bytes, sizeof(bytes), &passed, true);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n <= 0 || n > ORDER_MOST) {
        run_cancel(true);
        return false;
    }
    if (passed >= 0)
        take_descriptor(r, passed);
    else if (n == 1 && bytes[0] == ORDER_SOON && !s->taken)
        check_soon(r);
    else if (s->taken && n == 2 && bytes[0] == ORDER_SIGNAL)
        run_signal(bytes[1]);
    else if (!s->taken && !s->order.argv)
        take_order(r, bytes, (size_t)n);
    return true;
}

static void on_client(void *arg, int fd)
{
    struct invocation *r = arg;
    if (!receive(r, fd))
        fd_watch_drop(&r->live.fd_watch, fd);
}

/* The holder has a command itself, or a client that has one. */
static void on_holder(void *arg, int fd)
{
    struct invocation *r = arg;
    r->spare.client = r->spare.client ? r->spare.client : fd;
    on_client(arg, fd);
}

/* ---- beginning and end ---- */

int spare_choose(struct invocation *r, struct bk_err *err)
{
    const char *where = args_value(r->args, "spare");
    char *end;
    if (!where)
        return 0;
    long fd = strncmp(where, "fd:", 3) == 0 ? strtol(where + 3, &end, 10) : -1;
    if (fd <= STDERR_FILENO || *end || fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
        return err_set(err, BK_E_INPUT, "--spare: %s is not an open file descriptor", where);
    if (args_has(r->args, "control-fd") || args_has(r->args, "dry-run"))
        return err_set(err, BK_E_INPUT, "--spare: not with --control-fd or --dry-run");
    process_keep_memory(); /* what is compared needs the same memory each time */
    r->spare.holds = true;
    r->spare.holder = (int)fd;
    return 0;
}

int spare_open(struct invocation *r, struct bk_err *err)
{
    struct live *l = &r->live;
    r->spec.launch.user_fds = l->own;
    l->own[r->spec.launch.nuser_fds++] = r->spare.holder;
    return fd_watch_add(&l->fd_watch, r->spare.holder, on_holder, r, err);
}

/* Also looks whether anything has changed since it was read. */
void spare_held(void *arg)
{
    struct invocation *r = arg;
    struct spare *s = &r->spare;
    const char ready = ORDER_READY;
    if (!run_put_inputs(&r->run, &r->run, &s->inputs) ||
        !is_current(r, (const char **)r->args->pos, r->live.asks))
        run_cancel(true);
    else
        (void)!fd_packet_send(s->holder, &ready, 1, -1, true);
}

void spare_end(struct invocation *r, int status)
{
    struct spare *s = &r->spare;
    if (!s->holds)
        return;
    if (s->taken)
        (void)!fd_packet_send(s->client, &status, sizeof(status), -1, true);
    run_clean(&r->run);
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
