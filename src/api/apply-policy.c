/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "api/apply-policy.h"

#include <stdlib.h>

#include "run/own-rules.h"

/* TMPDIR is the working directory unless one is named, because no process is left to remove it. */
static int find_places(struct apply_policy *p, const struct buckle_command *c, struct bk_err *err)
{
    const char *cwd = c->directory ? c->directory : ".";
    if (!realpath(cwd, p->cwd))
        return err_sys(err, "%s", cwd);
    if (!realpath(c->tmpdir ? c->tmpdir : p->cwd, p->tmpdir))
        return err_sys(err, "%s", c->tmpdir);
    return 0;
}

int apply_policy_compile(struct apply_policy *p, const struct buckle_command *c, struct bk_err *err)
{
    arena_init(&p->arena, 16 << 20);
    if (find_places(p, c, err) < 0 ||
        api_policy_make(&p->assembled, c, p->cwd, p->tmpdir, err) < 0 ||
        api_spec(c, &p->assembled, &p->arena, p->cwd, &p->spec, err) < 0)
        return -1;
    p->gathered = true;
    if (run_policy_link_targets(&p->targets, &p->spec, err) < 0 ||
        own_rules(p->cwd, &p->own, err) < 0 ||
        run_policy_gather(&p->policy, &p->spec, p->tmpdir, &p->own, err) < 0)
        return -1;
    run_policy_add_link_targets(&p->policy, &p->targets);
    return run_policy_compile(&p->policy, err);
}

void apply_policy_free(struct apply_policy *p)
{
    if (p->gathered)
        run_policy_free(&p->policy);
    link_targets_free(&p->targets);
    api_policy_free(&p->assembled);
    buf_free(&p->own);
    arena_free(&p->arena);
}

const struct sbpl_unit *apply_policy_text(const struct apply_policy *p)
{
    return p->gathered ? &p->policy.unit : NULL;
}
