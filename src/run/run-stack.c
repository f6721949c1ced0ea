/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What is around the profile of a run, as on macOS: entitlements of the program, extensions that
 * the process holds, and platform profiles, which must also allow what it does. All of it is read
 * once, before the command starts. Platform profiles become one graph, which is conjoined with each
 * policy that the run gets.
 */

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "entitlements/entitlements.h"
#include "graph/build.h"
#include "profile/profile.h"
#include "run/run-policy.h"

/* Takes the place of *g. */
static int replace(struct graph **g, struct graph *by)
{
    if (!by)
        return -1;
    graph_free(*g);
    *g = by;
    return 0;
}

static int hold_extensions(const struct run_policy *p, struct graph **g, struct bk_err *err)
{
    const struct run_spec *s = p->stack;
    return s->nextensions ? replace(g, graph_extend(*g, s->extensions, s->nextensions, err)) : 0;
}

/* Compiles a platform profile and adds it to what is around. */
static int add_platform(struct run_policy *p, struct sbpl_unit *u, bool fold, struct bk_err *err)
{
    struct graph *g = NULL;
    u->opt.fold_case = fold;
    if (sbpl_compile(u, &g, err) < 0 || hold_extensions(p, &g, err) < 0) {
        graph_free(g);
        return -1;
    }
    if (!p->around) {
        p->around = g;
        return 0;
    }
    int r = replace(&p->around, graph_conjoin(p->around, g, err));
    graph_free(g);
    return r;
}

static int add_platform_text(struct sbpl_unit *u, const char *name, struct bk_err *err)
{
    if ((profile_is_path(name) ? profile_add_file : profile_add_shipped)(u, name, err) < 0)
        return -1;
    sbpl_mark_last(u, SOURCE_PLATFORM); /* no flag lifts what it denies */
    return 0;
}

static int add_platforms(struct run_policy *p, const struct run_spec *spec,
                         const struct sbpl_options *opt, struct bk_err *err)
{
    OWN(mem) struct sbpl_unit *units = calloc(spec->nplatforms + 1, sizeof(*units));
    int result = units ? 0 : err_nomem(err);
    bool fold = false;
    size_t n = 0;
    for (; result == 0 && n < spec->nplatforms; n++) {
        sbpl_unit_init(&units[n], opt);
        result = add_platform_text(&units[n], spec->platforms[n], err);
        fold |= units[n].opt.fold_case; /* a compiled one that minds no case: then none does */
    }
    for (size_t i = 0; result == 0 && i < n; i++)
        result = add_platform(p, &units[i], fold, err);
    for (size_t i = 0; units && i < n; i++)
        sbpl_unit_free(&units[i]);
    p->fold = fold;
    return result;
}

int run_stack_read(struct run_policy *p, const struct run_spec *spec, struct sbpl_options *opt,
                   struct bk_err *err)
{
    p->stack = spec;
    if (spec->entitlements) {
        if (entitlements_read(spec->entitlements, &p->entitlements, err) < 0)
            return -1;
        opt->entitlements = spec->entitlements;
        opt->entitlements_json = p->entitlements.s ? p->entitlements.s : "{}";
    }
    if (spec->nplatforms && add_platforms(p, spec, opt, err) < 0)
        return -1;
    opt->fold_case = p->fold;
    p->owns_around = true;
    return 0;
}

void run_stack_share(struct run_policy *p, const struct run_policy *first, struct sbpl_options *opt)
{
    p->stack = first->stack;
    p->around = first->around;
    p->fold = opt->fold_case = first->fold;
    opt->entitlements = first->unit.opt.entitlements;
    opt->entitlements_json = first->unit.opt.entitlements_json;
}

bool run_is_stacked(const struct run_spec *spec)
{
    return spec->entitlements || spec->nplatforms || spec->nextensions;
}

int run_stack_apply(struct run_policy *p, struct bk_err *err)
{
    if (!p->stack || (!p->around && !p->stack->nextensions))
        return 0;
    if (hold_extensions(p, &p->graph, err) < 0)
        return -1;
    if (p->around &&
        graph_options_of(p->graph)->fold_case != graph_options_of(p->around)->fold_case)
        return err_set(
            err, BK_E_INPUT,
            "the profile minds upper and lower case otherwise than the platform profile");
    return p->around ? replace(&p->graph, graph_conjoin(p->graph, p->around, err)) : 0;
}

void run_stack_free(struct run_policy *p)
{
    if (p->owns_around)
        graph_free(p->around);
    buf_free(&p->entitlements);
}
