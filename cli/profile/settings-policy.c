/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A class that settings allow leaves no trace in the graph. So the class of a name comes from a
 * program that has nothing else: protected.sb alone.
 */

#include "cli/profile/settings-policy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "profile/profile.h"

static void init_unit(struct settings_policy *p, struct sbpl_unit *unit)
{
    struct sbpl_options opt = {.os = VOCAB_OS_ANY, .params = p->params, .nparams = 1};
    const char *home = getenv("HOME");
    p->params[0] = (struct sbpl_param){"CWD", p->cwd};
    if (home && realpath(home, p->home))
        p->params[opt.nparams++] = (struct sbpl_param){"HOME", p->home};
    if (geteuid() != 0)
        p->params[opt.nparams++] = (struct sbpl_param){"ORDINARY", "1"};
    sbpl_unit_init(unit, &opt);
}

static int add_sources(struct settings_policy *p, struct bk_err *err)
{
    for (size_t i = 0; i < p->policy.nsources; i++) {
        const struct run_source *s = &p->policy.sources[i];
        int added =
            s->kind == RUN_TEXT
                ? (s->apart ? sbpl_add_apart : sbpl_add_text)(&p->unit, s->name, s->text, s->n, err)
                : profile_add_shipped(&p->unit, s->name, err);
        if (added < 0)
            return -1;
    }
    return 0;
}

int settings_policy_load(struct settings_policy *p, struct bk_err *err)
{
    *p = (struct settings_policy){0};
    bool here = getcwd(p->cwd, sizeof(p->cwd)) != NULL;
    init_unit(p, &p->unit);
    if (!here)
        return err_sys(err, "cannot find the working directory");
    struct policy_request q = {
        .cwd = p->cwd, .base = {.kind = RUN_SHIPPED, .name = "default"}, .find_settings = true};
    if (policy_assemble(&q, &p->policy, err) < 0 || add_sources(p, err) < 0 ||
        sbpl_compile(&p->unit, &p->graph, err) < 0)
        return -1;
    p->cache = graph_cache_new(p->graph);
    return p->cache ? 0 : err_nomem(err);
}

void settings_policy_free(struct settings_policy *p)
{
    graph_cache_free(p->cache);
    graph_free(p->graph);
    sbpl_unit_free(&p->unit);
    assembly_free(&p->policy);
}

enum protected_class settings_policy_class(const struct settings_policy *p,
                                           const struct graph_query *q)
{
    static const char text[] = "(version 1)\n(allow default)\n(import \"protected.sb\")\n";
    OWN(settings_policy) struct settings_policy alone = {0};
    struct bk_err err;
    memcpy(alone.cwd, p->cwd, sizeof(alone.cwd));
    init_unit(&alone, &alone.unit);
    if (sbpl_add_text(&alone.unit, "<protected>", text, sizeof(text) - 1, &err) < 0 ||
        sbpl_compile(&alone.unit, &alone.graph, &err) < 0 ||
        !(alone.cache = graph_cache_new(alone.graph)))
        return PROTECTED_NO_CLASS;
    struct graph_verdict v = graph_eval(alone.graph, alone.cache, q);
    return v.allow ? PROTECTED_NO_CLASS
                   : protected_class_of_message(graph_rule_message(alone.graph, v.rule));
}
