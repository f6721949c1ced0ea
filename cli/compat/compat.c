/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What the compat names share: the run, and messages that begin with the name the user typed. They
 * are as quiet as the programs that they replace: no summary, and denials only on request.
 */

#include "cli/compat/compat.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/profile/profile-options.h"
#include "cli/run/debug.h"
#include "cli/run/exit-status.h"

const struct cli_command *const compat_names[] = {&name_sandbox_exec, &name_srt, &name_cage, NULL};

const struct cli_command *compat_find(const char *argv0)
{
    const char *slash = strrchr(argv0, '/'), *base = slash ? slash + 1 : argv0;
    for (const struct cli_command *const *c = compat_names; *c; c++)
        if (strcmp((*c)->name, base) == 0)
            return *c;
    return NULL;
}

void compat_report(const char *name, const char *about, const struct bk_err *err)
{
    struct buf line = {0};
    buf_fmt(&line, "%s: %s%s", name, about ? about : "", about ? ": " : "");
    err_lines(err, &line);
    exit_write(STDERR_FILENO, &line);
}

static void on_event(void *arg, const struct event *e)
{
    struct compat *d = arg;
    struct buf line = {0}, words = {0};
    program_mounts_note(&d->mounts, e);
    if (!d->verbose && !d->on_event)
        return;
    event_line(e, &words);
    if (buf_ok(&words) && words.s && !(d->ignored && d->ignored(d, words.s))) {
        if (d->on_event)
            d->on_event(d, e);
        if (d->verbose)
            buf_fmt(&line, "%s: %s\n", d->name, words.s);
    }
    buf_free(&words);
    exit_write(STDERR_FILENO, &line);
}

static void on_last_words(void *arg, const struct launch_end *end)
{
    struct compat *d = arg;
    struct buf hint = {0};
    if (end->status && program_mounts_hint(&d->mounts, d->name, &hint))
        exit_write(STDERR_FILENO, &hint);
}

static void on_input(void *arg)
{
    struct compat *d = arg;
    if (d->on_input)
        d->on_input(d);
}

static void report_policy(void *arg, const struct sbpl_unit *unit, const struct bk_err *err)
{
    const struct compat *d = arg;
    struct buf text = {0};
    if (!unit->diags.errors) {
        compat_report(d->name, d->run.policy.graph ? d->refused : NULL, err);
        return;
    }
    buf_fmt(&text, "%s: ", d->name);
    load_findings(unit, &text);
    exit_write(STDERR_FILENO, &text);
}

int compat_init(struct compat *d, const char *name, struct bk_err *err)
{
    *d = (struct compat){.name = name};
    d->spec = (struct run_spec){
        .launch.cwd = d->cwd,
        /* a container's PID 1 would inherit what is left behind */
        .launch.leave_judge = getppid() != 1,
        .launch.give_stdio = true,
        .plan.no_masks = true, /* scripts test with stat() and expect an error */
        .debug = debug_line,
        .launch.on_event = on_event,
        .launch.on_last_words = on_last_words,
        .complain = report_policy,
        .launch.arg = d,
    };
    return getcwd(d->cwd, sizeof(d->cwd)) ? 0 : err_sys(err, "cannot find the working directory");
}

static void __attribute__((noreturn)) finish(struct compat *d, const struct launch_end *end)
{
    if (d->ending)
        d->ending(d, end);
    run_clean(&d->run);
    on_last_words(d, end);
    bool signal = d->signals_as_status && WIFSIGNALED(end->status);
    int status = signal ? 128 + WTERMSIG(end->status) : exit_as(end);
    /* The kernel frees the rest faster than we could. */
    fflush(NULL);
    _exit(status);
}

static int assemble(struct compat *d, struct bk_err *err)
{
    struct policy_request q = {.cwd = d->cwd, .base = d->base};
    d->private_tmpdir.lock = -1;
    if (!d->spec.bare) {
        if (tmpdir_name(&d->private_tmpdir, err) < 0)
            return -1;
        d->spec.private_tmpdir = &d->private_tmpdir;
        q.tmpdir = d->private_tmpdir.path;
    }
    if (policy_assemble(&q, &d->policy, err) < 0)
        return -1;
    run_spec_use(&d->spec, &d->policy);
    return 0;
}

int compat_run(struct compat *d, struct launch_end *end, struct bk_err *err)
{
    *end = (struct launch_end){0};
    if (d->base.name && assemble(d, err) < 0) {
        compat_report(d->name, NULL, err);
        end->step = STEP_POLICY;
        return -1;
    }
    if (run_open(&d->run, &d->spec, false, err) < 0) {
        end->step = STEP_POLICY;
        report_policy(d, &d->run.policy.unit, err);
        run_close(&d->run);
        return -1;
    }
    d->spec.launch.on_input = d->on_input ? on_input : NULL;
    if (d->opened)
        d->opened(d);
    if (run_go(&d->run, end, err) == 0)
        finish(d, end);
    /* the judge compiles shipped and generated texts, which are valid; a command that may stay
     * behind has its policy compiled here */
    d->compiled = d->run.policy.graph || (d->run.policy.shipped && !d->spec.may_leave);
    run_close(&d->run);
    return -1;
}
