/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* There is no agent of ours yet; rules about keys are refused. */

#include "run/ssh-agent.h"

#include "run/run.h"

size_t run_ssh_count(const struct run_spec *s)
{
    return s->nssh + (s->set_ssh ? s->set_ssh->n : 0);
}

int run_ssh_rules(struct run *r, struct bk_err *err)
{
    (void)r;
    (void)err;
    return 0;
}

int run_ssh_prepare(struct run *r, const char **set, struct bk_err *err)
{
    (void)r;
    (void)set;
    return err_set(err, BK_E_INPUT, "ssh: rules about keys need Linux");
}

int run_ssh_start(struct run *r, struct bk_err *err)
{
    (void)r;
    (void)err;
    return 0;
}

void run_ssh_stop(struct run *r)
{
    (void)r;
}
