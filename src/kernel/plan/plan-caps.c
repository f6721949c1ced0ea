/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Capabilities in the plan. An ordinary user has none to keep. Root keeps those for work on files,
 * without which it could not manage its own files, and those that the user asks for by name.
 */

#include "command/capabilities.h"
#include "kernel/plan/plan-int.h"

static int ask_for(struct plan *p, const struct cap *c, struct bk_err *err)
{
    if (!p->host.root) {
        err_set(err, BK_E_INPUT, "capability %s: only root has capabilities to keep", c->name);
        return -1;
    }
    if (!(p->host.caps & cap_bit(c))) {
        err_set(err, BK_E_SYSTEM, "capability %s: this process does not have it", c->name);
        err_hint(err, "a container has few of them; with Docker: docker run --cap-add %s", c->name);
        return -1;
    }
    if (c->kind == CAPABILITY_IS_IDLE)
        plan_note(p, "capability %s changes nothing: the calls that need it are still refused",
                  c->name);
    if (c->kind != CAPABILITY_IS_WEAKENS)
        return 0;
    if (p->opt.accept_weaker) {
        plan_note(p, "weaker: capability %s, so %s", c->name, c->words);
        return 0;
    }
    err_set(err, BK_E_INPUT, "capability %s weakens the sandbox: %s", c->name, c->words);
    err_remedy(err, REMEDY_ACCEPT_CAPABILITY);
    return -1;
}

int plan_caps(struct plan *p, struct bk_err *err)
{
    for (size_t i = 0; i < caps_count; i++)
        if ((p->opt.caps & cap_bit(&caps_table[i])) && ask_for(p, &caps_table[i], err) < 0)
            return -1;
    p->caps = p->host.root ? (caps_kept() | p->opt.caps) & p->host.caps & ~p->opt.caps_given_up : 0;
    return 0;
}
