/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle run` without settings uses the default profile and costs a few failed opens here. With
 * settings the policy is what they come to, in the same shape: protected names, places of secrets,
 * the working directory unless allowWrite says otherwise. Flags follow, and then what no flag
 * lifts.
 */

#include "run-settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"

static int load(struct run_settings *rs, const struct cli_args *args, struct bk_err *err)
{
    const char *file;
    bool found = !args_has(args, "no-settings") && !args_has(args, "profile");
    if (args_has(args, "profile") && args_has(args, "settings"))
        return err_set(err, BK_E_INPUT, "--profile and --settings are two policies; choose one");
    if ((found ? settings_add_found : settings_add_policy)(&rs->settings, err) < 0)
        return -1;
    for (size_t i = 0; (file = args_nth(args, "settings", i)); i++)
        if (settings_add_file(&rs->settings, LAYER_FLAGS, file, err) < 0)
            return -1;
    return 0;
}

static bool only_policy(const struct settings *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->layers[i].id != LAYER_POLICY)
            return false;
    return true;
}

static bool policy_gives(struct settings *s, enum setting_id id)
{
    struct setting_values v;
    if (settings_values(s, id, &v) < 0)
        return true;
    for (size_t i = 0; i < s->n; i++) {
        const struct json *section = jt_get(s->layers[i].root, setting_keys[id].section);
        if (s->layers[i].id == LAYER_POLICY && section && jt_get(section, setting_keys[id].name))
            return true;
    }
    return false;
}

static unsigned ceilings(struct settings *s)
{
    return (policy_gives(s, SETTING_ALLOW_WRITE) ? CAP_WRITES : 0u) |
           (policy_gives(s, SETTING_ALLOWED_DOMAINS) ? CAP_HOSTS : 0u) |
           (policy_gives(s, SETTING_UNIX_SOCKETS) ? CAP_SOCKETS : 0u);
}

/* What a policy does not allow cannot be had by a flag either. */
static int cap_options(struct settings *s, struct run_spec *spec, struct bk_err *err)
{
    struct setting_values v;
    if (settings_values(s, SETTING_NESTED_USERNS, &v) < 0)
        return err_nomem(err);
    for (size_t i = 0; i < v.n; i++)
        if (v.at[i].layer->id == LAYER_POLICY && !v.at[i].json->truth && spec->keep_userns)
            return err_set(err, BK_E_INPUT, "the policy does not allow user namespaces inside");
    return 0;
}

static char *joined(char *const *argv)
{
    OWN(buf) struct buf out = {0};
    for (; *argv; argv++)
        buf_fmt(&out, "%s%s", out.n ? " " : "", *argv);
    buf_chr(&out, '\0');
    return buf_ok(&out) ? steal_ptr(&out.s) : NULL;
}

/* Whether the working directory may be written because nobody said anything. */
static bool default_counts(struct settings *s)
{
    struct setting_values v;
    if (settings_values(s, SETTING_ALLOW_WRITE, &v) < 0)
        return true;
    for (size_t i = 0; i < v.n; i++)
        if (v.at[i].layer->id == LAYER_DEFAULTS && !v.at[i].ignored)
            return true;
    return false;
}

static int make_policy(struct run_settings *rs, struct run_spec *spec, struct bk_err *err)
{
    const struct access_target target = {0};
    struct settings_result *r = &rs->result;
    if (settings_add_defaults(&rs->settings, err) < 0 ||
        settings_build(&rs->settings, rs->scratch.path, r, err) < 0)
        return -1;
    r->policy.as_shipped = true;
    if (access_sbpl(&r->policy, &target, &rs->text, err) < 0)
        return -1;
    rs->sources[0] = (struct run_source){
        .kind = RUN_TEXT, .name = "<settings>", .text = rs->text.s, .n = rs->text.n};
    spec->keep_userns |= r->nested_userns;
    spec->upstream = spec->upstream ? spec->upstream : r->upstream;
    spec->set_env = r->env.at;
    spec->nset_env = r->env.n;
    rs->command = r->nignored && spec->argv ? joined(spec->argv) : NULL;
    return 0;
}

static void choose_sources(struct run_settings *rs, struct run_spec *spec)
{
    size_t n = 1;
    if (!rs->active)
        rs->sources[0] = spec->sources[0];
    for (size_t i = 1; i < spec->nsources; i++)
        rs->sources[n++] = spec->sources[i];
    if (rs->caps.n)
        rs->sources[n++] = (struct run_source){
            .kind = RUN_TEXT, .name = "<policy>", .text = rs->caps.s, .n = rs->caps.n};
    spec->sources = rs->sources;
    spec->nsources = n;
    spec->scratch = &rs->scratch;
}

int run_settings_read(struct run_settings *rs, const struct cli_args *args, struct run_spec *spec,
                      struct bk_err *err)
{
    struct settings *s = &rs->settings;
    rs->scratch.lock = -1;
    if (settings_init(s, spec->cwd, err) < 0 || load(rs, args, err) < 0)
        return -1;
    if (!s->n)
        return 0;
    rs->active = !only_policy(s);
    if (scratch_name(&rs->scratch, err) < 0 || cap_options(s, spec, err) < 0)
        return -1;
    if (rs->active ? make_policy(rs, spec, err) < 0
                   : settings_build(s, rs->scratch.path, &rs->result, err) < 0)
        return -1;
    rs->writes_listed = rs->active && !default_counts(s);
    bool flags = spec->nsources > 1 && rs->active;
    if ((flags || settings_has(s, LAYER_POLICY)) &&
        access_caps_sbpl(&rs->result.policy, ceilings(s), &rs->caps, err) < 0)
        return -1;
    choose_sources(rs, spec);
    return 0;
}

void run_settings_free(struct run_settings *rs)
{
    settings_free(&rs->settings);
    buf_free(&rs->text);
    buf_free(&rs->caps);
    free(rs->command);
}

bool run_settings_ignore(const struct run_settings *rs, const struct event *e)
{
    OWN(buf) struct buf line = {0};
    if (!rs->command)
        return false;
    event_line(e, &line);
    return buf_ok(&line) && line.s && settings_ignore(&rs->result, rs->command, line.s);
}
