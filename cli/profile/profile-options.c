/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * From options to a graph. The options' memory is kept beside the unit, which refers to it.
 */

#include "cli/profile/profile-options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "cli/profile/format-versions.h"
#include "profile/profile.h"

bool load_from_text(const struct cli_args *args)
{
    return args_has(args, "text");
}

/* -D KEY=VALUE …; the values stay where they were typed. */
static int read_params(const struct cli_args *args, struct loaded *l, struct bk_err *err)
{
    size_t n = args_count(args, "define"), bytes = 1;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(args_nth(args, "define", i)) + 1;
    l->params = calloc(n + 1, sizeof(*l->params));
    l->keys = malloc(bytes);
    if (!l->params || !l->keys)
        return err_nomem(err);
    char *at = l->keys;
    for (size_t i = 0; i < n; i++) {
        const char *given = args_nth(args, "define", i), *equals = strchr(given, '=');
        if (!equals || equals == given) {
            err_set(err, BK_E_INPUT, "-D %s: a parameter is written KEY=VALUE", given);
            err_hint(err, "for example -D HOME=/home/me");
            return -1;
        }
        size_t len = (size_t)(equals - given);
        memcpy(at, given, len);
        at[len] = '\0';
        l->params[i] = (struct sbpl_param){.key = at, .value = equals + 1};
        at += len + 1;
    }
    return 0;
}

static int read_dirs(const struct cli_args *args, struct loaded *l, struct bk_err *err)
{
    size_t n = args_count(args, "import-dir");
    l->dirs = calloc(n + 1, sizeof(*l->dirs));
    if (!l->dirs)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++)
        l->dirs[i] = args_nth(args, "import-dir", i);
    return 0;
}

static int read_options(const struct cli_args *args, struct loaded *l, const struct load_how *how,
                        struct sbpl_options *opt, struct bk_err *err)
{
    if (read_params(args, l, err) < 0 || read_dirs(args, l, err) < 0)
        return -1;
    *opt = (struct sbpl_options){
        .params = l->params,
        .nparams = args_count(args, "define"),
        .import_dirs = l->dirs,
        .nimport_dirs = args_count(args, "import-dir"),
        .entitlements = args_value(args, "entitlements"),
        .os = how->os,
        .fold_case = how->fold,
        .no_inferred = how->no_inferred,
    };
    return 0;
}

int load_era(const struct cli_args *args, enum blob_era *era, struct bk_err *err)
{
    const char *letter = args_value(args, "era");
    *era = letter ? blob_era_find(letter) : BLOB_NONE;
    return letter && *era == BLOB_NONE
               ? err_set(err, BK_E_INPUT, "--era %s: eras are A, B, C, D and E", letter)
               : 0;
}

static int decode(const struct cli_args *args, const struct source *s, const struct load_how *how,
                  const char *member, struct loaded *out, struct bk_err *err)
{
    struct profile_decoding decoding = {.member = member, .os = how->os, .apart = how->apart};
    if (!how->alone && args_count(args, "prelude"))
        return err_set(err, BK_E_INPUT, "%s: a compiled profile takes no --prelude", s->name);
    if (!how->any_era && load_era(args, &decoding.era, err) < 0)
        return -1;
    if (profile_decode(s, &decoding, &out->graph, out->ops, &out->names, err) < 0)
        return -1;
    out->compiled = true;
    return 0;
}

/* Adds the preludes and the profile, or the text in its place. */
static int add_texts(const struct cli_args *args, const char *name, const struct load_how *how,
                     struct sbpl_unit *unit, const char **member, struct bk_err *err)
{
    const char *text = how->alone ? NULL : args_value(args, "text"), *unused;
    for (size_t i = 0; !how->alone && i < args_count(args, "prelude"); i++)
        if (profile_add_named(unit, args_nth(args, "prelude", i), &unused, err) < 0)
            return -1;
    *member = NULL;
    if (text)
        return sbpl_add_text(unit, "<text>", text, strlen(text), err);
    if (profile_add_named(unit, name, member, err) < 0)
        return -1;
    if (args_value(args, "name"))
        *member = args_value(args, "name");
    return 0;
}

static int load_folded(const struct cli_args *args, const char *name, bool fold, struct loaded *out,
                       struct bk_err *err)
{
    struct load_how how = {.fold = fold};
    *out = (struct loaded){0};
    return versions_os(args, &how.os, err) < 0 ? -1 : load_profile_as(args, name, &how, out, err);
}

int load_profile(const struct cli_args *args, const char *name, struct loaded *out,
                 struct bk_err *err)
{
    return load_folded(args, name, args_has(args, "fold-case"), out, err);
}

int load_profile_as(const struct cli_args *args, const char *name, const struct load_how *how,
                    struct loaded *out, struct bk_err *err)
{
    struct sbpl_options opt = {.os = VOCAB_OS_ANY};
    *out = (struct loaded){0};
    int taken = read_options(args, out, how, &opt, err);
    sbpl_unit_init(&out->unit, &opt);
    if (taken < 0)
        return -1;
    const char *member;
    if (add_texts(args, name, how, &out->unit, &member, err) < 0)
        return -1;
    const struct source *blob = profile_compiled(&out->unit);
    if (!blob && member)
        return profile_refuse_member(&out->unit, member, err);
    if ((blob ? decode(args, blob, how, member, out, err)
              : sbpl_compile(&out->unit, &out->graph, err)) < 0)
        return -1;
    out->cache = graph_cache_new(out->graph);
    return out->cache ? 0 : err_nomem(err);
}

void loaded_free(struct loaded *l)
{
    graph_cache_free(l->cache);
    graph_free(l->graph);
    sbpl_unit_free(&l->unit);
    free(l->params);
    free(l->keys);
    free(l->dirs);
    buf_free(&l->names);
}

void load_diags(const struct diags *d, struct buf *out)
{
    for (const struct diag *g = d->first; g; g = g->next)
        diag_text(d, g, out);
    size_t all = d->errors + d->warnings + d->notes;
    if (all > d->kept)
        buf_fmt(out, "… and %zu more finding%s\n", all - d->kept, plural(all - d->kept));
}

void load_findings(const struct sbpl_unit *unit, struct buf *out)
{
    load_diags(&unit->diags, out);
}

static int report_failure(const struct loaded *l, const struct bk_err *err)
{
    if (!l->unit.diags.errors)
        return cli_fail(err);
    OWN(buf) struct buf text = {0};
    load_findings(&l->unit, &text);
    fputs(text.s ? text.s : "buckle: out of memory\n", stderr);
    return CLI_ERROR;
}

int load_folded_or_complain(const struct cli_args *args, const char *name, bool fold,
                            struct loaded *out)
{
    struct bk_err err;
    return load_folded(args, name, fold, out, &err) == 0 ? CLI_OK : report_failure(out, &err);
}

int load_or_complain(const struct cli_args *args, const char *name, struct loaded *out)
{
    return load_folded_or_complain(args, name, args_has(args, "fold-case"), out);
}

int load_file_or_complain(const struct cli_args *args, const char *name, struct loaded *out)
{
    struct bk_err err;
    struct load_how how = {.fold = args_has(args, "fold-case"), .alone = true};
    *out = (struct loaded){0};
    if (versions_os(args, &how.os, &err) < 0)
        return cli_fail(&err);
    return load_as_or_complain(args, name, &how, out);
}

int load_as_or_complain(const struct cli_args *args, const char *name, const struct load_how *how,
                        struct loaded *out)
{
    struct bk_err err;
    return load_profile_as(args, name, how, out, &err) == 0 ? CLI_OK : report_failure(out, &err);
}
