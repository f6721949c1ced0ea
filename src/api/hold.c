/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "api/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "system/descriptors.h"

enum { ORDER_MS = 10000 };

/* ---- what the sandbox depends on ---- */

/* Settings also say what to report. */
static void put_settings(const struct api_policy *p, struct buf *out)
{
    const struct settings *s = &p->assembly.settings;
    for (size_t i = 0; i < s->n; i++) {
        buf_sized(out, &s->layers[i].id, sizeof(s->layers[i].id));
        buf_sized(out, s->layers[i].text.s, s->layers[i].text.n);
    }
}

/* As a run of this command would have it now, with the same folder for temporary files. */
static bool gather_into(struct hold *h, struct buckle_command *c, struct prepared *p, struct run *q,
                        struct buf *out)
{
    struct bk_err err;
    if (!c->tmpdir)
        c->tmpdir = h->prepared->private_tmpdir.path;
    if (helper_prepare(p, c, &err) < 0)
        return false;
    h->fill(h->arg, &p->spec);
    p->spec.like = h->run;
    if (run_open(q, &p->spec, false, &err) < 0 || !run_put_inputs(q, h->run, out))
        return false;
    put_settings(&p->policy, out);
    return buf_ok(out);
}

static bool gather(struct hold *h, char *const *argv, struct buf *out)
{
    struct buckle_command c = *h->c;
    struct prepared *p = calloc(1, sizeof(*p));
    struct run *q = calloc(1, sizeof(*q));
    c.argv = (const char **)argv;
    bool gathered = p && q && gather_into(h, &c, p, q, out);
    if (q && q->spec)
        run_close(q);
    if (p) {
        api_policy_free(&p->policy);
        arena_free(&p->arena);
    }
    free(q);
    free(p);
    return gathered;
}

static bool is_current(struct hold *h, char *const *argv)
{
    OWN(buf) struct buf now = {0};
    return gather(h, argv, &now) && now.n == h->inputs.n && memcmp(now.s, h->inputs.s, now.n) == 0;
}

static bool is_current_for_any(void *arg)
{
    struct hold *h = arg;
    return is_current(h, (char *const *)h->c->argv);
}

/* Whether the sandbox is the one that a launch of this command would make. */
static bool fits(struct hold *h, char *const *argv)
{
    bool any = !h->prepared->policy.assembly.by_command;
    return run_is_whole(h->run) && ((any && run_inputs_are_quiet(h->run)) || is_current(h, argv));
}

/* ---- the command ---- */

static void give_up(struct hold *h)
{
    h->given_up = true;
    run_cancel(true);
}

static void let_go(struct hold *h)
{
    const char taken = ORDER_TAKEN;
    struct launch_order o = {.argv = h->in.order.argv, .nfds = h->in.nstdio};
    for (int i = 0; i < (int)h->in.nstdio; i++) {
        o.fds[i] = h->in.stdio[i];
        o.as[i] = i;
    }
    if (h->given_up || !fits(h, o.argv) ||
        fd_packet_send(h->orders, &taken, sizeof(taken), -1, true) != sizeof(taken))
        return give_up(h);
    h->taken = true;
    h->begin(h->arg, o.argv);
    if (run_release(h->run, &o) < 0)
        run_cancel(true);
    for (size_t i = 0; i < h->in.nstdio; i++)
        close(h->in.stdio[i]);
    h->in.nstdio = 0;
}

void hold_receive(struct hold *h)
{
    static char bytes[ORDER_MOST];
    int passed = -1;
    ssize_t n;
    while (h->on && !h->complete && !h->taken &&
           (n = fd_packet_receive(h->orders, bytes, sizeof(bytes), &passed, true)) > 0) {
        int all = order_in_take(&h->in, bytes, (size_t)n, passed);
        h->complete = all == 1;
        if (all < 0)
            return give_up(h);
    }
    if (h->complete && h->held && !h->taken)
        let_go(h);
}

/* Also looks whether anything has changed since it was read. */
void hold_held(struct hold *h)
{
    h->held = true;
    bool known = run_put_inputs(h->run, h->run, &h->inputs);
    put_settings(&h->prepared->policy, &h->inputs);
    if (!known || !buf_ok(&h->inputs) || !run_watch_inputs(h->run, is_current_for_any, h))
        return give_up(h);
    hold_receive(h);
}

bool hold_was_stale(struct hold *h, int program)
{
    const char stale = ORDER_STALE;
    struct pollfd fds[] = {{h->orders, POLLIN, 0}, {program, POLLIN, 0}};
    if (!h->on || h->taken)
        return false;
    while (!h->complete && poll(fds, 2, -1) >= 0 && !fds[1].revents &&
           !(fds[0].revents & POLLHUP)) {
        h->held = false; /* only receive */
        hold_receive(h);
    }
    (void)!fd_packet_send(h->orders, &stale, sizeof(stale), -1, true);
    return true;
}

/* ---- the program's side ---- */

static bool send_stdio(int orders, const int *stdio)
{
    const char here = 0;
    OWN(fd) int null = -1;
    for (int i = 0; i < ORDER_STDIO; i++) {
        if (stdio[i] < 0 && null < 0)
            null = open("/dev/null", O_RDWR | O_CLOEXEC);
        int fd = stdio[i] < 0 ? null : stdio[i];
        if (fd < 0 || fd_packet_send(orders, &here, sizeof(here), fd, false) != sizeof(here))
            return false;
    }
    return true;
}

char hold_order(int orders, const char *const *argv, const int *stdio)
{
    OWN(buf) struct buf bytes = {0};
    const struct order o = {.start = "", .text = "", .stdio = stdio != NULL, .argv = (char **)argv};
    struct pollfd answer = {orders, POLLIN, 0};
    char what = 0;
    order_write(&o, &bytes);
    if (!buf_ok(&bytes) || bytes.n > ORDER_MOST)
        return ORDER_STALE;
    if (fd_packet_send(orders, bytes.s, bytes.n, -1, false) != (ssize_t)bytes.n ||
        (stdio && !send_stdio(orders, stdio)))
        return 0;
    while (poll(&answer, 1, ORDER_MS) < 0 && errno == EINTR)
        ;
    ssize_t n = answer.revents ? fd_packet_receive(orders, &what, 1, NULL, true) : -1;
    return n == 1 && (what == ORDER_TAKEN || what == ORDER_STALE) ? what : 0;
}
