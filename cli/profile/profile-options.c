/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * From options to a graph. What the options point to is kept beside the unit, because the unit
 * refers to it for as long as it lives.
 */

#include "cli/profile/profile-options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/profile/format-versions.h"
#include "format/format.h"
#include "profile/profile.h"

bool load_from_text(const struct cli_args *args)
{
    return args_has(args, "text");
}

/* -D KEY=VALUE …; the values stay where they were typed. */
static int take_params(const struct cli_args *args, struct loaded *l, struct bk_err *err)
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

static int take_dirs(const struct cli_args *args, struct loaded *l, struct bk_err *err)
{
    size_t n = args_count(args, "import-dir");
    l->dirs = calloc(n + 1, sizeof(*l->dirs));
    if (!l->dirs)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++)
        l->dirs[i] = args_nth(args, "import-dir", i);
    return 0;
}

static int take_options(const struct cli_args *args, struct loaded *l, const struct load_how *how,
                        struct sbpl_options *opt, struct bk_err *err)
{
    if (take_params(args, l, err) < 0 || take_dirs(args, l, err) < 0)
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

static const char *shipped(const char *name)
{
    char with_suffix[64];
    snprintf(with_suffix, sizeof(with_suffix), "%s.sb", name);
    for (const struct sbpl_builtin *b = sbpl_builtins; b->name; b++)
        if (strcmp(b->name, name) == 0 || strcmp(b->name, with_suffix) == 0)
            return b->name;
    return NULL;
}

/* A file of that name comes before a shipped profile, so that nobody's file is ever ignored. */
static int add_named(struct sbpl_unit *unit, const char *name, struct bk_err *err)
{
    const char *builtin = shipped(name);
    if (builtin && strcmp(name, "-") != 0 && access(name, F_OK) != 0)
        return sbpl_add_builtin(unit, builtin, err);
    return sbpl_add_file(unit, name, err);
}

int load_place_of(const struct cli_args *args, const char *name, struct load_place *out,
                  struct bk_err *err)
{
    if (profile_split(name, out->path, sizeof(out->path), &out->profile, err) < 0)
        return -1;
    if (args_value(args, "name"))
        out->profile = args_value(args, "name");
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

/* Compiled profiles are told from text by their bytes: both kinds of file end in .sb. */
static const struct source *compiled(const struct loaded *l)
{
    const struct source *s = l->unit.map.last;
    return s && blob_is_binary(s->text, s->len) ? s : NULL;
}

static int decode_chosen(const struct load_how *how, const char *profile, const struct source *s,
                         struct blob *blob, struct loaded *out, struct bk_err *err)
{
    if ((how->os != VOCAB_OS_ANY && blob_use_names(blob, how->os, err) < 0) ||
        (profile && blob_choose_name(blob, profile, err) < 0))
        return -1;
    blob_names_words(blob, &out->names);
    return (how->apart ? blob_decode_apart : blob_decode)(blob, s->name, &out->graph, err);
}

static int decode(const struct cli_args *args, const struct source *s, const struct load_how *how,
                  const char *profile, struct loaded *out, struct bk_err *err)
{
    struct blob blob;
    enum blob_era era = BLOB_NONE;
    if (!how->alone && args_count(args, "prelude"))
        return err_set(err, BK_E_INPUT, "%s: a compiled profile takes no --prelude", s->name);
    if (!how->any_era && load_era(args, &era, err) < 0)
        return -1;
    if (blob_open_as(&blob, s->text, s->len, era, err) < 0 ||
        decode_chosen(how, profile, s, &blob, out, err) < 0) {
        err_place(err, s->name, 0, 0);
        return -1;
    }
    out->compiled = true;
    for (uint32_t id = 0; id < blob.nops; id++) {
        enum vocab_op op = blob_op_name(&blob, id);
        if (op != OP_NONE)
            out->ops[op] = true;
    }
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
    int taken = take_options(args, out, how, &opt, err);
    sbpl_unit_init(&out->unit, &opt);
    if (taken < 0)
        return -1;
    for (size_t i = 0; !how->alone && i < args_count(args, "prelude"); i++)
        if (add_named(&out->unit, args_nth(args, "prelude", i), err) < 0)
            return -1;
    const char *text = how->alone ? NULL : args_value(args, "text");
    struct load_place place = {.profile = NULL};
    if (!text && load_place_of(args, name, &place, err) < 0)
        return -1;
    int added = text ? sbpl_add_text(&out->unit, "<text>", text, strlen(text), err)
                     : add_named(&out->unit, place.path, err);
    if (added < 0)
        return -1;
    const struct source *blob = compiled(out);
    if (!blob && place.profile)
        return err_set(err, BK_E_INPUT, "%s is a text, not a collection with %s in it", place.path,
                       place.profile);
    if ((blob ? decode(args, blob, how, place.profile, out, err)
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
        buf_fmt(out, "… and %zu more findings\n", all - d->kept);
}

void load_findings(const struct sbpl_unit *unit, struct buf *out)
{
    load_diags(&unit->diags, out);
}

static int complain(const struct loaded *l, const struct bk_err *err)
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
    return load_folded(args, name, fold, out, &err) == 0 ? CLI_OK : complain(out, &err);
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
    return load_profile_as(args, name, how, out, &err) == 0 ? CLI_OK : complain(out, &err);
}
