/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Most runs have neither settings nor a machine's policy. For them this costs a few failed opens
 * and evaluates nothing.
 */

#include "policy/assemble.h"

#include <stdlib.h>
#include <string.h>

#include "policy/auto-presets.h"
#include "policy/presets.h"
#include "policy/target.h"

/* ---- settings ---- */

static bool asks_for_settings(const struct policy_request *q)
{
    return q->needs_settings || q->nnamed || q->presets.n || q->automatic == AUTO_ALWAYS;
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
    if (q->elsewhere)
        settings_for_elsewhere(s);
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

/* ---- presets ---- */

struct chosen {
    struct preset_config config;
    struct words names; /* named and automatic ones */
};

static bool is_automatic(const struct policy_request *q, struct settings *s)
{
    const struct json *set =
        q->automatic == AUTO_IF_SET && s->n ? settings_value(s, SETTING_AUTO_PRESETS) : NULL;
    return q->automatic == AUTO_ALWAYS || (set && set->truth);
}

static int choose_presets(struct assembly *out, const struct policy_request *q,
                          struct chosen *chosen, struct bk_err *err)
{
    struct settings *s = &out->settings;
    bool automatic = is_automatic(q, s);
    if (!q->presets.n && !automatic)
        return 0;
    out->by_command = true;
    if (presets_load(&s->arena, q->presets_file, &chosen->config, err) < 0 ||
        presets_read_tools(&s->arena, &chosen->config, err) < 0)
        return -1;
    if (automatic &&
        auto_presets_find(s, &chosen->config, q->argv, &q->presets, &out->automatic, err) < 0)
        return -1;
    const struct words *lists[] = {&q->presets, &out->automatic};
    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; i < lists[l]->n; i++)
            if (words_push(&s->arena, &chosen->names, lists[l]->at[i]) < 0)
                return err_nomem(err);
    return 0;
}

static bool has_word(const struct words *list, const char *word)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->at[i], word) == 0)
            return true;
    return false;
}

/* What a variable says the user has said; a file counts unless a command can have written it. */
static void weigh_registries(struct assembly *out, const struct policy_request *q)
{
    struct settings *s = &out->settings;
    for (size_t i = 0; i < out->registries.n; i++) {
        struct registry_source *r = &out->registries.at[i];
        if (r->project)
            r->counts = settings_trusts_file(s, r->name, r->text, r->n);
        else
            r->counts = !r->path || has_word(&q->registry_files, r->path);
    }
}

static int add_presets(struct assembly *out, const struct policy_request *q, struct chosen *chosen,
                       struct bk_err *err)
{
    const struct path_base base = {
        .cwd = q->cwd, .home = getenv("HOME"), .elsewhere = q->elsewhere};
    struct arena *a = &out->settings.arena;
    struct access *access = &out->result.policy;
    struct preset sum = {0};
    if (((q->share_caches || access->share_caches || policy_on_macos()) &&
         presets_share_caches(a, &chosen->config, err) < 0) ||
        preset_sum(a, &chosen->config, &chosen->names, q->command, false, &sum, err) < 0 ||
        presets_apply(a, &sum, &base, access, &out->unset, err) < 0 ||
        preset_protect(a, &chosen->config, &base, access, err) < 0)
        return -1;
    for (size_t i = 0; i < sum.tools.n; i++)
        if (registries_find(a, sum.tools.at[i], q->cwd, base.home, &out->registries, err) < 0)
            return -1;
    weigh_registries(out, q);
    out->presets_file = chosen->config.file;
    out->tools = sum.tools;
    return presets_open_hosts(a, &chosen->config, &sum, &out->registries, &out->result, err);
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
                                        .protects = access->as_shipped});
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

static bool opens_folder(const struct places *places, const char *folder)
{
    for (size_t i = 0; i < places->n; i++) {
        const char *path = places->at[i].path;
        size_t n = strlen(path);
        if (places->at[i].kind == PLACE_SUBPATH && strncmp(folder, path, n) == 0 &&
            (folder[n] == '/' || !folder[n]))
            return true;
    }
    return false;
}

/* Fills the result; *said is what settings alone say, without presets: only that is a ceiling for
 * others. */
static int evaluate(struct assembly *out, const struct policy_request *q, struct chosen *presets,
                    struct access *configured, struct bk_err *err)
{
    struct settings *s = &out->settings;
    if (out->by_settings && !q->bare_settings && settings_add_defaults(s, err) < 0)
        return -1;
    if (settings_build(s, q->tmpdir, &out->result, err) < 0)
        return -1;
    out->result.policy.as_shipped = !q->bare_settings;
    out->result.policy.shared_tmp |= q->shared_tmp;
    out->result.policy.allowed_reads_win = q->bare_settings;
    out->result.policy.opens_cwd = q->cwd && opens_folder(&out->result.policy.allow_write, q->cwd);
    *configured = out->result.policy;
    return presets->names.n ? add_presets(out, q, presets, err) : 0;
}

int policy_assemble(const struct policy_request *q, struct assembly *out, struct bk_err *err)
{
    struct settings *s = &out->settings;
    struct access configured = {0};
    struct chosen presets = {0};
    if (q->ntexts > POLICY_TEXTS)
        return err_set(err, BK_E_LIMIT, "a policy can have at most %d texts", POLICY_TEXTS);
    if (load_settings(s, q, err) < 0 || choose_presets(out, q, &presets, err) < 0)
        return -1;
    out->by_settings = q->needs_settings || presets.names.n || !only_machine_policy(s);
    bool machine = settings_has(s, LAYER_POLICY);
    if ((out->by_settings || machine) && evaluate(out, q, &presets, &configured, err) < 0)
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
