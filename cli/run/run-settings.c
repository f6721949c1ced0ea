/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle run` without settings uses the default profile and costs a few failed opens here. With
 * settings the policy is what they come to, in the same shape: protected names, places of secrets,
 * the working directory unless allowWrite says otherwise. Flags follow, and then what no flag
 * lifts.
 */

#include "cli/run/run-settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "cli/run/debug.h"
#include "cli/run/run-presets.h"

bool run_settings_found(const struct run_settings *rs)
{
    return !rs->alone && !args_has(rs->args, "no-settings") && !args_has(rs->args, "profile");
}

/* What can be read only once (standard input, a pipe) stays what it was then. */
static int add_named(struct settings *s, const struct run_settings *rs, const char *file,
                     size_t nth, struct bk_err *err)
{
    const struct settings_layer *was = NULL;
    for (size_t i = 0; rs->now && i < rs->now->settings.n && !was; i++)
        if (rs->now->settings.layers[i].id == LAYER_FLAGS && nth-- == 0)
            was = &rs->now->settings.layers[i];
    if (was && !was->path)
        return settings_add_text(s, LAYER_FLAGS, was->text.name, was->text.s, was->text.n, err);
    return settings_add_file(s, LAYER_FLAGS, file, err);
}

/* Of one file, which may be missing, and of the policy. */
static int load_alone(struct settings *s, const struct run_settings *rs, const char *control,
                      size_t n, struct bk_err *err)
{
    if (settings_add_policy(s, err) < 0)
        return -1;
    if (control)
        return settings_add_text(s, LAYER_FLAGS, "--control-fd", control, n, err);
    return rs->only ? add_named(s, rs, rs->only, 0, err)
                    : settings_add_text(s, LAYER_FLAGS, "<none>", "{}", 2, err);
}

static int load(struct settings *s, const struct run_settings *rs, const char *control, size_t n,
                struct bk_err *err)
{
    const struct cli_args *args = rs->args;
    const char *file;
    if (rs->alone)
        return load_alone(s, rs, control, n, err);
    if ((run_settings_found(rs) ? settings_add_found : settings_add_policy)(s, err) < 0)
        return -1;
    if (control)
        return settings_add_text(s, LAYER_FLAGS, "--control-fd", control, n, err);
    for (size_t i = 0; (file = args_nth(args, "settings", i)); i++)
        if (add_named(s, rs, file, i, err) < 0)
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

static char *joined(char *const *argv)
{
    OWN(buf) struct buf out = {0};
    for (; *argv; argv++)
        buf_fmt(&out, "%s%s", out.n ? " " : "", *argv);
    buf_chr(&out, '\0');
    return buf_ok(&out) ? steal_ptr(&out.s) : NULL;
}

/* ---- one reading ---- */

static int make_text(struct settled *s, const struct run_settings *rs, struct bk_err *err)
{
    const struct access_target target = access_target_here();
    const char *tmpdir = rs->tmpdir ? rs->tmpdir : rs->scratch.path;
    if (s->active && !rs->alone && settings_add_defaults(&s->settings, err) < 0)
        return -1;
    if (settings_build(&s->settings, tmpdir, &s->result, err) < 0)
        return -1;
    s->result.policy.as_shipped = !rs->alone;
    s->said = s->result.policy;
    if (run_has_presets(rs->args) && run_presets_add(rs->args, &s->settings.arena, rs->cwd,
                                                     rs->first, &s->result.policy, err) < 0)
        return -1;
    return s->active ? access_sbpl(&s->result.policy, &target, &s->text, err) : 0;
}

static void list_sources(struct settled *s, const struct run_settings *rs)
{
    size_t n = 0;
    s->sources[n++] = rs->given[0];
    if (s->active)
        s->sources[0] = (struct run_source){.kind = RUN_TEXT,
                                            .name = "<settings>",
                                            .text = s->text.s,
                                            .n = s->text.n,
                                            .links = s->result.policy.links,
                                            .nlinks = s->result.policy.nlinks,
                                            .protects = true};
    for (size_t i = 1; i < rs->ngiven; i++)
        s->sources[n++] = rs->given[i];
    if (s->caps.n)
        s->sources[n++] = (struct run_source){.kind = RUN_TEXT,
                                              .name = "<policy>",
                                              .text = s->caps.s,
                                              .n = s->caps.n,
                                              .last = true,
                                              .apart = true};
    s->nsources = n;
}

static int settle(struct settled *s, const struct run_settings *rs, const char *control, size_t n,
                  struct bk_err *err)
{
    if (settings_init(&s->settings, rs->cwd, err) < 0 ||
        load(&s->settings, rs, control, n, err) < 0)
        return -1;
    if (!s->settings.n && !run_has_presets(rs->args))
        return 0;
    s->active = !only_policy(&s->settings) || run_has_presets(rs->args);
    if (make_text(s, rs, err) < 0)
        return -1;
    bool flags = rs->ngiven > 1 && s->active;
    if ((flags || settings_has(&s->settings, LAYER_POLICY)) &&
        access_caps_sbpl(&s->said, settings_ceilings(&s->settings), &s->caps, err) < 0)
        return -1;
    list_sources(s, rs);
    return 0;
}

void settled_free(struct settled *s)
{
    if (!s)
        return;
    settings_free(&s->settings);
    buf_free(&s->text);
    buf_free(&s->caps);
    free(s);
}

struct settled *run_settings_again(const struct run_settings *rs, const char *control, size_t n,
                                   struct bk_err *err)
{
    struct settled *s = calloc(1, sizeof(*s));
    if (!s)
        return err_nomem(err), NULL;
    if (settle(s, rs, control, n, err) == 0)
        return s;
    settled_free(s);
    return NULL;
}

/* ---- for the run ---- */

bool run_settings_strict(const struct run_settings *rs)
{
    return rs->now && rs->now->active && rs->now->result.strict_allowlist;
}

static void fill_spec(struct run_settings *rs, struct run_spec *spec)
{
    struct settings_result *r = &rs->now->result;
    spec->sources = rs->now->sources;
    spec->nsources = rs->now->nsources;
    if (!rs->now->active)
        return;
    spec->keep_userns |= r->nested_userns;
    if (!spec->upstream && r->policy.allowed_domains.n) /* else nothing leads there */
        spec->upstream = r->upstream;
    spec->set_env = r->env.at;
    spec->nset_env = r->env.n;
    if (run_settings_strict(rs))
        spec->on_question = NULL;
    rs->writes_listed = settings_list_writes(&rs->now->settings);
}

/* A few failed opens, when there is nothing. */
static bool anything(const struct run_settings *rs, struct bk_err *err)
{
    OWN(settings) struct settings s = {0};
    return rs->alone || run_has_presets(rs->args) || args_has(rs->args, "settings") ||
           args_has(rs->args, "control-fd") || settings_init(&s, rs->cwd, err) < 0 ||
           settings_there(&s);
}

int run_settings_read(struct run_settings *rs, const struct cli_args *args, struct run_spec *spec,
                      struct bk_err *err)
{
    rs->args = args;
    rs->cwd = spec->cwd;
    rs->scratch.lock = -1;
    rs->first = spec->argv ? spec->argv[0] : NULL;
    if (args_has(args, "profile") && run_has_presets(args))
        return err_set(err, BK_E_INPUT, "--profile and --preset exclude each other");
    if (args_has(args, "profile") && args_has(args, "settings"))
        return err_set(err, BK_E_INPUT, "--profile and --settings exclude each other");
    if (spec->nsources > SETTINGS_SOURCES - 1)
        return err_set(err, BK_E_BUG, "too many sources");
    rs->ngiven = spec->nsources;
    for (size_t i = 0; i < rs->ngiven; i++)
        rs->given[i] = spec->sources[i];
    rs->tmpdir = rs->tmpdir ? rs->tmpdir : spec->tmpdir;
    rs->command = spec->argv && spec->argv[0] ? joined(spec->argv) : NULL;
    if (!anything(rs, err))
        return 0;
    if ((!rs->tmpdir && tmpdir_name(&rs->scratch, err) < 0) ||
        !(rs->now = run_settings_again(rs, NULL, 0, err)))
        return -1;
    spec->scratch = rs->tmpdir ? NULL : &rs->scratch;
    spec->tmpdir = rs->tmpdir;
    if (rs->now->active)
        debug_settings(&rs->now->settings, &rs->now->result);
    if (!rs->now->settings.n && !rs->now->active)
        return 0;
    if (spec->keep_userns && settings_caps_userns(&rs->now->settings, err) < 0)
        return -1;
    fill_spec(rs, spec);
    return 0;
}

void run_settings_free(struct run_settings *rs)
{
    settled_free(rs->now);
    free(rs->command);
}

bool run_settings_ignore(const struct run_settings *rs, const struct event *e)
{
    OWN(buf) struct buf line = {0};
    if (!rs->now || !rs->now->result.nignored || !rs->command)
        return false;
    event_line(e, &line);
    return buf_ok(&line) && line.s && settings_ignore(&rs->now->result, rs->command, line.s);
}

void run_settings_tell(const struct run_settings *rs)
{
    const char *project = rs->now ? settings_distrusted(&rs->now->settings) : NULL;
    if (project)
        fprintf(stderr,
                "buckle: the permissions that %s sets were ignored: it is not trusted (see `buckle "
                "settings`)\n",
                project);
}
