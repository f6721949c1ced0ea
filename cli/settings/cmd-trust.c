/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle trust`: trusts a project's settings until they change. */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/args.h"
#include "policy/auto-presets.h"
#include "policy/registries.h"

static const struct cli_option options[] = {
    {"list", 'l', NULL, "list trusted directories", NULL},
    {"remove", 'r', NULL, "stop trusting the directory", NULL},
    {"yes", 'y', NULL, "do not ask for confirmation", NULL},
    {0},
};

static int list_trusted(struct settings *s)
{
    OWN(buf) struct buf out = {0};
    struct words folders = {0};
    struct bk_err err;
    if (settings_trust_list(s, &folders, &err) < 0)
        return cli_fail(&err);
    for (size_t i = 0; i < folders.n; i++) {
        buf_safe(&out, folders.at[i], strlen(folders.at[i]));
        buf_chr(&out, '\n');
    }
    return cli_emit(&out, CLI_OK);
}

/* Lists what the project's settings permit. */
static int show_permissions(struct settings *s, struct buf *out, struct bk_err *err)
{
    char path[96];
    for (size_t id = 0; id < SETTING_COUNT; id++) {
        struct setting_values v;
        if (settings_values(s, id, &v) < 0)
            return err_nomem(err);
        for (size_t i = 0; i < v.n; i++) {
            const char *from = v.at[i].layer->project;
            if (!from || from != s->project || !setting_opens(&setting_keys[id], v.at[i].json))
                continue;
            OWN(buf) struct buf text = {0};
            jt_print(v.at[i].json, &text);
            buf_fmt(out, "  %s: ", setting_path(&setting_keys[id], path));
            if (setting_is_map(setting_keys[id].shape)) {
                buf_safe(out, v.at[i].json->key, v.at[i].json->nkey);
                buf_str(out, ": ");
            }
            buf_safe(out, text.s, text.n ? text.n - 1 : 0);
            buf_chr(out, '\n');
        }
    }
    return 0;
}

/* Lists what its other files call for. */
static void show_more(const struct trust_more *more, struct buf *out)
{
    for (size_t i = 0; i < more->presets.n; i++)
        buf_fmt(out, "%s%s", i ? ", " : "  presets with --auto: ", more->presets.at[i]);
    if (more->presets.n)
        buf_chr(out, '\n');
    for (size_t i = 0; i < more->names.n; i++)
        buf_fmt(out, "%s%s",
                i ? ", " : "  with their presets, the registries in: ", more->names.at[i]);
    if (more->names.n)
        buf_chr(out, '\n');
}

static bool user_agrees(const char *folder, const struct buf *permits)
{
    char answer[8] = "";
    fprintf(stderr, "The settings of %s permit:\n%s", folder,
            permits->n ? permits->s : "  nothing\n");
    fprintf(stderr, "Trust them until they change? [y/N] ");
    return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static int trust_project(const struct cli_args *args, struct settings *s)
{
    OWN(buf) struct buf permits = {0};
    struct trust_more more = {0};
    struct bk_err err;
    if (settings_add_found(s, &err) < 0 || show_permissions(s, &permits, &err) < 0 ||
        auto_presets_of_project(s, &more, &err) < 0)
        return cli_fail(&err);
    show_more(&more, &permits);
    if ((s->project || permits.n) && isatty(STDIN_FILENO) && !args_has(args, "yes") &&
        !user_agrees(settings_trust_folder(s), &permits))
        return CLI_NO;
    if (settings_trust_give(s, &more, &err) < 0)
        return cli_fail(&err);
    printf("%s is trusted until its settings change\n", settings_trust_folder(s));
    return CLI_OK;
}

static int cmd_trust_run(struct cli_args *args)
{
    OWN(settings) struct settings s = {0};
    struct bk_err err;
    char folder[PATH_MAX];
    if (args->npos > 1)
        return cli_usage(args, "give at most one directory");
    if (!realpath(args->npos ? args->pos[0] : ".", folder)) {
        /* a deleted directory can still be removed from the list */
        if (!args_has(args, "remove") || !args->npos || args->pos[0][0] != '/')
            return err_sys(&err, "%s", args->npos ? args->pos[0] : "."), cli_fail(&err);
        snprintf(folder, sizeof(folder), "%s", args->pos[0]);
    }
    if (settings_init(&s, folder, &err) < 0)
        return cli_fail(&err);
    if (args_has(args, "list"))
        return list_trusted(&s);
    if (!args_has(args, "remove"))
        return trust_project(args, &s);
    return settings_trust_take(&s, folder, &err) < 0 ? cli_fail(&err) : CLI_OK;
}

const struct cli_command cmd_trust = {
    .name = "trust",
    .usage = "[OPTION…] [DIR]",
    .brief = "trust a project's settings until they change",
    .about =
        "A project's own settings (.buckle/settings.json and settings.local.json) can always\n"
        "deny. What they permit is ignored until you trust the project, and again as soon as\n"
        "a byte of them changes, since the next pull may bring different ones.\n"
        "\n"
        "Also trusts the project's files that name registries (.npmrc, .cargo/config.toml and\n"
        "similar) as they are now, and the presets that its files call for with --auto.\n"
        "\n"
        "DIR defaults to the working directory. On a terminal, shows the permissions and asks\n"
        "for confirmation first.",
    .options = options,
    .complete = "dir",
    .run = cmd_trust_run,
};
