/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* buckle_apply() with Seatbelt: the policy is compiled and flattened, then the process confines
 * itself. The kernel does so for all its threads. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/apply-policy.h"
#include "base/own.h"
#include "run/run.h"
#include "system/seatbelt.h"

struct work {
    struct apply_policy own;
    struct buf profile;
};

static void work_free(struct work **w)
{
    if (!*w)
        return;
    apply_policy_free(&(*w)->own);
    buf_free(&(*w)->profile);
    free(*w);
}
#define OWN_work work_free

static int compile(struct work *w, const struct buckle_command *c, struct bk_err *err)
{
    const struct sbpl_flatten_options plain = {0};
    if (apply_policy_compile(&w->own, c, err) < 0)
        return -1;
    if (run_filters_hosts(w->own.policy.graph)) {
        err_set(err, BK_E_INPUT, "a process cannot apply a policy with names of hosts to itself");
        err_hint(err, "run a command under it instead: buckle_start()");
        return -1;
    }
    return sbpl_flatten(&w->own.policy.unit, &plain, &w->profile, err);
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
        if (compile(w, policy, &err) == 0)
            result = enter(w, report_fd, &err);
    }
    if (result == 0)
        return 0;
    api_error(error, &err, w ? apply_policy_text(&w->own) : NULL);
    return -1;
}
