/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle settings`: shows the combined settings of all layers, with the origin of each value and
 * the values that are ignored; or changes one key in the file of one layer.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "base/text-diff.h"
#include "cli/args.h"
#include "cli/settings/import-file.h"
#include "cli/settings/undo.h"
#include "settings/settings.h"

static const struct cli_option options[] = {
    {"layer", 'l', "LAYER", "the layer to change: user, project, local or policy",
     "user project local policy"},
    {"settings", 's', "FILE", "include these settings, as `buckle run` would", "file"},
    {"from", 0, "PROGRAM", "import: whose settings these are (default: by the file)",
     "claude codex gemini srt"},
    {"write", 0, NULL, "import: change the file; without it, only print the difference", NULL},
    {"dry-run", 'n', NULL, "set, add, remove: print the difference, and change nothing", NULL},
    {"json", 'j', NULL, "print one JSON document", NULL},
    {"keys", 0, NULL, "list all keys", NULL},
    {"schema", 0, NULL, "print the JSON Schema", NULL},
    {"files", 0, NULL, "list the settings files, including missing ones", NULL},
    {0},
};

static const char *const effects[] = {[EFFECT_USED] = "",
                                      [EFFECT_MACOS] = " (macOS only)",
                                      [EFFECT_HOST] = " (for programs that start commands)",
                                      [EFFECT_NONE] = " (accepted, no effect)",
                                      [EFFECT_LATER] = " (not implemented yet)"};

/* ---- lists ---- */

/* Whether some value of the key permits more, so that it counts only in a trusted project. */
static bool can_open(const struct setting_key *k)
{
    return k->stance == STANCE_OPENS || (k->stance == STANCE_CLOSES && k->shape == SHAPE_BOOL);
}

static int list_keys(bool json)
{
    OWN(buf) struct buf out = {0};
    char path[96];
    buf_str(&out, json ? "[" : "");
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting_key *k = &setting_keys[i];
        setting_path(k, path);
        if (!json) {
            buf_fmt(&out, "%-34s %s%s\n", path, k->brief, effects[k->effect]);
            continue;
        }
        buf_fmt(&out, "%s\n  {\"key\": \"%s\", \"takes\": ", i ? "," : "", path);
        const char *takes = setting_shape_word(k->shape);
        buf_json(&out, takes, strlen(takes));
        buf_str(&out, ", \"brief\": ");
        buf_json(&out, k->brief, strlen(k->brief));
        buf_fmt(&out, ", \"opens\": %s, \"effect\": \"%s\"}", can_open(k) ? "true" : "false",
                k->effect == EFFECT_USED    ? "used"
                : k->effect == EFFECT_MACOS ? "macos"
                : k->effect == EFFECT_HOST  ? "host"
                : k->effect == EFFECT_NONE  ? "none"
                                            : "later");
    }
    buf_str(&out, json ? "\n]\n" : "");
    return cli_emit(&out, CLI_OK);
}

static int list_files(struct settings *s)
{
    OWN(buf) struct buf out = {0};
    for (enum layer_id id = LAYER_USER; id <= LAYER_POLICY; id++) {
        const char *path = settings_layer_path(s, id);
        if (!path)
            continue;
        buf_fmt(&out, "%-8s ", settings_layer_name(id));
        buf_safe(&out, path, strlen(path));
        buf_str(&out, access(path, F_OK) == 0 ? "\n" : "  (missing)\n");
    }
    return cli_emit(&out, CLI_OK);
}

/* ---- showing ---- */

static void print_value(const struct setting_value *v, const struct setting_key *k, struct buf *out)
{
    OWN(buf) struct buf text = {0};
    if (setting_is_map(k->shape)) {
        buf_safe(out, v->json->key, v->json->nkey);
        buf_str(out, ": ");
    }
    if (v->json->kind == JT_STRING) {
        buf_safe(out, v->json->s, v->json->n);
        return;
    }
    jt_print(v->json, &text);
    bool space = false; /* on one line */
    for (size_t i = 0; i + 1 < text.n; i++) {
        char c = text.s[i];
        if (c != '\n' && !(space && c == ' '))
            buf_safe(out, &c, 1);
        space = c == '\n' || (space && c == ' ');
    }
}

static void print_origin(const struct settings *s, const struct setting_value *v, struct buf *out)
{
    const struct settings_layer *l = v->layer;
    if (l->id == LAYER_DEFAULTS) {
        buf_str(out, "by default");
    } else if (settings_by_file(s, l)) {
        buf_safe(out, l->text.name, strlen(l->text.name));
    } else {
        buf_fmt(out, "%s settings", settings_layer_name(l->id));
    }
    if (l->id != LAYER_DEFAULTS)
        buf_fmt(out, ", line %u", jt_line(&l->text, v->json->at));
    if (v->ignored)
        buf_fmt(out, "; ignored: %s", v->ignored);
}

static int show_text(struct settings *s, struct buf *out)
{
    char path[96];
    for (size_t id = 0; id < SETTING_COUNT; id++) {
        const struct setting_key *k = &setting_keys[id];
        struct setting_values v;
        if (settings_values(s, id, &v) < 0)
            return -1;
        if (!v.n || k->shape == SHAPE_SECTION)
            continue;
        buf_fmt(out, "%s\n", setting_path(k, path));
        for (size_t i = 0; i < v.n; i++) {
            size_t from = out->n;
            if (v.at[i].ignored && v.at[i].layer->id == LAYER_DEFAULTS)
                continue;
            buf_str(out, v.at[i].ignored ? "  - " : "    ");
            print_value(&v.at[i], k, out);
            do
                buf_chr(out, ' ');
            while (out->n - from < 40 && buf_ok(out));
            buf_chr(out, ' ');
            print_origin(s, &v.at[i], out);
            buf_chr(out, '\n');
        }
    }
    return 0;
}

static void value_json(const struct setting_value *v, const struct setting_key *k, struct buf *out)
{
    OWN(buf) struct buf text = {0};
    const struct settings_layer *l = v->layer;
    buf_str(out, "{");
    if (setting_is_map(k->shape)) {
        buf_str(out, "\"name\": ");
        buf_json(out, v->json->key, v->json->nkey);
        buf_str(out, ", ");
    }
    jt_print(v->json, &text);
    buf_str(out, "\"value\": ");
    buf_add(out, text.s, text.n ? text.n - 1 : 0);
    buf_fmt(out, ", \"layer\": \"%s\"", settings_layer_name(l->id));
    if (l->path) {
        buf_str(out, ", \"file\": ");
        buf_json(out, l->path, strlen(l->path));
        buf_fmt(out, ", \"line\": %u", jt_line(&l->text, v->json->at));
    }
    buf_fmt(out, ", \"counts\": %s", v->ignored ? "false" : "true");
    if (v->ignored)
        buf_fmt(out, ", \"why\": \"%s\"", v->ignored);
    buf_chr(out, '}');
}

static int show_json(struct settings *s, struct buf *out)
{
    char path[96];
    bool first = true;
    buf_str(out, "{");
    for (size_t id = 0; id < SETTING_COUNT; id++) {
        const struct setting_key *k = &setting_keys[id];
        struct setting_values v;
        if (settings_values(s, id, &v) < 0)
            return -1;
        if (!v.n || k->shape == SHAPE_SECTION)
            continue;
        buf_fmt(out, "%s\n  \"%s\": [", first ? "" : ",", setting_path(k, path));
        first = false;
        for (size_t i = 0; i < v.n; i++) {
            buf_str(out, i ? ",\n    " : "\n    ");
            value_json(&v.at[i], k, out);
        }
        buf_str(out, "\n  ]");
    }
    buf_str(out, "\n}\n");
    return 0;
}

static int show_settings(const struct cli_args *args, struct settings *s)
{
    OWN(buf) struct buf out = {0};
    struct bk_err err;
    const char *file;
    if (settings_add_found(s, &err) < 0)
        return cli_fail(&err);
    for (size_t i = 0; (file = args_nth(args, "settings", i)); i++)
        if (settings_add_file(s, LAYER_FLAGS, file, &err) < 0)
            return cli_fail(&err);
    if (settings_add_defaults(s, &err) < 0)
        return cli_fail(&err);
    if ((args_has(args, "json") ? show_json : show_text)(s, &out) < 0)
        return err_nomem(&err), cli_fail(&err);
    int status = cli_emit(&out, CLI_OK);
    const char *project = settings_distrusted(s);
    if (status == CLI_OK && project)
        fprintf(stderr,
                "buckle: the permissions that %s sets are ignored: %s\n  hint: review them, then "
                "run `buckle trust`\n",
                project,
                settings_trust(s, project) == TRUST_CHANGED
                    ? "its settings have changed since you trusted them"
                    : "the project is not trusted");
    return status;
}

/* ---- changing ---- */

static int find_layer(const struct cli_args *args, enum layer_id *out)
{
    const char *name = args_value(args, "layer");
    *out = LAYER_USER;
    if (!name)
        return 0;
    for (enum layer_id id = LAYER_USER; id <= LAYER_POLICY; id++)
        if (id != LAYER_FLAGS && strcmp(settings_layer_name(id), name) == 0) {
            *out = id;
            return 0;
        }
    return -1;
}

/* What one change would make of the file. */
static int show_change(struct settings *s, enum layer_id layer, enum settings_edit how,
                       const char *key, const char *value)
{
    const char *path = settings_layer_path(s, layer);
    OWN(buf) struct buf text = {0};
    OWN(buf) struct buf out = {0};
    OWN(mem) char *was = NULL;
    struct bk_err err = {0};
    size_t n = 0;
    if (settings_try_edit(s, layer, how, key, value, &text, &err) < 0)
        return cli_fail(&err);
    OWN(file) FILE *f = fopen(path, "re");
    ssize_t nwas = f ? getdelim(&was, &n, '\0', f) : -1;
    text_diff(path, nwas < 0 ? NULL : was, nwas < 0 ? 0 : (size_t)nwas, text.s, text.n, &out);
    return cli_emit(&out, CLI_OK);
}

/* All values or none. Without a home folder there is nothing that could undo it. */
static int make_changes(const struct cli_args *args, struct settings *s, enum layer_id layer,
                        enum settings_edit how)
{
    size_t n = args->npos > 2 ? args->npos - 2 : 1;
    OWN(mem) struct settings_change *list = calloc(n, sizeof(*list));
    OWN(buf) struct buf words = {0};
    struct bk_err err = {0};
    buf_str(&words, "settings");
    for (size_t i = 0; i < args->npos; i++) {
        buf_chr(&words, ' ');
        buf_safe(&words, args->pos[i], strnlen(args->pos[i], 200));
    }
    if (!list || !buf_ok(&words))
        return err_nomem(&err), cli_fail(&err);
    for (size_t i = 0; i < n; i++)
        list[i] =
            (struct settings_change){how, args->pos[1], args->npos > 2 ? args->pos[2 + i] : NULL};
    int failed = s->config ? undo_make_changes(s, layer, list, n, words.s, &err) : 0;
    for (size_t i = 0; i < n && !s->config && !failed; i++)
        failed = settings_edit(s, layer, how, list[i].key, list[i].value, &err);
    return failed < 0 ? cli_fail(&err) : CLI_OK;
}

static int change_key(const struct cli_args *args, struct settings *s, enum settings_edit how)
{
    enum layer_id layer;
    size_t want = how == EDIT_REMOVE ? 2 : 3;
    if (find_layer(args, &layer) < 0)
        return cli_usage(args, "--layer must be user, project, local or policy");
    if (args->npos < want)
        return cli_usage(args, args->npos < 2 ? "no key given" : "no value given");
    if (how == EDIT_SET && args->npos > 3)
        return cli_usage(args, "give one value; write a list as JSON: '[\"a\", \"b\"]'");
    if (args_has(args, "dry-run"))
        return show_change(s, layer, how, args->pos[1], args->npos > 2 ? args->pos[2] : NULL);
    return make_changes(args, s, layer, how);
}

static int cmd_settings_run(struct cli_args *args)
{
    static const char *const verbs[] = {"set", "add", "remove"};
    OWN(settings) struct settings s = {0};
    OWN(buf) struct buf out = {0};
    struct bk_err err;
    char cwd[PATH_MAX];
    if (args_has(args, "schema")) {
        settings_schema(&out);
        return cli_emit(&out, CLI_OK);
    }
    if (args_has(args, "keys"))
        return list_keys(args_has(args, "json"));
    if (!getcwd(cwd, sizeof(cwd)))
        return err_sys(&err, "cannot find the working directory"), cli_fail(&err);
    if (settings_init(&s, cwd, &err) < 0)
        return cli_fail(&err);
    if (args_has(args, "files"))
        return list_files(&s);
    for (size_t i = 0; i < 3 && args->npos; i++)
        if (strcmp(args->pos[0], verbs[i]) == 0)
            return change_key(args, &s, (enum settings_edit)i);
    if (args->npos && strcmp(args->pos[0], "import") == 0) {
        enum layer_id layer;
        if (find_layer(args, &layer) < 0)
            return cli_usage(args, "--layer must be user, project, local or policy");
        return import_file(args, &s, layer);
    }
    if (args->npos && strcmp(args->pos[0], "show") != 0)
        return cli_usage(args, "unknown action %s: use show, set, add, remove or import",
                         args->pos[0]);
    return show_settings(args, &s);
}

const struct cli_command cmd_settings = {
    .name = "settings",
    .usage = "[show | set KEY VALUE | add KEY VALUE… | remove KEY [VALUE…] | import FILE]",
    .brief = "show the settings in force, or change them",
    .about =
        "Shows every setting for commands started here, with the file and line it comes from,\n"
        "and settings that are ignored. The layers, from weakest to strongest: user, project,\n"
        "local, --settings FILE, policy. The denials of all layers add up. Permissions that a\n"
        "project's own files set are ignored until `buckle trust`.\n"
        "\n"
        "set, add and remove change one key in one file (--layer, by default the user's). A\n"
        "VALUE is JSON or a word: buckle settings add network.allowedDomains example.com\n"
        "`buckle undo` reverts the last change.\n"
        "\n"
        "import takes over the permission settings of Claude Code, Codex CLI, Gemini CLI or srt. "
        "It\n"
        "prints the difference to the layer's file, and what has no counterpart; --write changes "
        "the\n"
        "file. `buckle undo` reverts it.",
    .options = options,
    .complete = "show|set|add|remove|import setting",
    .run = cmd_settings_run,
};
