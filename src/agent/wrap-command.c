/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Builds the command line: settings to profile, profile flattened to one text, environment,
 * quoting.
 */

#include "agent/wrap-command.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "macos/sandbox-exec.h"
#include "report/tag.h"
#include "run/run.h"
#include "settings/links.h"

struct work {
    const struct wrapping *w;
    struct settings *settings;
    struct settings_result r;
    struct buf tag, profile;
};

static void work_free(struct work *k)
{
    buf_free(&k->tag);
    buf_free(&k->profile);
}
#define OWN_work work_free

static int make_tag(struct work *k, struct bk_err *err)
{
    char session[TAG_SESSION];
    const char *given = k->w->session, *command = k->w->command;
    if (!given && tag_session(session, err) < 0)
        return -1;
    tag_encode(command, strlen(command), given ? given : session, &k->tag);
    k->r.policy.tag = k->tag.s;
    return buf_ok(&k->tag) ? 0 : err_nomem(err);
}

/* The shipped protections come in several files, which macOS doesn't have, so flatten them. */
static int flatten(struct work *k, const struct buf *text, struct bk_err *err)
{
    struct sbpl_param params[] = {{"HOME", k->settings->home}};
    struct sbpl_options opt = {.params = params, .shipped_only = true, .os = VOCAB_OS_ANY};
    opt.nparams = k->settings->home ? 1 : 0;
    OWN(sbpl_unit) struct sbpl_unit unit;
    struct graph *graph = NULL;
    sbpl_unit_init(&unit, &opt);
    if (sbpl_add_text(&unit, "<settings>", text->s, text->n, err) < 0 ||
        sbpl_compile(&unit, &graph, err) < 0 ||
        sbpl_flatten(&unit, &(struct sbpl_flatten_options){k->tag.s}, &k->profile, err) < 0) {
        graph_free(graph);
        return -1;
    }
    int result = links_check(graph, k->r.policy.links, k->r.policy.nlinks, err);
    if (result == 0 && run_filters_hosts(graph))
        result = run_close_hosts(graph, &k->w->ports, k->tag.s, &k->profile, err);
    graph_free(graph);
    return result;
}

static int make_profile(struct work *k, struct bk_err *err)
{
    bool shipped = !k->w->bare;
    struct access_target target = {.macos = true,
                                   .http_port = k->w->ports.http,
                                   .socks_port = k->w->ports.socks,
                                   .flattened = shipped};
    OWN(buf) struct buf text = {0};
    k->r.policy.as_shipped = shipped;
    k->r.policy.allowed_reads_win = !shipped;
    if (access_sbpl(&k->r.policy, &target, shipped ? &text : &k->profile, err) < 0)
        return -1;
    if (shipped && flatten(k, &text, err) < 0)
        return -1;
    return buf_ok(&k->profile) ? 0 : err_nomem(err);
}

/* Our variables, then those from the settings. */
static const char **make_env(struct work *k)
{
    const struct proxy_vars proxies = {.http = k->w->ports.http, .socks = k->w->ports.socks};
    struct arena *arena = &k->settings->arena;
    const char **ours = wrap_environ(arena, &proxies, k->w->tmpdir);
    size_t n = 0, more = k->r.env.n;
    while (ours && ours[n])
        n++;
    const char **all = arena_array(arena, n + more + 1, sizeof(*all));
    if (!ours || !all)
        return NULL;
    memcpy(all, ours, n * sizeof(*all));
    if (more)
        memcpy(all + n, k->r.env.at, more * sizeof(*all));
    return all;
}

int wrap_settings(const struct wrapping *w, struct settings *s, struct buf *out, struct bk_err *err)
{
    OWN(work) struct work k = {.w = w, .settings = s};
    struct wrap how = {.command = w->command};
    if (settings_build(s, w->tmpdir, &k.r, err) < 0)
        return -1;
    if (k.r.enabled && !access_is_open(&k.r.policy)) {
        how.shell = shell_find(&s->arena, w->shell ? w->shell : "bash", getenv("PATH"), err);
        if (!how.shell || make_tag(&k, err) < 0 || make_profile(&k, err) < 0)
            return -1;
        how.profile = k.profile.s;
        how.env = make_env(&k);
        if (!how.env)
            return err_nomem(err);
    }
    wrap_line(&how, out);
    buf_chr(out, '\n');
    return buf_ok(out) ? 0 : err_nomem(err);
}
