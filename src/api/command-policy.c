/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* From what a caller said to what a run takes. The order of the sources is the order of their say:
 * profile or settings, texts, rules, and last what the machine's policy holds against all of them.
 */

#include <stdio.h>
#include <string.h>

#include "api/command-options.h"
#include "run/run-policy.h"
#include "settings/flag-rule.h"
#include "vocab/rule-words.h"

/* ---- the policy ---- */

static void add_text(struct api_policy *p, const char *name, const struct buf *text, bool last,
                     bool apart)
{
    if (text->n)
        p->sources[p->n++] = (struct run_source){.kind = RUN_TEXT,
                                                 .name = name,
                                                 .text = text->s,
                                                 .n = text->n,
                                                 .last = last,
                                                 .apart = apart};
}

static int from_settings(struct api_policy *p, const struct buckle_command *c, const char *cwd,
                         const char *tmpdir, struct bk_err *err)
{
    const struct access_target target = access_target_here();
    struct settings *s = &p->settings;
    p->has_settings = true;
    if (settings_init(s, cwd, err) < 0 ||
        (c->found ? settings_add_found : settings_add_policy)(s, err) < 0)
        return -1;
    if (c->settings &&
        settings_add_text(s, LAYER_FLAGS, "<settings>", c->settings, c->nsettings, err) < 0)
        return -1;
    if (settings_add_defaults(s, err) < 0 || settings_build(s, tmpdir, &p->result, err) < 0)
        return -1;
    p->result.policy.as_shipped = true;
    if (access_sbpl(&p->result.policy, &target, &p->text, err) < 0)
        return -1;
    add_text(p, "<settings>", &p->text, false, false);
    p->sources[0].protects = true;
    p->sources[0].links = p->result.policy.links;
    p->sources[0].nlinks = p->result.policy.nlinks;
    return 0;
}

static int add_texts(struct api_policy *p, const struct buckle_command *c, struct bk_err *err)
{
    enum { OTHERS = 3 }; /* the profile, rules, caps */
    if (c->texts.n > POLICY_SOURCES - OTHERS)
        return err_set(err, BK_E_LIMIT, "a policy of more than %d texts", POLICY_SOURCES - OTHERS);
    for (size_t i = 0; i < c->texts.n; i++)
        p->sources[p->n++] = (struct run_source){.kind = RUN_TEXT,
                                                 .name = c->texts.at[i].key,
                                                 .text = c->texts.at[i].value,
                                                 .n = c->texts.at[i].n};
    return 0;
}

static int add_rules(struct api_policy *p, const struct buckle_command *c, const char *cwd,
                     struct bk_err *err)
{
    bool shipped = p->sources[0].kind == RUN_SHIPPED || p->sources[0].protects;
    for (size_t i = 0; i < c->rules.n; i++) {
        const struct api_pair *r = &c->rules.at[i];
        if (!rule_word_find(r->key))
            return err_set(err, BK_E_INPUT, "no rule is called %.80s", r->key);
        if (rule_write(r->key, r->value, cwd, shipped, &p->rules, &p->links, err) < 0)
            return -1;
    }
    add_text(p, "<rules>", &p->rules, false, !shipped);
    if (p->rules.n) {
        p->sources[p->n - 1].links = p->links.s;
        p->sources[p->n - 1].nlinks = p->links.n;
    }
    return 0;
}

/* What settings close no rule opens again, and what the machine's policy closes nobody does. */
static int add_caps(struct api_policy *p, const struct buckle_command *c, const char *cwd,
                    const char *tmpdir, struct bk_err *err)
{
    int made = 0;
    if (!p->has_settings && c->flags[BUCKLE_ALLOW_USERNS] &&
        (settings_init(&p->settings, cwd, err) < 0 || settings_add_policy(&p->settings, err) < 0))
        return -1;
    if (c->flags[BUCKLE_ALLOW_USERNS] && settings_caps_userns(&p->settings, err) < 0)
        return -1;
    if (!p->has_settings)
        made = settings_caps(cwd, tmpdir, &p->caps, err);
    else if (p->n > 1 || c->rules.n || settings_has(&p->settings, LAYER_POLICY))
        made = access_caps_sbpl(&p->result.policy, settings_ceilings(&p->settings), &p->caps, err);
    add_text(p, "<policy>", &p->caps, true, true);
    return made;
}

int api_policy_make(struct api_policy *p, const struct buckle_command *c, const char *cwd,
                    const char *tmpdir, struct bk_err *err)
{
    bool settings = c->settings || c->found;
    if (c->profile && settings)
        return err_set(err, BK_E_INPUT, "a profile and settings are two policies; choose one");
    if (settings && from_settings(p, c, cwd, tmpdir, err) < 0)
        return -1;
    if (!settings && (c->profile || !c->texts.n))
        p->sources[p->n++] = run_named_profile(c->profile ? c->profile : "default");
    if (add_texts(p, c, err) < 0 || add_rules(p, c, cwd, err) < 0)
        return -1;
    return add_caps(p, c, cwd, tmpdir, err);
}

void api_policy_free(struct api_policy *p)
{
    settings_free(&p->settings);
    buf_free(&p->text);
    buf_free(&p->rules);
    buf_free(&p->links);
    buf_free(&p->caps);
}

/* ---- the rest ---- */

static const struct sbpl_param *make_params(const struct buckle_command *c, struct arena *a)
{
    struct sbpl_param *params = arena_array(a, c->params.n + 1, sizeof(*params));
    for (size_t i = 0; params && i < c->params.n; i++)
        params[i] = (struct sbpl_param){c->params.at[i].key, c->params.at[i].value};
    return params;
}

/* What the caller sets comes first, and counts. */
static const char **make_env(const struct buckle_command *c, const struct api_policy *p,
                             struct arena *a, size_t *n)
{
    size_t theirs = p->has_settings ? p->result.env.n : 0;
    const char **env = arena_array(a, theirs + c->env.n + 1, sizeof(*env));
    *n = theirs + c->env.n;
    for (size_t i = 0; env && i < theirs; i++)
        env[c->env.n + i] = p->result.env.at[i];
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
    *out = (struct run_spec){.sources = p->sources,
                             .nsources = p->n,
                             .params = params,
                             .nparams = c->params.n,
                             .argv = (char *const *)c->argv,
                             .cwd = cwd,
                             .keep_env = c->keep_env.at,
                             .nkeep_env = c->keep_env.n,
                             .set_env = env,
                             .nset_env = nenv,
                             .whole_env = c->flags[BUCKLE_WHOLE_ENV],
                             .keep_fds = c->keep_fds,
                             .nkeep_fds = c->nkeep_fds,
                             .watch_net = c->flags[BUCKLE_WATCH_NET],
                             .updatable = c->flags[BUCKLE_UPDATABLE],
                             .grantable = c->flags[BUCKLE_GRANTABLE],
                             .accept_weaker = c->flags[BUCKLE_ACCEPT_WEAKER],
                             .keep_userns = c->flags[BUCKLE_ALLOW_USERNS],
                             .strict_reads = c->flags[BUCKLE_STRICT_READS],
                             .max_memory = c->max_memory,
                             .max_procs = c->max_procs,
                             .timeout_ms = c->timeout_ms,
                             .wait_all = c->flags[BUCKLE_WAIT_ALL],
                             .ask_ms = c->ask_ms};
    if (!p->has_settings)
        return 0;
    out->keep_userns |= p->result.nested_userns;
    if (p->result.policy.allowed_domains.n) /* else nothing leads there */
        out->upstream = p->result.upstream;
    return 0;
}
