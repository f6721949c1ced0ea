/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * While the server waits, it keeps one sandbox that needs only a command: a `buckle run --spare`.
 * That run checks by itself, when the command comes, that a new sandbox would be the same. The
 * server drops it after a grant, and when it is old.
 */

#include <unistd.h>

#include "agent/mcp-int.h"
#include "base/clock.h"
#include "base/own.h"

enum { OLD_MS = 10 * 60 * 1000, MOMENT_MS = 3 };

void mcp_spare_drop(void *arg)
{
    struct mcp *m = arg;
    if (m->spare.used)
        job_free(&m->spare.job);
    m->spare.used = false;
}

void mcp_spare_prepare(struct mcp *m)
{
    struct bk_err err;
    const struct call any = {.sandboxed = true};
    struct mcp_spare *s = &m->spare;
    s->wanted_ms = 0;
    if (s->used || m->o->planning || m->o->no_spare || !m->can_wait)
        return;
    OWN(fd) int session = session_admit_spare(&m->session, &s->number, &err);
    struct job_spec spec = mcp_job_spec(m, &any, session);
    spec.spare = true;
    s->used = session >= 0 && job_start(&s->job, &spec, &err) == 0;
    s->since_ms = now_ms();
}

/* The client reads its answer first: with few processors, starting a process would delay that. */
void mcp_spare_soon(struct mcp *m)
{
    m->spare.wanted_ms = now_ms() + MOMENT_MS;
}

int mcp_spare_wait(const struct mcp *m)
{
    uint64_t now = now_ms(), wanted = m->spare.wanted_ms;
    return !wanted ? -1 : wanted > now ? (int)(wanted - now) : 0;
}

void mcp_spare_tick(struct mcp *m)
{
    struct mcp_spare *s = &m->spare;
    if (s->used && (now_ms() - s->since_ms > OLD_MS || job_has_ended(&s->job)))
        mcp_spare_drop(m);
    if (mcp_spare_wait(m) == 0)
        mcp_spare_prepare(m);
}

bool mcp_spare_use(struct mcp *m, struct call *c)
{
    struct mcp_spare *s = &m->spare;
    if (!c->sandboxed || !s->used || !job_is_ready(&s->job))
        return false;
    struct job_spec spec = mcp_job_spec(m, c, -1);
    bool asks = m->session.client_asks || m->session.ask.nwatchers > 0;
    if (job_release(&s->job, &spec, asks) < 0) {
        mcp_spare_drop(m);
        return false;
    }
    session_use_spare(&m->session, c->command, &s->number);
    c->number = s->number;
    c->job = s->job;
    s->used = false;
    return true;
}
