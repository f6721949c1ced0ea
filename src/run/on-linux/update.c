/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Updates the policy of a running command. It is compiled here first: if it doesn't compile, the
 * old policy stays in force, and its plan says what the running sandbox cannot carry. Then its
 * texts go to the processes that enforce it, also those of sandboxes inside this one, which conjoin
 * it with their own. One record for each source:
 *
 * record = kind, who wrote it, whether it is apart, bytes of the name, bytes of the text (u32
 * each), name, text
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "graph/build.h"
#include "kernel/shared/policy-update.h"
#include "run/on-linux/nest.h"
#include "run/run-int.h"
#include "settings/links.h"

enum { SOURCES_MAX = 64 };

struct head {
    uint32_t kind, from, apart, name, text;
};

static void write_source(struct buf *out, const struct run_source *s)
{
    size_t n = s->kind == RUN_TEXT ? s->n : 0;
    struct head h = {(uint32_t)s->kind, (uint32_t)s->from, s->apart, (uint32_t)strlen(s->name) + 1,
                     (uint32_t)n};
    buf_add(out, (const char *)&h, sizeof(h));
    buf_add(out, s->name, h.name);
    buf_add(out, s->text ? s->text : "", n);
}

/* Checks lengths first; the compiler checks the rest. */
static size_t read_sources(const char *at, size_t left, struct run_source *out, size_t cap)
{
    size_t n = 0;
    while (left && n < cap) {
        struct head h;
        if (left < sizeof(h))
            return 0;
        memcpy(&h, at, sizeof(h));
        at += sizeof(h);
        left -= sizeof(h);
        if (h.kind > RUN_TEXT || h.from > SOURCE_OWN || h.name == 0 || h.name > left ||
            h.text > left - h.name || at[h.name - 1])
            return 0;
        out[n] = (struct run_source){
            .from = h.from, .name = at, .text = at + h.name, .n = h.text, .apart = h.apart != 0};
        out[n++].kind = h.kind == RUN_TEXT ? RUN_TEXT : RUN_SHIPPED;
        at += h.name + h.text;
        left -= h.name + h.text;
    }
    return left ? 0 : n;
}

static struct graph *recompile(const struct run *r, const void *bytes, size_t n)
{
    struct link_targets targets = r->targets;
    struct run_source sources[SOURCES_MAX];
    struct run_spec spec = *r->spec;
    OWN(run_policy) struct run_policy policy = {0};
    struct bk_err err;
    spec.sources = sources;
    spec.nsources = read_sources(bytes, n, sources, SOURCES_MAX);
    if (!spec.nsources ||
        run_policy_gather_again(&policy, &r->policy, &spec, &r->own_rules, &err) < 0)
        return NULL;
    run_policy_add_link_targets(&policy, &targets);
    policy.unit.opt.terse = true;
    if (run_policy_compile(&policy, &err) < 0)
        return NULL;
    struct graph *g = policy.graph;
    policy.graph = NULL;
    return g;
}

/* Inside another sandbox, it is the outermost policy that changes. */
struct graph *run_recompile(void *arg, const void *bytes, size_t n)
{
    const struct run *r = arg;
    struct bk_err err;
    if (!r->kernel->around)
        return recompile(r, bytes, n);
    struct graph *around = run_recompile(r->kernel->around, bytes, n);
    struct graph *both = around ? graph_conjoin(r->kernel->inner, around, &err) : NULL;
    graph_free(around);
    return both;
}

/* ---- outside ---- */

/* Plans the new policy to find what has to wait. Refuses one that this host cannot enforce. */
static int list_waits(struct run *r, const struct run_policy *policy, struct buf *waits,
                      struct bk_err *err)
{
    struct plan wanted;
    if (!r->kernel->plan.ncalls && run_plan(r, err) < 0)
        return -1;
    if (plan_make(policy->graph, &r->kernel->options, &r->kernel->host, &wanted, err) < 0)
        return -1;
    plan_waits(&r->kernel->plan, &wanted, waits);
    plan_free(&wanted);
    return 0;
}

static int send_sources(struct run *r, const struct run_source *sources, size_t n,
                        struct bk_err *err)
{
    OWN(buf) struct buf bytes = {0};
    for (size_t i = 0; i < n; i++)
        write_source(&bytes, &sources[i]);
    if (!buf_ok(&bytes))
        return err_nomem(err);
    OWN(fd) int sealed = policy_update_make(bytes.s, bytes.n);
    uint32_t number = (uint32_t)r->nupdated + 1;
    int sent = sealed < 0 ? sealed : launch_update(number, sealed);
    if (sent == 0) {
        nest_update(r, number, sealed);
        return 0;
    }
    errno = -sent;
    return err_sys(err, "cannot update the policy of the running command");
}

static int check_sources(const struct run_source *sources, size_t n, struct bk_err *err)
{
    bool fits = n > 0 && n <= SOURCES_MAX;
    for (size_t i = 0; i < n && fits; i++)
        fits = sources[i].kind != RUN_FILE && !sources[i].imports_files && sources[i].n < INT32_MAX;
    return fits ? 0
                : err_set(err, BK_E_INPUT, "an updated policy must consist of texts, not files");
}

/* Compiles it and finds what has to wait. */
static int try_policy(struct run *r, const struct run_spec *spec, struct run_policy *policy,
                      struct buf *waits, struct bk_err *err)
{
    if (run_policy_gather_again(policy, &r->policy, spec, &r->own_rules, err) < 0)
        return -1;
    run_policy_add_link_targets(policy, &r->targets);
    if (run_policy_word(policy, err) < 0)
        return -1;
    return list_waits(r, policy, waits, err);
}

int run_update(struct run *r, const struct run_source *sources, size_t n, struct buf *waits,
               struct bk_err *err)
{
    struct run_spec spec = *r->spec;
    OWN(run_policy) struct run_policy policy = {0};
    spec.sources = sources;
    spec.nsources = n;
    struct graph **graphs = realloc(r->graphs, (r->nupdated + 2) * sizeof(*graphs));
    if (!graphs)
        return err_nomem(err);
    r->graphs = graphs;
    if (check_sources(sources, n, err) < 0 || try_policy(r, &spec, &policy, waits, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (links_check(policy.graph, sources[i].links, sources[i].nlinks, err) < 0)
            return -1;
    if (send_sources(r, sources, n, err) < 0)
        return -1;
    run_record_policy(r, &policy);
    graphs[++r->nupdated] = policy.graph;
    policy.graph = NULL;
    return 0;
}
