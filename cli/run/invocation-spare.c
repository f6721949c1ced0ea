/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle run` as a spare of its session, and as a client of one. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/run/exit-status.h"
#include "cli/run/invocation.h"
#include "cli/run/run-presets.h"
#include "run/stay.h"

/* ---- a run that holds its command ---- */

void invocation_free(struct invocation *r)
{
    if (r->run.spec)
        run_close(&r->run);
    report_free(r->report);
    run_flags_free(&r->flags);
    stack_flags_free(&r->stack);
    run_settings_free(&r->settings);
    spare_free(&r->spare);
    free(r->keep_env);
    free(r->opened);
    for (char **one = r->real; one && *one; one++)
        free(*one);
    free(r->real);
    free(r->set_env);
    free(r->keep_fds);
    free(r);
}

static bool gather_all(struct invocation *q, const struct invocation *r, struct buf *out)
{
    struct bk_err err;
    return invocation_fill(q, &err) == 0 && invocation_check_place(q, &err) == 0 &&
           q->spec.tmpdir && !q->spec.launch.on_question == !r->spec.launch.on_question &&
           run_open(&q->run, &q->spec, false, &err) == 0 && run_put_inputs(&q->run, q->like, out);
}

/* Another invocation with the same command line. It neither joins the session nor starts anything.
 */
static bool gather(void *arg, char **argv, bool asks, struct buf *out)
{
    struct invocation *r = arg, *q = calloc(1, sizeof(*q));
    struct cli_args args = *r->args;
    if (!q)
        return false;
    args.pos = (const char **)argv;
    for (args.npos = 0; argv[args.npos];)
        args.npos++;
    q->args = &args;
    q->how = r->how;
    q->stays = r->stays;
    q->like = &r->run;
    q->live.asks = asks;
    q->run.private_tmpdir.lock = -1;
    spare_copy_session(&r->spare, &q->live, &q->flags.rules, &q->flags.links);
    bool gathered = gather_all(q, r, out);
    if (gathered)
        run_settings_put(&q->settings, out);
    invocation_free(q);
    return gathered;
}

static bool is_for_any(void *arg)
{
    const struct invocation *r = arg;
    return !r->settings.now->by_command;
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
    argv[2] = line.s; /* until this process ends */
    line = (struct buf){0};
    return true;
}

static bool complete(void *arg, struct launch_order *o)
{
    struct invocation *r = arg;
    char start[PATH_MAX];
    if (o->start && !realpath(o->start, start))
        return false;
    if (o->start)
        memcpy(r->start, start, sizeof(r->start));
    o->start = o->start ? r->start : r->spec.launch.start;
    return wrap_line(r, r->spare.order.argv);
}

static void begin(void *arg)
{
    struct invocation *r = arg;
    const struct spare *s = &r->spare;
    r->spec.launch.argv = s->order.argv;
    r->spec.command_text = s->order.text[0] ? s->order.text : r->spec.command_text;
    run_settings_command(&r->settings, s->order.argv);
    if (r->how != REPORT_NONE)
        run_presets_announce(r->settings.now);
    if (r->stays)
        stay_report(s->client);
    watch_begin(&r->watch, &r->settings, &r->live);
}

int invocation_spare(struct invocation *r, struct bk_err *err)
{
    r->spare.name = "run";
    r->spare.run = &r->run;
    r->spare.live = &r->live;
    r->spare.settings = &r->settings;
    r->spare.gather = gather;
    r->spare.is_for_any = is_for_any;
    r->spare.complete = complete;
    r->spare.begin = begin;
    r->spare.arg = r;
    if (spare_choose(&r->spare, r->args, err) < 0)
        return -1;
    r->live.spare = r->spare.holds;
    return 0;
}

void invocation_held(void *arg)
{
    struct invocation *r = arg;
    spare_held(&r->spare);
}

void invocation_started(void *arg)
{
    struct invocation *r = arg;
    spare_started(&r->spare);
}

/* ---- a run that may use one ---- */

bool invocation_take_spare(struct invocation *r, int *status)
{
    struct spare_call c = spare_call_of_run(r->args);
    struct launch_end end = {0};
    bool taken = args_has(r->args, "session") && spare_take(&c, &end.status);
    r->may_use_spare = c.possible;
    if (taken)
        *status = exit_as(&end);
    return taken;
}

void invocation_next_spare(const struct invocation *r)
{
    struct spare_call c = spare_call_of_run(r->args);
    if (r->live.wants_spare && r->may_use_spare &&
        spare_can_wait(r->settings.now, r->spec.record.path))
        spare_start_next(&c);
}
