/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle enable | disable | allow | deny | allow-net | undo`: the most common changes to settings,
 * each of which `undo` can revert.
 */

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent-view.h"
#include "base/own.h"
#include "cli/agent/control-client.h"
#include "cli/args.h"
#include "cli/settings/undo.h"
#include "vocab/protected-classes.h"

#define LAYER_OPTION                                                                               \
    {                                                                                              \
        "layer", 'l', "LAYER", "the layer to change: user, project or local (default user)",       \
            "user project local"                                                                   \
    }

#define DRY_OPTION                                                                                 \
    {                                                                                              \
        "dry-run", 'n', NULL, "print what would be added, and change nothing", NULL                \
    }

static const struct cli_option plain_options[] = {
    LAYER_OPTION,
    DRY_OPTION,
    {0},
};
static const struct cli_option path_options[] = {
    LAYER_OPTION,
    DRY_OPTION,
    {"read", 'r', NULL, "apply to reading", NULL},
    {"write", 'w', NULL, "apply to writing", NULL},
    {0},
};
static const struct cli_option allow_options[] = {
    LAYER_OPTION,
    DRY_OPTION,
    {"read", 'r', NULL, "apply to reading", NULL},
    {"write", 'w', NULL, "apply to writing", NULL},
    {"protected", 0, "CLASS,…", "do not protect names of these classes; see `buckle run --help`",
     protected_class_words},
    {0},
};

static int open_settings(struct settings *s, struct bk_err *err)
{
    char cwd[PATH_MAX];
    if (!getcwd(cwd, sizeof(cwd)))
        return err_sys(err, "cannot find the working directory");
    return settings_init(s, cwd, err);
}

static int choose_layer(const struct cli_args *args, enum layer_id *id, struct bk_err *err)
{
    static const enum layer_id layers[] = {LAYER_USER, LAYER_PROJECT, LAYER_LOCAL};
    const char *name = args_value(args, "layer");
    *id = LAYER_USER;
    for (size_t i = 0; i < 3 && name; i++)
        if (strcmp(settings_layer_name(layers[i]), name) == 0) {
            *id = layers[i];
            return 0;
        }
    return name ? err_set(err, BK_E_INPUT, "--layer must be user, project or local, not %s", name)
                : 0;
}

static int apply_changes(struct settings *s, enum layer_id id, const struct settings_change *list,
                         size_t n, const char *words, struct bk_err *err)
{
    if (undo_make_changes(s, id, list, n, words, err) < 0)
        return -1;
    fprintf(stderr, "buckle: %s, in %s\n", words, settings_layer_path(s, id));
    return 0;
}

/* "/home/me/.config/buckle/settings.json: filesystem.allowWrite: /srv" for each. */
static int show_changes(struct settings *s, enum layer_id id, const struct settings_change *list,
                        size_t n)
{
    const char *path = settings_layer_path(s, id);
    OWN(buf) struct buf out = {0};
    for (size_t i = 0; i < n; i++) {
        buf_safe(&out, path ? path : "", path ? strlen(path) : 0);
        buf_fmt(&out, ": %s: ", list[i].key);
        buf_safe(&out, list[i].value, strlen(list[i].value));
        buf_chr(&out, '\n');
    }
    return cli_emit(&out, CLI_OK);
}

static int change_settings(const struct cli_args *args, const struct settings_change *list,
                           size_t n, const char *words)
{
    OWN(settings) struct settings s = {0};
    enum layer_id id;
    struct bk_err err;
    if (open_settings(&s, &err) < 0 || choose_layer(args, &id, &err) < 0)
        return cli_fail(&err);
    if (args_has(args, "dry-run"))
        return show_changes(&s, id, list, n);
    if (apply_changes(&s, id, list, n, words, &err) < 0)
        return cli_fail(&err);
    return CLI_OK;
}

/* ---- on and off ---- */

/* Warns if another layer overrides the change. */
static void warn_overridden(bool wanted)
{
    OWN(agent_view) struct agent_view v = {0};
    struct bk_err err;
    char cwd[PATH_MAX];
    if (getcwd(cwd, sizeof(cwd)) && view_read(&v, cwd, NULL, 0, &err) == 0 &&
        v.result.enabled != wanted)
        fprintf(stderr, "buckle: but other settings keep it %s here (see `buckle status`)\n",
                wanted ? "disabled" : "enabled");
}

static int set_enabled(struct cli_args *args, bool on)
{
    const struct settings_change one = {EDIT_SET, "enabled", on ? "true" : "false"};
    if (args->npos)
        return cli_usage(args, "%s takes options only", on ? "enable" : "disable");
    int status =
        change_settings(args, &one, 1, on ? "sandboxing is enabled" : "sandboxing is disabled");
    if (status == CLI_OK && !args_has(args, "dry-run"))
        warn_overridden(on);
    return status;
}

static int run_enable(struct cli_args *args)
{
    return set_enabled(args, true);
}

static int run_disable(struct cli_args *args)
{
    return set_enabled(args, false);
}

/* ---- paths and hosts ---- */

/* Whether any settings list writable paths; if not, the working directory is writable. */
static bool writes_are_listed(struct bk_err *err)
{
    OWN(settings) struct settings s = {0};
    struct setting_values v;
    return open_settings(&s, err) == 0 && settings_add_found(&s, err) == 0 &&
           settings_values(&s, SETTING_ALLOW_WRITE, &v) == 0 && v.n > 0;
}

static int wrong_class(const char *word, size_t n)
{
    struct bk_err err;
    err_set(&err, BK_E_INPUT, "there is no class of protected names %.*s", n < 80 ? (int)n : 80,
            word);
    err_hint(&err, "the classes are %s", protected_class_words);
    return cli_fail(&err);
}

/* Adds each class to the list in settings. */
static int allow_protected(struct cli_args *args, const char *given)
{
    OWN(buf) struct buf words = {0};
    struct settings_change list[PROTECTED_CLASSES];
    unsigned set = 0;
    size_t n = 0, len;
    const char *word;
    if (args->npos || args_has(args, "read") || args_has(args, "write"))
        return cli_usage(args, "--protected takes classes, and no path");
    if (!protected_classes_read(given, &set, &word, &len))
        return wrong_class(word, len);
    buf_str(&words, "names of these classes are not protected:");
    for (size_t i = 0; i < PROTECTED_CLASSES; i++)
        if (set >> i & 1) {
            list[n++] = (struct settings_change){EDIT_ADD, "filesystem.allowProtected",
                                                 protected_classes[i].name};
            buf_fmt(&words, "%s %s", n > 1 ? "," : "", protected_classes[i].name);
        }
    return change_settings(args, list, n, words.s ? words.s : "");
}

static int run_allow(struct cli_args *args)
{
    if (args_has(args, "protected"))
        return allow_protected(args, args_value(args, "protected"));

    OWN(buf) struct buf path = {0};
    OWN(buf) struct buf words = {0};
    struct bk_err err;
    struct settings_change list[3];
    size_t n = 0;
    bool read = args_has(args, "read"), write = args_has(args, "write") || !read;
    if (args->npos != 1)
        return cli_usage(args, "no path given");
    if (control_client_absolute(args->pos[0], &path, &err) < 0)
        return cli_fail(&err);
    if (write && !writes_are_listed(&err))
        list[n++] = (struct settings_change){EDIT_ADD, "filesystem.allowWrite", "."};
    if (write)
        list[n++] = (struct settings_change){EDIT_ADD, "filesystem.allowWrite", path.s};
    if (read)
        list[n++] = (struct settings_change){EDIT_ADD, "filesystem.allowRead", path.s};
    buf_fmt(&words, "%s %s is allowed",
            read && write ? "reading and writing"
            : read        ? "reading"
                          : "writing",
            path.s);
    return change_settings(args, list, n, words.s ? words.s : "");
}

static int run_deny(struct cli_args *args)
{
    OWN(buf) struct buf path = {0};
    OWN(buf) struct buf words = {0};
    struct bk_err err;
    struct settings_change list[2];
    size_t n = 0;
    bool both = args_has(args, "read") == args_has(args, "write");
    if (args->npos != 1)
        return cli_usage(args, "no path given");
    if (control_client_absolute(args->pos[0], &path, &err) < 0)
        return cli_fail(&err);
    if (both || args_has(args, "read"))
        list[n++] = (struct settings_change){EDIT_ADD, "filesystem.denyRead", path.s};
    if (both || args_has(args, "write"))
        list[n++] = (struct settings_change){EDIT_ADD, "filesystem.denyWrite", path.s};
    buf_fmt(&words, "%s %s is denied",
            both                     ? "reading and writing"
            : args_has(args, "read") ? "reading"
                                     : "writing",
            path.s);
    return change_settings(args, list, n, words.s ? words.s : "");
}

static int run_allow_net(struct cli_args *args)
{
    OWN(buf) struct buf words = {0};
    if (args->npos != 1)
        return cli_usage(args, "no host given");
    struct settings_change one = {EDIT_ADD, "network.allowedDomains", args->pos[0]};
    buf_fmt(&words, "connecting to %s is allowed", args->pos[0]);
    return change_settings(args, &one, 1, words.s ? words.s : "");
}

/* ---- undo ---- */

static int run_undo(struct cli_args *args)
{
    OWN(settings) struct settings s = {0};
    OWN(buf) struct buf words = {0};
    struct bk_err err;
    if (args->npos)
        return cli_usage(args, "undo takes options only");
    if (open_settings(&s, &err) < 0)
        return cli_fail(&err);
    OWN(settings_lock) struct settings_lock lock = SETTINGS_UNLOCKED;
    if (undo_lock(&s, &lock, &err) < 0)
        return cli_fail(&err);
    int undone = undo_last(&s, &words, &err);
    if (undone < 0)
        return cli_fail(&err);
    fprintf(stderr, "buckle: %s\n", undone ? "there is nothing to undo" : words.s ? words.s : "");
    return undone ? CLI_NO : CLI_OK;
}

/* ---- the commands ---- */

const struct cli_command cmd_enable = {
    .name = "enable",
    .usage = "[--layer LAYER] [--dry-run]",
    .brief = "run agents' commands in the sandbox",
    .about = "Sets `enabled` to true in the user's settings, or in another layer. `buckle undo`\n"
             "reverts it.",
    .options = plain_options,
    .run = run_enable,
};

const struct cli_command cmd_disable = {
    .name = "disable",
    .usage = "[--layer LAYER] [--dry-run]",
    .brief = "run agents' commands without a sandbox",
    .about = "Sets `enabled` to false in the user's settings, or in another layer. The machine's\n"
             "policy can override it. `buckle run` still sandboxes. `buckle undo` reverts it.",
    .options = plain_options,
    .run = run_disable,
};

const struct cli_command cmd_allow = {
    .name = "allow",
    .usage = "[--read] [--write] [--layer LAYER] PATH | --protected CLASS,…",
    .brief = "permanently allow writing to a path",
    .about =
        "Adds PATH to filesystem.allowWrite in the user's settings, or with --read to allowRead.\n"
        "If no settings list writable paths yet, adds the working directory as well, so that it\n"
        "stays writable. With --protected, adds classes to filesystem.allowProtected: names of\n"
        "these classes are not protected where the policy lets commands write. `buckle undo`\n"
        "reverts it; `buckle grant` is for one run only.",
    .options = allow_options,
    .complete = "file",
    .run = run_allow,
};

const struct cli_command cmd_deny = {
    .name = "deny",
    .usage = "[--read] [--write] [--layer LAYER] PATH",
    .brief = "permanently deny reading and writing a path",
    .about = "Adds PATH to filesystem.denyRead and denyWrite in the user's settings, or to one of\n"
             "them with --read or --write. `buckle undo` reverts it.",
    .options = path_options,
    .complete = "file",
    .run = run_deny,
};

const struct cli_command cmd_allow_net = {
    .name = "allow-net",
    .usage = "[--layer LAYER] HOST[:PORT]",
    .brief = "permanently allow connections to a host",
    .about =
        "Adds HOST to network.allowedDomains in the user's settings. `buckle undo` reverts it.",
    .options = plain_options,
    .run = run_allow_net,
};

const struct cli_command cmd_undo = {
    .name = "undo",
    .usage = "",
    .brief = "undo the last change to settings",
    .about = "Reverts the last change that enable, disable, allow, deny, allow-net or settings\n"
             "made to a settings file. Repeat it to revert earlier changes.\n"
             "\n"
             "Exit status: 0 on success, 1 if there is nothing to undo, 2 on error.",
    .options = plain_options + 2,
    .run = run_undo,
};
