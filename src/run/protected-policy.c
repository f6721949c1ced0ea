/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "run/protected-policy.h"

#include "run/own-rules.h"

int protected_policy_open(struct protected_policy *p, const char *cwd, struct bk_err *err)
{
    static const char tmpdir[] = "/nonexistent"; /* a run's own is no part of any world */
    p->source = (struct run_source){.kind = RUN_SHIPPED, .name = "default"};
    p->spec = (struct run_spec){.launch.cwd = cwd, .sources = &p->source, .nsources = 1};
    if (run_policy_link_targets(&p->targets, &p->spec, err) < 0 ||
        own_rules(cwd, &p->own, err) < 0 ||
        run_policy_gather(&p->policy, &p->spec, tmpdir, &p->own, err) < 0)
        return -1;
    run_policy_add_link_targets(&p->policy, &p->targets);
    return run_policy_compile(&p->policy, err);
}

void protected_policy_close(struct protected_policy *p)
{
    run_policy_free(&p->policy);
    link_targets_free(&p->targets);
    buf_free(&p->own);
}
