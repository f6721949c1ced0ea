/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* buckle_apply(): checks everything that can go wrong before it restricts anything
 * (kernel/launch/apply-self.h). */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "api/apply-policy.h"
#include "base/own.h"
#include "base/proc-text.h"
#include "kernel/launch/apply-self.h"
#include "run/on-linux/run-kernel.h"

struct work {
    struct apply_policy own;
    struct mounts_view mounts;
    struct plan plan;
    bool planned;
};

static void work_free(struct work **w)
{
    if (!*w)
        return;
    if ((*w)->planned)
        plan_free(&(*w)->plan);
    apply_policy_free(&(*w)->own);
    mounts_free(&(*w)->mounts.now);
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

static int make_plan(struct work *w, struct bk_err *err)
{
    const struct run_spec *s = &w->own.spec;
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
    if (plan_make(w->own.policy.graph, &opt, &host, &w->plan, err) < 0)
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
        if (check_process(&err) == 0 && apply_policy_compile(&w->own, policy, &err) == 0 &&
            make_plan(w, &err) == 0)
            result = apply_process(&w->plan, w->own.policy.graph, report_fd, &half, &err);
    }
    if (result == 0)
        return 0;
    api_error(error, &err, w ? apply_policy_text(&w->own) : NULL);
    api_error_is_half(error, half);
    return -1;
}
