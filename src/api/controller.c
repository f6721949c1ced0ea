/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The process that runs a command for a program, as `buckle run` does for users. It talks to the
 * program over one socket, and never waits for it while the command runs: a program that does not
 * read loses only events, which are counted. When the program ends, it ends too, with the whole
 * sandbox.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/hold.h"
#include "api/wire.h"
#include "base/own.h"
#include "run/grant.h"
#include "system/descriptors.h"
#include "system/fd-group.h"
#include "system/process.h"

enum {
    QUEUE_MOST = 1 << 20, /* bytes of events that wait for the program */
    PATIENCE_MS = 50,     /* for each further one */
    FINDING_BYTES = 128 << 10,
};

/* The mistake that another process of ours found; in shared memory. */
struct policy_finding {
    struct bk_err err;
    size_t n;
    char report[FINDING_BYTES];
};

struct controller {
    const struct buckle_command *c;
    struct hold hold;
    bool leave_judge; /* else the program would inherit it */
    int sock, group, parent;
    struct buf in, out;
    uint64_t lost;
    struct prepared prepared;
    struct api_policy *updated; /* the policy, when it is not the first */
    struct run run;
    struct grants grants;
    struct policy_finding *finding;
    int channel; /* for answers */
    bool cancelled;
    struct buf command; /* in words */
};

/* ---- telling ---- */

static void listen_for_room(const struct controller *k)
{
    fd_group_writes(k->group, k->sock, 0, k->out.n > 0);
}

static void flush(struct controller *k)
{
    bool waited = k->out.n > 0;
    wire_send(k->sock, &k->out);
    if (waited || k->out.n)
        listen_for_room(k);
}

/* Whether there is room for another event. */
static bool has_room(struct controller *k)
{
    if (k->out.n < QUEUE_MOST)
        return true;
    poll(&(struct pollfd){k->sock, POLLOUT, 0}, 1, PATIENCE_MS);
    flush(k);
    return k->out.n < QUEUE_MOST;
}

static const struct api_policy *policy_of(const struct controller *k)
{
    return k->updated ? k->updated : &k->prepared.policy;
}

static bool is_ignored(const struct controller *k, const char *line)
{
    const struct assembly *a = &policy_of(k)->assembly;
    return a->by_settings && settings_ignore(&a->result, k->command.s ? k->command.s : "", line);
}

static void on_event(void *arg, const struct event *e)
{
    struct controller *k = arg;
    OWN(buf) struct buf line = {0};
    OWN(buf) struct buf json = {0};
    event_line(e, &line);
    if (!buf_ok(&line) || !line.s || is_ignored(k, line.s))
        return;
    if (!has_room(k)) {
        k->lost++;
        return;
    }
    struct policies policies = run_policies(&k->run);
    event_json(e, policies_graph(&policies, e->policy), NULL, &json);
    size_t at = wire_begin(&k->out, WIRE_EVENT);
    wire_number(&k->out, e->allow);
    wire_number(&k->out, e->time_ns);
    wire_number(&k->out, (uint64_t)e->pid);
    wire_number(&k->out, k->lost);
    wire_text(&k->out, e->exe, strlen(e->exe));
    wire_text(&k->out, vocab_ops[e->op].name, strlen(vocab_ops[e->op].name));
    wire_text(&k->out, e->path, e->path_len);
    wire_text(&k->out, line.s, line.n);
    wire_text(&k->out, json.s, json.n);
    wire_end(&k->out, at);
    k->lost = 0;
    flush(k);
}

static void on_question(void *arg, const struct consent_question *q, int channel)
{
    struct controller *k = arg;
    k->channel = channel;
    size_t at = wire_begin(&k->out, WIRE_QUESTION);
    wire_text(&k->out, (const char *)q, sizeof(*q));
    wire_end(&k->out, at);
    flush(k);
}

static void reply(struct controller *k, uint64_t number, const struct bk_err *err,
                  const struct buf *waits)
{
    OWN(buf) struct buf report = {0};
    if (err)
        api_report(err, NULL, &report);
    size_t at = wire_begin(&k->out, WIRE_REPLY);
    wire_number(&k->out, number);
    wire_number(&k->out, err == NULL);
    if (err)
        wire_error(&k->out, err, report.s, report.n);
    else
        wire_text(&k->out, waits->s, waits->n);
    wire_end(&k->out, at);
    flush(k);
}

/* The judge's process may call this. */
static void report_policy(void *arg, const struct sbpl_unit *unit, const struct bk_err *err)
{
    const struct controller *k = arg;
    OWN(buf) struct buf report = {0};
    api_report(err, unit, &report);
    k->finding->err = *err;
    k->finding->n = report.n < FINDING_BYTES ? report.n : FINDING_BYTES;
    if (buf_ok(&report) && report.s)
        memcpy(k->finding->report, report.s, k->finding->n);
    if (!k->finding->err.msg[0])
        err_set(&k->finding->err, BK_E_INPUT, "the policy has an error");
}

/* ---- hearing ---- */

/* Settings replace a profile or settings; a text replaces everything. */
static int update_policy(struct controller *k, const struct wire_message *m, const char *text,
                         size_t n, struct buf *waits, struct bk_err *err)
{
    struct buckle_command changed = *k->c;
    struct api_pair whole = {"<update>", text, n};
    struct api_policy *p = calloc(1, sizeof(*p));
    char *copy = p ? arena_strndup(&k->prepared.arena, text, n) : NULL;
    if (!copy)
        return free(p), err_nomem(err);
    changed.profile = NULL;
    whole.value = copy;
    if (m->kind == WIRE_TEXT) {
        changed.settings = NULL;
        changed.found = false;
        changed.rules.n = 0;
        changed.texts = (struct api_pairs){&whole, 1};
    } else {
        changed.settings = copy;
        changed.nsettings = n;
    }
    const char *tmpdir = k->c->tmpdir ? k->prepared.tmpdir : k->prepared.private_tmpdir.path;
    if (api_policy_make(p, &changed, k->prepared.cwd, tmpdir, err) < 0 ||
        grants_base(&k->grants, p->assembly.sources, p->assembly.nsources, waits, err) < 0) {
        api_policy_free(p);
        free(p);
        return -1;
    }
    if (k->updated)
        api_policy_free(k->updated);
    free(k->updated);
    k->updated = p;
    return 0;
}

static void receive_change(struct controller *k, struct wire_message *m)
{
    OWN(buf) struct buf waits = {0};
    struct bk_err err;
    size_t n;
    uint64_t number = wire_take_number(m);
    const char *text = wire_take_text(m, &n);
    const char *value = m->kind == WIRE_GRANT ? wire_take_text(m, NULL) : "";
    int done = 0;
    if (m->bad)
        done = err_set(&err, BK_E_BUG, "a malformed message");
    else if (m->kind != WIRE_GRANT)
        done = update_policy(k, m, text, n, &waits, &err);
    else if (!grants_know(text) || !value[0])
        done = err_set(&err, BK_E_INPUT,
                       "nothing to grant: name allow-read, allow-write or allow-net");
    else
        done = grants_add(&k->grants, text, value, 0, &waits, &err);
    reply(k, number, done < 0 ? &err : NULL, &waits);
}

static void receive_answer(const struct controller *k, struct wire_message *m)
{
    static const enum consent answers[] = {[BUCKLE_ANSWER_DENY] = CONSENT_DENY,
                                           [BUCKLE_ANSWER_ONCE] = CONSENT_ONCE,
                                           [BUCKLE_ANSWER_RUN] = CONSENT_RUN,
                                           [BUCKLE_ANSWER_DENY_ALL] = CONSENT_DENY_ALL};
    uint64_t id = wire_take_number(m), answer = wire_take_number(m);
    if (!m->bad && answer <= BUCKLE_ANSWER_DENY_ALL && k->channel >= 0)
        consent_answer(k->channel, (uint32_t)id, answers[answer]);
}

static void receive_message(struct controller *k, struct wire_message *m)
{
    switch (m->kind) {
    case WIRE_SIGNAL:
        run_signal((int)wire_take_number(m));
        break;
    case WIRE_CANCEL:
        run_cancel(k->cancelled);
        k->cancelled = true;
        break;
    case WIRE_ANSWER:
        receive_answer(k, m);
        break;
    case WIRE_SETTINGS:
    case WIRE_TEXT:
    case WIRE_GRANT:
        receive_change(k, m);
        break;
    default:
        break;
    }
}

static void stop_orders(struct controller *k)
{
    if (k->hold.orders >= 0)
        fd_group_remove(k->group, k->hold.orders);
}

static bool is_readable(int fd)
{
    return poll(&(struct pollfd){fd, POLLIN, 0}, 1, 0) == 1;
}

static void on_input(void *arg)
{
    struct controller *k = arg;
    struct wire_message m;
    long size;
    flush(k);
    hold_receive(&k->hold);
    if (k->hold.on && k->hold.complete)
        stop_orders(k);
    if (wire_receive(k->sock, &k->in) < 0 || is_readable(k->parent)) {
        stop_orders(k);
        fd_group_remove(k->group, k->sock);
        fd_group_remove(k->group, k->parent);
        k->cancelled = true;
        run_cancel(true); /* the program is gone */
        return;
    }
    while (buf_ok(&k->in) && k->in.n && (size = wire_first(k->in.s, k->in.n, &m)) > 0) {
        receive_message(k, &m);
        wire_forget(&k->in, (size_t)size);
    }
}

/* ---- beginning ---- */

static int set_stdio(const struct buckle_command *c, struct bk_err *err)
{
    int high[3];
    for (int i = 0; i < 3; i++) {
        OWN(fd) int null = c->stdio[i] < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
        high[i] = fcntl(null >= 0 ? null : c->stdio[i], F_DUPFD_CLOEXEC, 10);
        if (high[i] < 0 && c->stdio[i] != i) /* closed descriptors stay closed */
            return err_sys(err, "descriptor %d", c->stdio[i]);
    }
    for (int i = 0; i < 3; i++)
        if (high[i] >= 0)
            dup2(high[i], i);
        else
            close(i);
    return 0;
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Neither we nor the command need the program's other descriptors. */
static int close_others(const struct controller *k, struct bk_err *err)
{
    size_t n = 0;
    OWN(mem) int *keep = calloc(k->c->nkeep_fds + 4, sizeof(*keep));
    if (!keep)
        return err_nomem(err);
    for (size_t i = 0; i < k->c->nkeep_fds; i++) {
        if (fcntl(k->c->keep_fds[i], F_SETFD, 0) < 0)
            return err_sys(err, "descriptor %d", k->c->keep_fds[i]);
        keep[n++] = k->c->keep_fds[i];
    }
    keep[n++] = k->sock;
    keep[n++] = k->parent;
    keep[n++] = k->group;
    if (k->hold.on)
        keep[n++] = k->hold.orders;
    qsort(keep, n, sizeof(*keep), by_number);
    int first = 3;
    for (size_t i = 0; i < n; i++) {
        if (keep[i] > first)
            fd_close_range(first, keep[i] - 1);
        if (keep[i] >= first)
            first = keep[i] + 1;
    }
    fd_close_range(first, -1);
    return 0;
}

/* Out of the way of 0, 1 and 2. */
static int move_up(int fd)
{
    int up = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    close(fd);
    return up;
}

static int watch_program(struct controller *k, int sock, pid_t parent, struct bk_err *err)
{
    int program = process_watch(parent), group = fd_group_open();
    if (program < 0 || group < 0 || getppid() != parent)
        return err_sys(err, "cannot watch the calling program");
    k->sock = move_up(sock);
    k->parent = move_up(program);
    k->group = move_up(group);
    if (k->hold.on)
        k->hold.orders = move_up(k->hold.orders);
    if (k->sock < 0 || fd_group_add(k->group, k->sock, 0) < 0 ||
        fd_group_add(k->group, k->parent, 0) < 0 ||
        (k->hold.on && fd_group_add(k->group, k->hold.orders, 0) < 0))
        return err_sys(err, "cannot watch the calling program");
    return 0;
}

static void word_command(struct controller *k, const char *const *argv)
{
    k->command.n = 0;
    if (k->c->text)
        buf_str(&k->command, k->c->text);
    for (size_t i = 0; !k->c->text && argv[i]; i++)
        buf_fmt(&k->command, "%s%s", i ? " " : "", argv[i]);
}

static void on_held(void *arg)
{
    struct controller *k = arg;
    hold_held(&k->hold);
}

static void on_released(void *arg, char *const *argv)
{
    word_command(arg, (const char *const *)argv);
}

/* Also that of a spec which is only compared. */
static void fill_spec(void *arg, struct run_spec *s)
{
    struct controller *k = arg;
    const struct assembly *a = &k->prepared.policy.assembly;
    bool asks = k->c->on_question && !(a->by_settings && a->result.strict_allowlist);
    s->launch.leave_judge = k->leave_judge;
    s->launch.on_held = k->hold.on ? on_held : NULL;
    s->launch.give_stdio = true;
    s->launch.no_job_control = true;
    s->launch.on_event = on_event;
    s->launch.on_input = on_input;
    s->launch.input_fd = k->group;
    s->launch.on_question = asks ? on_question : NULL;
    s->launch.arg = k;
    s->complain = report_policy;
}

static int begin(struct controller *k, int sock, pid_t parent, struct bk_err *err)
{
    k->finding =
        mmap(NULL, sizeof(*k->finding), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (k->finding == MAP_FAILED)
        return err_nomem(err);
    process_set_name("buckle-run");
    if (watch_program(k, sock, parent, err) < 0 || set_stdio(k->c, err) < 0 ||
        close_others(k, err) < 0)
        return -1;
    if (k->c->flags[BUCKLE_NEW_SESSION])
        setsid();
    if (helper_prepare(&k->prepared, k->c, err) < 0)
        return -1;
    word_command(k, k->c->argv);
    k->leave_judge = parent != 1 && !process_adopts();
    fill_spec(k, &k->prepared.spec);
    return 0;
}

/* ---- ending ---- */

static void __attribute__((noreturn)) finish(struct controller *k)
{
    struct pollfd fds[] = {{k->sock, POLLOUT, 0}, {k->parent, POLLIN, 0}};
    while (buf_ok(&k->out) && k->out.n && wire_send(k->sock, &k->out) == 0 && k->out.n)
        if (poll(fds, 2, -1) < 0 || fds[1].revents)
            break;
    _exit(0);
}

static void __attribute__((noreturn))
fail(struct controller *k, const struct bk_err *err, const char *report, size_t n)
{
    OWN(buf) struct buf own = {0};
    if (!report)
        api_report(err, NULL, &own);
    size_t at = wire_begin(&k->out, WIRE_FAILED);
    wire_number(&k->out, k->cancelled);
    wire_error(&k->out, err, report ? report : own.s, report ? n : own.n);
    wire_end(&k->out, at);
    finish(k);
}

static void run_command(struct controller *k)
{
    struct launch_end end = {0};
    struct bk_err err = {0};
    const struct sbpl_unit *unit = &k->run.policy.unit;
    if (run_open(&k->run, &k->prepared.spec, false, &err) < 0) {
        OWN(buf) struct buf report = {0};
        api_report(&err, unit, &report);
        fail(k, &err, report.s ? report.s : "", report.n);
    }
    grants_init(&k->grants, &k->run);
    int went = run_go(&k->run, &end, &err);
    run_clean(&k->run);
    if (went == 0 && k->hold.given_up && hold_was_stale(&k->hold, k->parent))
        _exit(0);
    if (went < 0 && end.step == STEP_POLICY && k->finding->err.msg[0])
        fail(k, &k->finding->err, k->finding->report, k->finding->n);
    if (went < 0)
        fail(k, &err, NULL, 0);
    size_t at = wire_begin(&k->out, WIRE_ENDED);
    wire_number(&k->out, (uint64_t)(uint32_t)end.status);
    wire_number(&k->out, end.timed_out && !k->cancelled);
    wire_number(&k->out, k->cancelled);
    wire_number(&k->out, k->lost);
    wire_end(&k->out, at);
    finish(k);
}

void controller_main(void *task, int sock, pid_t parent)
{
    static struct controller k; /* large, and there is one in a process */
    const struct controller_task *what = task;
    struct bk_err err = {0};
    k = (struct controller){
        .c = what->command, .sock = sock, .group = -1, .parent = -1, .channel = -1};
    k.hold = (struct hold){.on = what->orders >= 0,
                           .orders = what->orders,
                           .c = what->command,
                           .prepared = &k.prepared,
                           .run = &k.run,
                           .fill = fill_spec,
                           .begin = on_released,
                           .arg = &k};
    if (begin(&k, sock, parent, &err) < 0)
        fail(&k, &err, NULL, 0);
    run_command(&k);
    _exit(1);
}
