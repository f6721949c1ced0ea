/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle check` on settings files: finds all errors, and settings without effect. */

#include "cli/profile/check-settings.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "profile/profile.h"

void check_report(struct checked_settings *c, enum finding_level level, src_pos pos,
                  const struct bk_err *err)
{
    static const enum diag_level levels[] = {
        [FINDING_ERROR] = DIAG_ERROR, [FINDING_WARNING] = DIAG_WARNING, [FINDING_NOTE] = DIAG_NOTE};
    static const char *const codes[] = {
        [FINDING_ERROR] = "settings", [FINDING_WARNING] = "settings", [FINDING_NOTE] = "no-effect"};
    struct diag *d = diag_add(&c->diags, levels[level], codes[level], pos, "%s", err->msg);
    if (d && err->hint[0])
        diag_hint(&c->diags, d, "%s", err->hint);
}

src_pos check_position(const struct source *s, const struct bk_err *err)
{
    const char *at = s->text, *end = s->text + s->len;
    for (uint32_t line = 1; line < err->line; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            break;
        at = newline + 1;
    }
    size_t col = err->col ? err->col - 1 : 0, left = (size_t)(end - at);
    return s->base + (src_pos)(at - s->text + (col < left ? col : left));
}

/* Compiles the profile of a rule for commands, as a run would. */
static void try_profile(struct checked_settings *c, const struct source *text,
                        const struct command_rule *r, const char *cwd)
{
    const struct sbpl_param params[] = {
        {"CWD", cwd}, {"TMPDIR", "/tmp/buckle"}, {"HOME", getenv("HOME") ? getenv("HOME") : "/"}};
    struct sbpl_options opt = {.os = VOCAB_OS_ANY,
                               .params = params,
                               .nparams = sizeof(params) / sizeof(params[0]),
                               .shipped_only = true,
                               .of_command = true};
    OWN(sbpl_unit) struct sbpl_unit u;
    struct graph *g = NULL;
    struct bk_err err, whole;
    sbpl_unit_init(&u, &opt);
    int added = r->text ? sbpl_add_text(&u, r->profile, r->text, r->ntext, &err)
                        : profile_add_shipped(&u, r->profile, &err);
    if (added < 0 || sbpl_compile(&u, &g, &err) < 0) {
        whole = err;
        if (err.line)
            err_set(&whole, err.code, "%.200s:%u:%u: %.200s", err.file, err.line, err.col, err.msg);
        check_report(c, FINDING_ERROR, text->base + r->profile_at, &whole);
    }
    graph_free(g);
}

/* Finds errors that show only when paths are resolved, such as an unset variable. */
static void try_paths(struct checked_settings *c, const struct source *text, const char *path)
{
    OWN(settings) struct settings s = {0};
    struct settings_result r;
    struct bk_err err;
    char cwd[PATH_MAX];
    if (!getcwd(cwd, sizeof(cwd)) || settings_init(&s, cwd, &err) < 0)
        return;
    if (settings_add_text(&s, LAYER_FLAGS, path, text->text, text->len, &err) < 0 ||
        settings_build(&s, NULL, &r, &err) < 0)
        return check_report(c, FINDING_ERROR, check_position(text, &err), &err);
    for (size_t i = 0; i < r.policy.ncommands; i++)
        if (r.policy.commands[i].profile)
            try_profile(c, text, &r.policy.commands[i], cwd);
}

void check_init(struct checked_settings *c)
{
    arena_init(&c->arena, 64 << 20);
    source_map_init(&c->map, &c->arena);
    diags_init(&c->diags);
    c->diags.map = &c->map;
}

int check_settings(struct checked_settings *c, const char *path, struct bk_err *err)
{
    struct json_text text;
    struct settings_findings found = {0};
    struct json *root;
    check_init(c);
    if (jt_load(&c->arena, path, &text, err) < 0)
        return -1;
    const struct source *s = source_add(&c->map, text.name, text.s, text.n, err);
    if (!s)
        return -1;
    if (settings_check(&c->arena, &text, &root, &found, err) < 0) {
        check_report(c, FINDING_ERROR, check_position(s, err), err);
        return 0;
    }
    for (const struct settings_finding *f = found.first; f; f = f->next)
        check_report(c, f->level, s->base + f->at, &f->err);
    if (!found.errors)
        try_paths(c, s, path);
    diags_sort(&c->diags);
    return 0;
}

void checked_settings_free(struct checked_settings *c)
{
    diags_free(&c->diags);
    arena_free(&c->arena);
}

size_t check_settings_found(struct settings *s, const char *files[LAYER_COUNT], struct bk_err *err)
{
    char cwd[PATH_MAX];
    size_t n = 0;
    if (!getcwd(cwd, sizeof(cwd)))
        return err_sys(err, "cannot find the working directory"), 0;
    if (settings_init(s, cwd, err) < 0)
        return 0;
    for (enum layer_id id = LAYER_USER; id <= LAYER_POLICY; id++) {
        const char *path = settings_layer_path(s, id);
        if (path && access(path, F_OK) == 0)
            files[n++] = path;
    }
    return n;
}
