/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "run/on-linux/policy-cache.h"

#include <string.h>

#include "base/own.h"
#include "kernel/shared/build-id.h"
#include "run/on-linux/kept-files.h"
#include "run/on-linux/run-kernel.h"

/* What an image holds. */
struct kept {
    const struct graph *graph;
    const struct plan *plan;
};

/* ---- what they are made from ---- */

static void put_mounts(struct buf *out, const struct mounts_view *v)
{
    buf_sized(out, v->folding, v->nfolding * sizeof(v->folding[0]));
    for (size_t i = 0; i < v->now.n; i++) {
        struct mount_at m = v->now.list[i];
        buf_sized(out, m.root, m.root_len);
        buf_sized(out, m.at, m.at_len);
        m.root = m.at = NULL;
        buf_sized(out, &m, sizeof(m));
    }
}

/* Structures are put as they are, so that a field that is added later counts by itself; a pointer
 * has another value in each run, so forgetting one here means that nothing is ever found. */
bool policy_put_inputs(const struct run *r, const struct host *host, struct buf *out)
{
    size_t n = 0;
    const void *program = build_id(&n);
    struct plan_options plain = r->kernel->options;
    if (!program || run_is_stacked(r->spec) || !sbpl_put_inputs(&r->policy.unit, out))
        return false;
    buf_sized(out, program, n);
    buf_sized(out, plain.cwd, plain.cwd ? strlen(plain.cwd) : 0);
    if (plain.mounts)
        put_mounts(out, plain.mounts);
    plain.cwd = plain.tmpdir = NULL; /* TMPDIR is a parameter of the policy */
    plain.mounts = NULL;
    plain.terse = false;
    buf_sized(out, &plain, sizeof(plain));
    buf_sized(out, host, sizeof(*host));
    return buf_ok(out);
}

/* Whether a later run can have the same policy: not if the name of its TMPDIR is random. Inside
 * another sandbox, the command chose the variables that name the folder. */
static bool is_worth_keeping(const struct run *r)
{
    return r->policy.shipped && !r->spec->may_leave && !r->kernel->around &&
           (r->spec->bare || r->spec->tmpdir || r->private_tmpdir.number);
}

bool policy_cache_inputs(const struct run *r, struct buf *out)
{
    struct run_kernel *k = r->kernel;
    bool before = k->options.no_search;
    k->options.no_search = false; /* the search decides that */
    bool put = is_worth_keeping(r) && policy_put_inputs(r, &k->host, out);
    k->options.no_search = before;
    return put;
}

/* ---- files ---- */

static const char in_folder[] = "policies";

bool policy_cache_load(struct run *r)
{
    OWN(buf) struct buf inputs = {0};
    if (!is_worth_keeping(r) || r->policy.graph || !policy_put_inputs(r, &r->kernel->host, &inputs))
        return false;
    const struct kept *kept = kept_load(in_folder, &inputs);
    if (!kept)
        return false;
    r->policy.graph = graph_unpack(kept->graph);
    if (r->policy.graph)
        plan_unpack(kept->plan, &r->kernel->options, &r->kernel->plan);
    return r->policy.graph != NULL;
}

/* Compiles and plans, and copies both into the image. */
static const void *make_kept(struct arena *arena, void *arg)
{
    struct run *r = arg;
    struct plan plan;
    struct bk_err err;
    struct plan_options opt = r->kernel->options;
    struct kept *root = arena_new(arena, struct kept);
    opt.terse = true;
    opt.tmpdir = run_tmpdir(r);
    if (!root || run_policy_compile(&r->policy, &err) < 0 ||
        plan_make(r->policy.graph, &opt, &r->kernel->host, &plan, &err) < 0)
        return NULL;
    root->graph = graph_pack(r->policy.graph, arena);
    root->plan = plan_pack(&plan, arena);
    plan_free(&plan);
    return root->graph && root->plan ? root : NULL;
}

void policy_cache_save(struct run *r)
{
    OWN(buf) struct buf inputs = {0};
    if (is_worth_keeping(r) && policy_put_inputs(r, &r->kernel->host, &inputs))
        kept_save(in_folder, &inputs, make_kept, r);
}
