/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * From a spec to a graph. A policy of shipped and given texts can be compiled later, in any process
 * that needs the graph.
 */

#include "run/run-policy.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "profile/profile.h"
#include "run/gitfiles.h"
#include "run/own-rules.h"
#include "vocab/protected-classes.h"

struct run_source run_named_profile(const char *name)
{
    return (struct run_source){.kind = profile_is_path(name) ? RUN_FILE : RUN_SHIPPED,
                               .name = name};
}

const char *run_place_is_all(const char *cwd)
{
    char home[PATH_MAX];
    const char *named = getenv("HOME");
    size_t n = strlen(cwd);
    if (strcmp(cwd, "/") == 0)
        return "the root directory";
    if (!named || !realpath(named, home) || strncmp(home, cwd, n) != 0)
        return NULL;
    return !home[n]         ? "your home directory"
           : home[n] == '/' ? "a folder around your home directory"
                            : NULL;
}

/* The home folder's .gnupg, if there is one. A symlink is left alone: protected.sb guards where it
 * leads. */
static bool has_gnupg(const char *home, char out[PATH_MAX])
{
    struct stat st;
    int n = home ? snprintf(out, PATH_MAX, "%s/.gnupg", home) : PATH_MAX;
    return n < PATH_MAX && lstat(out, &st) == 0 && S_ISDIR(st.st_mode);
}

/* CWD, TMPDIR, ORDINARY, HOME, GNUPG, GIT_DIR, GIT_COMMON, GIT_TOP */
enum { OWN_PARAMS = 8 };

static int set_params(struct run_policy *p, const struct run_spec *spec, const char *tmpdir,
                      struct sbpl_options *opt, struct bk_err *err)
{
    size_t used = 0;
    const char *named = spec->bare ? NULL : getenv("HOME");
    const char *home = named ? realpath(named, p->home) : NULL;
    p->params = calloc(spec->nparams + OWN_PARAMS, sizeof(*p->params));
    if (!p->params)
        return err_nomem(err);
    if (!spec->bare) {
        p->params[used++] = (struct sbpl_param){"CWD", spec->launch.cwd};
        p->params[used++] = (struct sbpl_param){"TMPDIR", tmpdir};
        if (geteuid() !=
            0) /* file modes already keep the machine's secrets from everybody except root */
            p->params[used++] = (struct sbpl_param){"ORDINARY", "1"};
        if (home)
            p->params[used++] = (struct sbpl_param){"HOME", home};
        if (has_gnupg(home, p->gnupg))
            p->params[used++] = (struct sbpl_param){"GNUPG", p->gnupg};
        if (git_outside(spec->launch.cwd, home, &p->git)) {
            p->params[used++] = (struct sbpl_param){"GIT_DIR", p->git.own};
            p->params[used++] = (struct sbpl_param){"GIT_COMMON", p->git.common};
            if (p->git.top[0])
                p->params[used++] = (struct sbpl_param){"GIT_TOP", p->git.top};
        }
    }
    for (size_t i = 0; i < spec->nparams; i++)
        p->params[used++] = spec->params[i];
    opt->params = p->params;
    opt->nparams = used;
    return 0;
}

static int add_text(struct run_policy *p, const struct run_source *s, struct bk_err *err)
{
    switch (s->kind) {
    case RUN_SHIPPED:
        return profile_add_shipped(&p->unit, s->name, err);
    case RUN_FILE:
        return profile_add_file(&p->unit, s->name, err);
    case RUN_TEXT:
        return (s->apart ? sbpl_add_apart : sbpl_add_text)(&p->unit, s->name, s->text, s->n, err);
    }
    return err_set(err, BK_E_BUG, "a policy source of unknown kind");
}

static int add_source(struct run_policy *p, const struct run_source *s, struct bk_err *err)
{
    if (add_text(p, s, err) < 0)
        return -1;
    sbpl_mark_last(&p->unit, s->from);
    return 0;
}

/* Whether compiling opens files. The given ones have been read by then; a text that never says
 * "import" names no others. */
static bool opens_files(const struct sbpl_unit *u, const struct run_spec *spec)
{
    for (size_t i = 0; i < spec->nsources; i++) {
        const struct source *s = sbpl_text_at(u, i);
        if ((spec->sources[i].kind == RUN_FILE || spec->sources[i].imports_files) &&
            (!s || memmem(s->text, s->len, "import", 6)))
            return true;
    }
    return false;
}

/* A file that git's settings name is as powerful as the settings. */
static int protect_named(void *arg, const char *path, const char *key, struct bk_err *err)
{
    OWN(buf) struct buf message = {0};
    bool hooks = strcmp(key, "core.hookspath") == 0;
    buf_fmt(&message, "protected: git's setting %.80s names it (%s)", key,
            protected_classes[hooks ? PROTECTED_GIT_HOOKS : PROTECTED_GIT_SETTINGS].name);
    return buf_ok(&message) ? link_targets_protect(arg, path, message.s, err) : err_nomem(err);
}

int run_policy_link_targets(struct link_targets *targets, const struct run_spec *spec,
                            struct bk_err *err)
{
    char real[PATH_MAX];
    const char *named = getenv("HOME"), *home = named ? realpath(named, real) : NULL;
    if (link_targets_find(targets, home, !spec->bare, spec->launch.cwd, err) < 0)
        return -1;
    return git_files_find(spec->launch.cwd, home, protect_named, targets, err);
}

static const struct sbpl_options options = {.os = VOCAB_OS_ANY, .reserve = 384 << 10};

static int add_sources(struct run_policy *p, const struct run_spec *spec, const struct buf *own,
                       struct bk_err *err)
{
    for (size_t i = 0; i < spec->nsources; i++)
        if (add_source(p, &spec->sources[i], err) < 0)
            return -1;
    p->unit.opt.shipped_only = !opens_files(&p->unit, spec);
    p->shipped = p->unit.opt.shipped_only && !(p->stack && run_is_stacked(p->stack));
    const struct run_source ends = {.kind = RUN_TEXT,
                                    .from = SOURCE_OWN,
                                    .name = OWN_RULES,
                                    .text = own->s,
                                    .n = own->n,
                                    .apart = true};
    return own->n ? add_source(p, &ends, err) : 0;
}

int run_policy_gather(struct run_policy *p, const struct run_spec *spec, const char *tmpdir,
                      const struct buf *own, struct bk_err *err)
{
    struct sbpl_options opt = options;
    int set = set_params(p, spec, tmpdir, &opt, err);
    if (set == 0 && run_is_stacked(spec))
        set = run_stack_read(p, spec, &opt, err);
    sbpl_unit_init(&p->unit, &opt);
    return set < 0 ? -1 : add_sources(p, spec, own, err);
}

int run_policy_gather_again(struct run_policy *p, const struct run_policy *first,
                            const struct run_spec *spec, const struct buf *own, struct bk_err *err)
{
    struct sbpl_options opt = options;
    opt.params = first->unit.opt.params;
    opt.nparams = first->unit.opt.nparams;
    if (first->stack)
        run_stack_share(p, first, &opt);
    sbpl_unit_init(&p->unit, &opt);
    return add_sources(p, spec, own, err);
}

void run_spec_use(struct run_spec *spec, const struct assembly *a)
{
    const struct settings_result *r = &a->result;
    spec->sources = a->sources;
    spec->nsources = a->nsources;
    if (!spec->record.path)
        spec->record =
            (struct record_options){.path = r->record.path,
                                    .max_bytes = r->record.max_bytes,
                                    .keep = r->record.keep,
                                    .files = r->record.files || spec->record.files,
                                    .journal = r->record.journal || spec->record.journal,
                                    .otlp = spec->record.otlp ? spec->record.otlp : r->record.otlp};
    if (!a->by_settings)
        return;
    spec->caches = &r->policy.layered;
    spec->writable = &r->policy.allow_write;
    spec->set_credentials = &r->policy.credentials;
    spec->handling = settings_handles(&r->handling) ? &r->handling : NULL;
    spec->masks = r->policy.masks;
    spec->set_ssh = &r->policy.ssh;
    spec->plan.keep_userns |= r->nested_userns;
    if (!spec->upstream && (r->policy.allowed_domains.n ||
                            r->policy.allowed_requests.n)) /* without hosts nothing leads there */
        spec->upstream = r->upstream, spec->no_proxy = r->no_proxy;
}

void run_policy_add_link_targets(struct run_policy *p, struct link_targets *targets)
{
    p->unit.opt.sequels = link_targets_sequels(targets, &p->unit.opt.nsequels);
}

int run_policy_compile(struct run_policy *p, struct bk_err *err)
{
    if (p->graph)
        return 0;
    if (sbpl_compile(&p->unit, &p->graph, err) < 0)
        return -1;
    if (run_stack_apply(p, err) == 0)
        return 0;
    graph_free(p->graph);
    p->graph = NULL;
    return -1;
}

int run_policy_word(struct run_policy *p, struct bk_err *err)
{
    if (p->worded)
        return 0;
    if (!p->graph)
        p->unit.opt.terse = false;
    if (run_policy_compile(p, err) < 0)
        return -1;
    p->worded = true;
    return sbpl_add_rule_texts(&p->unit, p->graph, err);
}

void run_policy_free(struct run_policy *p)
{
    graph_free(p->graph);
    run_stack_free(p);
    sbpl_unit_free(&p->unit);
    free(p->params);
}
