/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle check` on preset files: finds errors, and entries without effect. */

#include <stdlib.h>
#include <string.h>

#include "cli/profile/check-settings.h"
#include "policy/presets.h"

struct checking {
    struct checked_settings *out;
    const struct source *source;
    struct preset_config config;
    struct bk_err err;
};

static void report_at(struct checking *k, enum finding_level level, uint32_t line, uint32_t col)
{
    k->err.line = line;
    k->err.col = col;
    check_report(k->out, level, check_position(k->source, &k->err), &k->err);
}

static void report_no_effect(struct checking *k, uint32_t line, uint32_t col, const char *what)
{
    err_set(&k->err, BK_E_INPUT, "%s", what);
    k->err.hint[0] = '\0';
    report_at(k, FINDING_NOTE, line, col);
}

static void check_names(struct checking *k, const struct words *names, uint32_t line)
{
    for (size_t i = 0; i < names->n; i++)
        if (!preset_find(&k->config, names->at[i], &k->err))
            report_at(k, FINDING_ERROR, line ? line : 1, 1);
}

/* ---- entries without effect ---- */

static void check_links(struct checking *k, const struct preset *p)
{
    for (size_t l = 0; l < PRESET_LISTS; l++)
        for (size_t i = 0; i < p->lists[l].n; i++)
            if (p->lists[l].at[i].eval_symlinks) {
                report_no_effect(k, p->lists[l].at[i].line, p->lists[l].at[i].col,
                                 "eval-symlinks has no effect: symlinks are always followed");
                return;
            }
}

static void check_reads(struct checking *k, const struct preset *p, const struct preset *sum)
{
    const struct preset_paths *read = &p->lists[PRESET_READ];
    if (read->n && !sum->flags[PRESET_STRICT])
        report_no_effect(
            k, read->at[0].line, read->at[0].col,
            "read has no effect unless strict is set, here or by another preset: everything is "
            "readable");
}

/* Tries each path on its own, to find those that cannot be used. */
static void check_paths(struct checking *k, const struct preset *p)
{
    const struct path_base base = {.cwd = "/", .home = getenv("HOME")};
    for (size_t l = 0; l < PRESET_LISTS; l++)
        for (size_t i = 0; i < p->lists[l].n; i++) {
            struct preset one = {.flags[PRESET_STRICT] = true};
            struct preset_path path = p->lists[l].at[i];
            struct access policy = {0};
            struct words unset = {0};
            one.lists[l] = (struct preset_paths){&path, 1};
            if (presets_apply(&k->out->arena, &one, &base, &policy, &unset, &k->err) < 0)
                report_at(k, FINDING_ERROR, path.line, path.col);
            else if (unset.n)
                report_no_effect(k, path.line, path.col,
                                 "it uses a variable that is not set, so it allows nothing");
        }
}

static void check_preset(struct checking *k, const struct preset *p)
{
    struct preset sum = {0};
    if (preset_add(&k->out->arena, &k->config, p->name, &sum, &k->err) < 0) {
        report_at(k, FINDING_ERROR, p->line, 1);
        return;
    }
    if (p->flags[PRESET_ALLOW_KEYCHAIN])
        report_no_effect(k, p->line, 1, "allow-keychain has no effect: Linux has no keychain");
    check_links(k, p);
    check_reads(k, p, &sum);
    check_paths(k, p);
}

int check_presets(struct checked_settings *c, const char *path, struct bk_err *err)
{
    struct checking k = {.out = c};
    check_init(c);
    k.source = source_read(&c->map, path, err);
    if (!k.source)
        return -1;
    if (presets_parse(&c->arena, k.source->name, k.source->text, k.source->len, &k.config, &k.err) <
        0) {
        check_report(c, FINDING_ERROR, check_position(k.source, &k.err), &k.err);
        return 0;
    }
    for (size_t i = 0; i < k.config.npresets; i++)
        check_preset(&k, &k.config.presets[i]);
    check_names(&k, &k.config.defaults, 0);
    for (size_t i = 0; i < k.config.nautos; i++)
        check_names(&k, &k.config.autos[i].presets, k.config.autos[i].line);
    diags_sort(&c->diags);
    return 0;
}
