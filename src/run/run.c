/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The one way to run a command, for every front end: what all systems have in common. on-linux/ and
 * on-macos/ have the rest (run-int.h).
 */

#include "run/masked.h"
#include "run/ssh-agent.h"
#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "policy/target.h"
#include "run/credentials.h"
#include "run/handling.h"
#include "run/own-rules.h"
#include "run/private-places.h"
#include "run/run-int.h"
#include "settings/links.h"
#include "system/process.h"

extern char **environ;

const char *const run_usual_layers[LAYERS_PREPARED] = {"/tmp"};

/* ---- preparing ---- */

const char *run_tmpdir(const struct run *r)
{
    return r->spec->tmpdir ? r->spec->tmpdir : r->private_tmpdir.path;
}

/* Only buckle itself has `buckle connect`; a program that links the library does not. */
static void find_connector(struct run *r)
{
    char path[PATH_MAX];
    bool found = process_own_path(path) == 0 && strlen(path) < sizeof(r->connector);
    snprintf(r->connector, sizeof(r->connector), "%s", found ? path : "");
    const char *slash = strrchr(r->connector, '/');
    if (!slash || strcmp(slash, "/buckle") != 0)
        r->connector[0] = '\0';
}

/* Compiles only if there are any links. Using a wrong policy reports it. */
static int check_links(struct run *r, struct bk_err *err)
{
    const struct run_spec *s = r->spec;
    for (size_t i = 0; i < s->nsources; i++) {
        const struct run_source *from = &s->sources[i];
        const struct graph *g = from->nlinks ? run_graph(r) : NULL;
        if (g && links_check(g, from->links, from->nlinks, err) < 0)
            return -1;
    }
    return 0;
}

/* The proxies that connections leave through, if the network is filtered. */
static int find_parents(struct run *r, struct bk_err *err)
{
    const struct run_spec *s = r->spec;
    struct upstream all;
    if (!s->upstream) {
        r->has_parents = parent_proxies_read(&r->parents, environ) || r->parents.unusable[0];
        return 0;
    }
    if (upstream_parse(s->upstream, &all, err) < 0)
        return -1;
    r->has_parents = true;
    return parent_proxies_set(&r->parents, &all, s->no_proxy) < 0
               ? err_set(err, BK_E_INPUT, "the list of hosts without a proxy is too long")
               : 0;
}

int run_open(struct run *r, const struct run_spec *spec, bool probe, struct bk_err *err)
{
    *r = (struct run){.spec = spec, .private_tmpdir.lock = -1};
    arena_init(&r->arena, 64 << 20);
    find_connector(r);
    if (run_system_open(r, probe, err) < 0)
        return -1;
    if (spec->private_tmpdir)
        r->private_tmpdir = *spec->private_tmpdir;
    else if (!spec->tmpdir && !spec->bare && tmpdir_name(&r->private_tmpdir, err) < 0)
        return -1;
    if (find_parents(r, err) < 0 || run_handling(r, err) < 0)
        return -1;
    /* on Linux init creates its namespaces meanwhile */
    if (run_policy_link_targets(&r->targets, spec, err) < 0 ||
        (!run_system_is_inside(r) && own_rules(spec->launch.cwd, &r->own_rules, err) < 0) ||
        (spec->launch.world && own_rules_world(spec->launch.world_real, spec->launch.nworld_real,
                                               &r->own_rules, err) < 0) ||
        (run_ssh_count(spec) && run_ssh_rules(r, err) < 0) ||
        (spec->record.path && own_rules_record(spec->record.path, &r->own_rules, err) < 0) ||
        run_policy_gather(&r->policy, spec, run_tmpdir(r), &r->own_rules, err) < 0)
        return -1;
    run_policy_add_link_targets(&r->policy, &r->targets);
    return check_links(r, err);
}

int run_open_gate(struct run *r, const struct run_spec *spec, struct bk_err *err)
{
    static const struct buf none;
    *r = (struct run){.spec = spec, .private_tmpdir.lock = -1};
    arena_init(&r->arena, 64 << 20);
    return find_parents(r, err) < 0 || run_handling(r, err) < 0 ||
                   run_policy_gather(&r->policy, spec, "/tmp", &none, err) < 0
               ? -1
               : run_policy_word(&r->policy, err);
}

void run_close_gate(struct run *r)
{
    run_policy_free(&r->policy);
    secrets_free(&r->secrets);
    arena_free(&r->arena);
}

/*
 * The judge compiled the policy in its own process, so reports compile it once more here, on the
 * first event that needs a rule. That costs 0.5 ms (default profile, 89 rules), once, and only in a
 * run with a denial or a report. Handing rules over in events would cost more:
 *   - every launch would word its rules in the judge before the command starts: 45 us of the 0.4 ms
 *     that a terse compilation takes, also for the many runs without an event;
 *   - every event would carry up to 300 bytes more: file, line, message, text;
 *   - the summary needs the graph itself: it evaluates the policy to find the shortest flag that
 *     allows an operation (report/summary.c).
 */
const struct graph *run_graph(struct run *r)
{
    struct bk_err err;
    return run_policy_word(&r->policy, &err) == 0 ? r->policy.graph : NULL;
}

int run_prepare_env(struct run *r, struct bk_err *err)
{
    const struct run_spec *s = r->spec;
    /* tmux and others that keep sockets in the session's folder need a place */
    static const char *const places[] = {"TMPDIR", "TMUX_TMPDIR", "XDG_RUNTIME_DIR"};
    enum { PLACES = sizeof(places) / sizeof(places[0]) };
    const char **set = arena_array(
        &r->arena, PLACES + PRIVATE_PLACES + 1 + s->nset_env + run_credentials_count(s) + 2,
        sizeof(*set));
    size_t n = 0;
    if (!set)
        return err_nomem(err);
    for (size_t i = 0; i < PLACES && !s->bare; i++) {
        char text[PATH_MAX + 32];
        int len = snprintf(text, sizeof(text), "%s=%s", places[i], run_tmpdir(r));
        set[n] = arena_strndup(&r->arena, text, (size_t)len);
        if (!set[n++])
            return err_nomem(err);
    }
    int more = s->bare ? 0 : private_places(s, run_tmpdir(r), &r->arena, set + n);
    if (more < 0)
        return err_nomem(err);
    n += (size_t)more;
    if (!s->bare)
        set[n++] = "SANDBOX_RUNTIME=1";
    for (size_t i = 0; i < s->nset_env; i++)
        set[n++] = s->set_env[i];
    int secret = run_credentials(r, set + n, err);
    if (secret < 0)
        return -1;
    if (run_ssh_count(s) && run_ssh_prepare(r, set + n + secret, err) < 0)
        return -1;
    static const char *const all[] = {"*"};
    bool whole = s->whole_env || s->bare;
    char *const *caller = s->masks ? masked_environ(r, s->masks, environ) : environ;
    if (!caller)
        return err_nomem(err);
    int made = environ_make(caller, whole ? all : s->keep_env, whole ? 1 : s->nkeep_env, set,
                            &r->arena, &r->env);
    return made < 0 ? err_nomem(err) : 0;
}

/* ---- running ---- */

int run_refused(const struct run *r, const struct bk_err *err)
{
    if (r->spec->complain)
        r->spec->complain(r->spec->launch.arg, &r->policy.unit, err);
    return -1;
}

int run_make_tmpdir(struct run *r, struct bk_err *err)
{
    if (r->spec->tmpdir)
        return mkdir(r->spec->tmpdir, 0700) < 0 && errno != EEXIST
                   ? err_sys(err, "cannot create %s", r->spec->tmpdir)
                   : 0;
    if (r->spec->bare)
        return 0;
    return r->private_tmpdir.lock >= 0 ? 0 : tmpdir_make(&r->private_tmpdir, err);
}

int run_go_seatbelt(struct run *r, seatbelt_enter_fn *enter, struct launch_end *end,
                    struct bk_err *err)
{
    if (run_policy_compile(&r->policy, err) < 0)
        return end->step = STEP_POLICY, run_refused(r, err);
    if (run_credentials_count(r->spec))
        return err_set(err, BK_E_INPUT, "credentials: macOS has no gate that could insert them");
    if (run_make_tmpdir(r, err) < 0 || run_prepare_env(r, err) < 0 || run_record_begin(r, err) < 0)
        return -1;
    int result = run_macos(r, enter, end, err);
    run_record_end(r, end, result);
    return result;
}

/* ---- its policies ---- */

size_t run_sources(const struct run *r, struct run_source *out, size_t cap)
{
    const struct run_spec *spec = r->spec;
    if (spec->nsources > cap)
        return 0;
    for (size_t i = 0; i < spec->nsources; i++) {
        const struct source *text = sbpl_text_at(&r->policy.unit, i);
        out[i] = spec->sources[i];
        if (out[i].kind == RUN_FILE && text)
            out[i] = (struct run_source){.kind = RUN_TEXT,
                                         .from = out[i].from,
                                         .name = text->name,
                                         .text = text->text,
                                         .n = text->len};
        out[i].imports_files = false;
    }
    return spec->nsources;
}

struct policies run_policies(struct run *r)
{
    if (!r->graphs)
        r->graphs = calloc(1, sizeof(*r->graphs));
    if (!r->graphs)
        return (struct policies){0};
    r->graphs[0] = (struct graph *)run_graph(r);
    return (struct policies){(const struct graph *const *)r->graphs, r->nupdated + 1};
}

static void free_updates(struct run *r)
{
    for (size_t i = 1; i <= r->nupdated; i++)
        graph_free(r->graphs[i]);
    free(r->graphs);
}

/* ---- afterwards ---- */

void run_clean(struct run *r)
{
    run_ssh_stop(r);
    if (!tmpdir_remove_empty(&r->private_tmpdir)) {
        run_system_stop(r); /* its processes could still move files in there */
        tmpdir_remove(&r->private_tmpdir);
    }
    run_system_clean(r);
}

void run_close(struct run *r)
{
    run_record_free(r);
    run_system_close(r);
    tmpdir_remove(&r->private_tmpdir);
    free_updates(r);
    run_policy_free(&r->policy);
    link_targets_free(&r->targets);
    buf_free(&r->own_rules);
    secrets_free(&r->secrets);
    arena_free(&r->arena);
}
