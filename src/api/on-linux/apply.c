/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* buckle_apply(): checks everything that can go wrong before it restricts anything
 * (kernel/launch/apply-self.h). */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "api/command-options.h"
#include "base/own.h"
#include "base/proc-text.h"
#include "kernel/launch/apply-self.h"
#include "run/on-linux/run-kernel.h"
#include "run/own-rules.h"
#include "run/run-policy.h"

struct work {
    char cwd[PATH_MAX], tmpdir[PATH_MAX];
    struct arena arena;
    struct api_policy assembled;
    struct run_policy policy;
    struct buf own; /* the rules that end the policy */
    struct run_spec spec;
    struct link_targets targets;
    struct mounts_view mounts;
    struct plan plan;
    bool gathered, planned;
};

static void work_free(struct work **w)
{
    if (!*w)
        return;
    if ((*w)->planned)
        plan_free(&(*w)->plan);
    if ((*w)->gathered)
        run_policy_free(&(*w)->policy);
    link_targets_free(&(*w)->targets);
    mounts_free(&(*w)->mounts.now);
    api_policy_free(&(*w)->assembled);
    buf_free(&(*w)->own);
    arena_free(&(*w)->arena);
    free(*w);
}
#define OWN_work work_free

/* Landlock restricts one thread; the others would stay free. */
static int check_process(struct bk_err *err)
{
    char text[4096];
    if (proc_read(-1, text, sizeof(text), "/proc/self/status") < 0)
        return err_sys(err, "/proc/self/status");
    const char *threads = proc_field(text, "\nThreads:");
    if (!threads || strtol(threads, NULL, 10) != 1) {
        err_set(err, BK_E_INPUT, "a process with several threads cannot be sandboxed from inside");
        err_hint(err, "call buckle_apply() before you start the first thread");
        return -1;
    }
    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1 && geteuid() != 0)
        return err_set(err, BK_E_INPUT, "this process is not dumpable, so no judge can inspect it");
    return 0;
}

/* TMPDIR is the working directory unless one is named, because no process is left to remove it. */
static int find_places(struct work *w, const struct buckle_command *c, struct bk_err *err)
{
    const char *cwd = c->directory ? c->directory : ".";
    if (!realpath(cwd, w->cwd))
        return err_sys(err, "%s", cwd);
    if (!realpath(c->tmpdir ? c->tmpdir : w->cwd, w->tmpdir))
        return err_sys(err, "%s", c->tmpdir);
    return 0;
}

static int compile(struct work *w, const struct buckle_command *c, struct bk_err *err)
{
    if (find_places(w, c, err) < 0 ||
        api_policy_make(&w->assembled, c, w->cwd, w->tmpdir, err) < 0 ||
        api_spec(c, &w->assembled, &w->arena, w->cwd, &w->spec, err) < 0)
        return -1;
    w->gathered = true;
    if (run_policy_link_targets(&w->targets, &w->spec, err) < 0 ||
        own_rules(w->cwd, &w->own, err) < 0 ||
        run_policy_gather(&w->policy, &w->spec, w->tmpdir, &w->own, err) < 0)
        return -1;
    run_policy_add_link_targets(&w->policy, &w->targets);
    return run_policy_compile(&w->policy, err);
}

static int make_plan(struct work *w, struct bk_err *err)
{
    const struct run_spec *s = &w->spec;
    const char *pretend = getenv("BUCKLE_PRETEND");
    struct host host;
    struct plan_options opt = {.accept_weaker = s->plan.accept_weaker,
                               .keep_userns = s->plan.keep_userns,
                               .strict_reads = s->plan.strict_reads,
                               .no_masks = true,
                               .cwd = s->launch.cwd,
                               .arch = PLAN_NATIVE};
    if (run_mounts(&w->mounts, s, err) < 0)
        return -1;
    opt.mounts = &w->mounts;
    if (host_probe(&host, err) < 0 || (pretend && host_pretend(&host, pretend, err) < 0))
        return -1;
    apply_host(&host);
    if (plan_make(w->policy.graph, &opt, &host, &w->plan, err) < 0)
        return -1;
    w->planned = true;
    const char *why = apply_refuses(&w->plan);
    if (!why)
        return 0;
    err_set(err, BK_E_INPUT, "a process cannot apply this policy to itself: %s", why);
    err_hint(err, "run a command under it instead: buckle_start()");
    return -1;
}

int buckle_apply(const struct buckle_command *policy, int report_fd, struct buckle_error **error)
{
    struct bk_err err;
    bool half = false;
    OWN(work) struct work *w = calloc(1, sizeof(*w));
    int result = -1;
    if (!w) {
        err_nomem(&err);
    } else {
        arena_init(&w->arena, 16 << 20);
        if (check_process(&err) == 0 && compile(w, policy, &err) == 0 && make_plan(w, &err) == 0)
            result = apply_process(&w->plan, w->policy.graph, report_fd, &half, &err);
    }
    if (result == 0)
        return 0;
    api_error(error, &err, w && w->gathered ? &w->policy.unit : NULL);
    api_error_is_half(error, half);
    return -1;
}
