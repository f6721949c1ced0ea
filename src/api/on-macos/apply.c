/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* buckle_apply() with Seatbelt: the policy is compiled and flattened, then the process confines
 * itself. The kernel does so for all its threads. */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/command-options.h"
#include "base/own.h"
#include "run/own-rules.h"
#include "run/run-policy.h"
#include "run/run.h"
#include "system/seatbelt.h"

struct work {
    char cwd[PATH_MAX], tmpdir[PATH_MAX];
    struct arena arena;
    struct api_policy assembled;
    struct run_policy policy;
    struct buf own, profile;
    struct run_spec spec;
    struct link_targets targets;
    bool gathered;
};

static void work_free(struct work **w)
{
    if (!*w)
        return;
    if ((*w)->gathered)
        run_policy_free(&(*w)->policy);
    link_targets_free(&(*w)->targets);
    api_policy_free(&(*w)->assembled);
    buf_free(&(*w)->own);
    buf_free(&(*w)->profile);
    arena_free(&(*w)->arena);
    free(*w);
}
#define OWN_work work_free

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
    const struct sbpl_flatten_options plain = {0};
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
    if (run_policy_compile(&w->policy, err) < 0)
        return -1;
    if (run_filters_hosts(w->policy.graph)) {
        err_set(err, BK_E_INPUT, "a process cannot apply a policy with names of hosts to itself");
        err_hint(err, "run a command under it instead: buckle_start()");
        return -1;
    }
    return sbpl_flatten(&w->policy.unit, &plain, &w->profile, err);
}

static int enter(const struct work *w, int report_fd, struct bk_err *err)
{
    char why[256];
    if (report_fd >= 0)
        return err_set(err, BK_E_INPUT, "macOS reports denials to the system log only");
    if (!buf_ok(&w->profile))
        return err_nomem(err);
    if (!seatbelt_can_enter())
        return err_set(err, BK_E_SYSTEM, "a process cannot confine itself on this system");
    if (seatbelt_enter(w->profile.s, why, sizeof(why)) < 0)
        return err_set(err, BK_E_SYSTEM, "macOS refuses the profile: %s", why);
    return 0;
}

int buckle_apply(const struct buckle_command *policy, int report_fd, struct buckle_error **error)
{
    struct bk_err err;
    OWN(work) struct work *w = calloc(1, sizeof(*w));
    int result = -1;
    if (!w) {
        err_nomem(&err);
    } else {
        arena_init(&w->arena, 16 << 20);
        if (compile(w, policy, &err) == 0)
            result = enter(w, report_fd, &err);
    }
    if (result == 0)
        return 0;
    api_error(error, &err, w && w->gathered ? &w->policy.unit : NULL);
    return -1;
}
