/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* From a caller's command to a policy (policy/assemble.h) and a spec. */

#include <stdio.h>
#include <string.h>

#include "api/command-options.h"
#include "run/run-policy.h"
#include "run/run.h"
#include "settings/flag-rule.h"
#include "vocab/rule-words.h"

/* ---- the policy ---- */

static int make_rules(struct api_policy *p, const struct buckle_command *c, bool shipped,
                      struct policy_request *q, struct bk_err *err)
{
    for (size_t i = 0; i < c->rules.n; i++) {
        const struct api_pair *r = &c->rules.at[i];
        if (!rule_word_find(r->key))
            return err_set(err, BK_E_INPUT, "there is no rule %.80s", r->key);
        if (rule_write(r->key, r->value, q->cwd, shipped, &p->rules, &p->links, err) < 0)
            return -1;
    }
    q->rules = (struct run_source){.kind = RUN_TEXT,
                                   .from = SOURCE_FLAG,
                                   .name = "<rules>",
                                   .text = p->rules.s,
                                   .n = p->rules.n,
                                   .apart = !shipped,
                                   .links = p->links.s,
                                   .nlinks = p->links.n};
    return 0;
}

/* As many texts of the caller's as fit. Returns how many there are. */
static size_t list_texts(const struct buckle_command *c, struct run_source out[POLICY_TEXTS])
{
    size_t n = 0;
    for (; n < c->texts.n && n < POLICY_TEXTS; n++)
        out[n] = (struct run_source){.kind = RUN_TEXT,
                                     .name = c->texts.at[n].key,
                                     .text = c->texts.at[n].value,
                                     .n = c->texts.at[n].n};
    return c->texts.n;
}

int api_policy_make(struct api_policy *p, const struct buckle_command *c, const char *cwd,
                    const char *tmpdir, struct bk_err *err)
{
    const struct named_settings named = {"<settings>", c->settings, c->nsettings};
    struct run_source texts[POLICY_TEXTS];
    struct policy_request q = {.cwd = cwd,
                               .tmpdir = tmpdir,
                               .needs_settings = c->settings || c->found,
                               .find_settings = c->found,
                               .named = &named,
                               .nnamed = c->settings != NULL,
                               .texts = texts,
                               .ntexts = list_texts(c, texts),
                               .wants_userns = c->flags[BUCKLE_ALLOW_USERNS]};
    if (c->profile && q.needs_settings)
        return err_set(err, BK_E_INPUT, "choose either a profile or settings, not both");
    if (c->profile || !c->texts.n)
        q.base = run_named_profile(c->profile ? c->profile : "default");
    bool shipped = q.needs_settings || (q.base.name && source_is_shipped(&q.base));
    if (make_rules(p, c, shipped, &q, err) < 0)
        return -1;
    return policy_assemble(&q, &p->assembly, err);
}

void api_policy_free(struct api_policy *p)
{
    assembly_free(&p->assembly);
    buf_free(&p->rules);
    buf_free(&p->links);
}

/* ---- the rest ---- */

static const struct sbpl_param *make_params(const struct buckle_command *c, struct arena *a)
{
    struct sbpl_param *params = arena_array(a, c->params.n + 1, sizeof(*params));
    for (size_t i = 0; params && i < c->params.n; i++)
        params[i] = (struct sbpl_param){c->params.at[i].key, c->params.at[i].value};
    return params;
}

/* The caller's variables come first, and win. */
static const char **make_env(const struct buckle_command *c, const struct api_policy *p,
                             struct arena *a, size_t *n)
{
    const struct words *settings = &p->assembly.result.env;
    size_t theirs = p->assembly.by_settings ? settings->n : 0;
    const char **env = arena_array(a, theirs + c->env.n + 1, sizeof(*env));
    *n = theirs + c->env.n;
    for (size_t i = 0; env && i < theirs; i++)
        env[c->env.n + i] = settings->at[i];
    for (size_t i = 0; env && i < c->env.n; i++) {
        size_t room = strlen(c->env.at[i].key) + c->env.at[i].n + 2;
        char *one = arena_alloc(a, room);
        if (!one)
            return NULL;
        snprintf(one, room, "%s=%s", c->env.at[i].key, c->env.at[i].value);
        env[i] = one;
    }
    return env;
}

int api_spec(const struct buckle_command *c, const struct api_policy *p, struct arena *a,
             const char *cwd, struct run_spec *out, struct bk_err *err)
{
    size_t nenv;
    const struct sbpl_param *params = make_params(c, a);
    const char **env = make_env(c, p, a, &nenv);
    if (!params || !env)
        return err_nomem(err);
    *out = (struct run_spec){.params = params,
                             .nparams = c->params.n,
                             .launch.argv = (char *const *)c->argv,
                             .launch.cwd = cwd,
                             .keep_env = c->keep_env.at,
                             .nkeep_env = c->keep_env.n,
                             .set_env = env,
                             .nset_env = nenv,
                             .whole_env = c->flags[BUCKLE_WHOLE_ENV],
                             .launch.keep_fds = c->keep_fds,
                             .launch.nkeep = c->nkeep_fds,
                             .plan.watch_net = c->flags[BUCKLE_WATCH_NET],
                             .plan.updatable = c->flags[BUCKLE_UPDATABLE],
                             .plan.grantable = c->flags[BUCKLE_GRANTABLE],
                             .plan.accept_weaker = c->flags[BUCKLE_ACCEPT_WEAKER],
                             .plan.keep_userns = c->flags[BUCKLE_ALLOW_USERNS],
                             .plan.strict_reads = c->flags[BUCKLE_STRICT_READS],
                             .launch.max_memory = c->max_memory,
                             .launch.max_procs = c->max_procs,
                             .launch.timeout_ms = c->timeout_ms,
                             .launch.wait_all = c->flags[BUCKLE_WAIT_ALL],
                             .launch.prepared = run_usual_layers,
                             .launch.ask_ms = c->ask_ms};
    run_spec_use(out, &p->assembly);
    return 0;
}
