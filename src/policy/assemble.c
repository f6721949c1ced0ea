/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Most runs have neither settings nor a machine's policy. For them this costs a few failed opens
 * and evaluates nothing.
 */

#include "policy/assemble.h"

#include <stdlib.h>

#include "policy/presets.h"
#include "policy/target.h"

/* ---- settings ---- */

static bool asks_for_settings(const struct policy_request *q)
{
    return q->needs_settings || q->nnamed || q->presets.n;
}

static int add_named(struct settings *s, const struct named_settings *n, struct bk_err *err)
{
    return n->text ? settings_add_text(s, LAYER_FLAGS, n->name, n->text, n->n, err)
                   : settings_add_file(s, LAYER_FLAGS, n->name, err);
}

static int load_settings(struct settings *s, const struct policy_request *q, struct bk_err *err)
{
    if (!asks_for_settings(q) && !q->find_settings && !settings_policy_there())
        return 0;
    if (settings_init(s, q->cwd, err) < 0)
        return -1;
    if (!asks_for_settings(q) && !settings_there(s))
        return 0;
    if ((q->find_settings ? settings_add_found : settings_add_policy)(s, err) < 0)
        return -1;
    for (size_t i = 0; i < q->nnamed; i++)
        if (add_named(s, &q->named[i], err) < 0)
            return -1;
    return 0;
}

static bool only_machine_policy(const struct settings *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->layers[i].id != LAYER_POLICY)
            return false;
    return true;
}

static int add_presets(struct assembly *out, const struct policy_request *q, struct bk_err *err)
{
    const struct path_base base = {.cwd = q->cwd, .home = getenv("HOME")};
    struct arena *a = &out->settings.arena;
    struct access *access = &out->result.policy;
    struct preset_config config;
    struct preset sum = {0};
    if (presets_load(a, q->presets_file, &config, err) < 0 ||
        ((q->share_caches || access->share_caches || policy_on_macos()) &&
         presets_share_caches(a, &config, err) < 0) ||
        preset_sum(a, &config, &q->presets, q->command, false, &sum, err) < 0 ||
        presets_apply(a, &sum, &base, access, &out->unset, err) < 0 ||
        preset_protect(a, &config, &base, access, err) < 0)
        return -1;
    out->presets_file = config.file;
    return 0;
}

/* ---- texts ---- */

static void add_source(struct assembly *out, struct run_source source)
{
    out->sources[out->nsources++] = source;
}

static int write_settings(struct assembly *out, struct bk_err *err)
{
    const struct access_target target = policy_target_here();
    const struct access *access = &out->result.policy;
    if (access_sbpl(access, &target, &out->text, err) < 0)
        return -1;
    add_source(out, (struct run_source){.kind = RUN_TEXT,
                                        .from = SOURCE_SETTINGS,
                                        .name = "<settings>",
                                        .text = out->text.s,
                                        .n = out->text.n,
                                        .links = access->links,
                                        .nlinks = access->nlinks,
                                        .protects = true});
    return 0;
}

static int write_ceilings(struct assembly *out, const struct access *configured, struct bk_err *err)
{
    if (access_ceilings_sbpl(configured, settings_ceilings(&out->settings), &out->ceilings, err) <
        0)
        return -1;
    if (out->ceilings.n)
        add_source(out, (struct run_source){.kind = RUN_TEXT,
                                            .from = SOURCE_MACHINE,
                                            .name = "<policy>",
                                            .text = out->ceilings.s,
                                            .n = out->ceilings.n,
                                            .last = true,
                                            .apart = true});
    return 0;
}

/* ---- all of it ---- */

/* Fills the result; *said is what settings alone say, without presets: only that is a ceiling for
 * others. */
static int evaluate(struct assembly *out, const struct policy_request *q, struct access *configured,
                    struct bk_err *err)
{
    struct settings *s = &out->settings;
    if (out->by_settings && !q->bare_settings && settings_add_defaults(s, err) < 0)
        return -1;
    if (settings_build(s, q->tmpdir, &out->result, err) < 0)
        return -1;
    out->result.policy.as_shipped = !q->bare_settings;
    out->result.policy.shared_tmp |= q->shared_tmp;
    *configured = out->result.policy;
    return q->presets.n ? add_presets(out, q, err) : 0;
}

int policy_assemble(const struct policy_request *q, struct assembly *out, struct bk_err *err)
{
    struct settings *s = &out->settings;
    struct access configured = {0};
    if (q->ntexts > POLICY_TEXTS)
        return err_set(err, BK_E_LIMIT, "a policy can have at most %d texts", POLICY_TEXTS);
    if (load_settings(s, q, err) < 0)
        return -1;
    out->by_settings = q->needs_settings || q->presets.n || !only_machine_policy(s);
    bool machine = settings_has(s, LAYER_POLICY);
    if ((out->by_settings || machine) && evaluate(out, q, &configured, err) < 0)
        return -1;
    if (q->wants_userns && settings_check_userns(s, err) < 0)
        return -1;
    if (out->by_settings && write_settings(out, err) < 0)
        return -1;
    if (!out->by_settings && q->base.name)
        add_source(out, q->base);
    for (size_t i = 0; i < q->ntexts; i++)
        add_source(out, q->texts[i]);
    if (q->rules.n)
        add_source(out, q->rules);
    bool others = out->by_settings && (q->ntexts || q->rules.n);
    return others || machine ? write_ceilings(out, &configured, err) : 0;
}

void assembly_free(struct assembly *a)
{
    settings_free(&a->settings);
    buf_free(&a->text);
    buf_free(&a->ceilings);
}
