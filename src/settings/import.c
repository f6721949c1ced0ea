/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Each format has a function that walks its keys. Every value goes through carry(), which checks it
 * as settings are checked and refuses what is too wide; what is not carried is noted with its
 * reason.
 */

#include "settings/import.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "settings/jsonc.h"
#include "settings/toml.h"

struct importer {
    struct settings *s;
    struct import *im;
    const char *folder; /* in which paths of the file start */
    bool failed;        /* out of memory */
};

static const struct {
    const char *name, *title;
} formats[] = {
    [IMPORT_CLAUDE] = {"claude", "Claude Code"},
    [IMPORT_CODEX] = {"codex", "Codex CLI"},
    [IMPORT_GEMINI] = {"gemini", "Gemini CLI"},
    [IMPORT_SRT] = {"srt", "sandbox-runtime"},
};

const char *import_name(enum import_from from)
{
    return formats[from].name;
}

const char *import_title(enum import_from from)
{
    return formats[from].title;
}

static void note(struct importer *i, const char *where, const char *what, const char *why)
{
    struct buf *out = &i->im->notes;
    buf_str(out, "  ");
    buf_safe(out, where, strlen(where));
    if (what) {
        buf_chr(out, ' ');
        buf_safe(out, what, strlen(what) < 200 ? strlen(what) : 200);
    }
    buf_str(out, ": ");
    buf_safe(out, why, strlen(why));
    buf_chr(out, '\n');
}

/* ---- carrying ---- */

/* Why a text with only this value would not be accepted, or NULL. */
static const char *complaint(struct importer *i, const struct setting_key *k,
                             const struct json *value)
{
    OWN(buf) struct buf text = {0};
    struct settings_findings found = {0};
    struct json *root;
    struct bk_err err;
    bool list = setting_is_list(k->shape);
    buf_fmt(&text, "{%s%s%s\"%s\": %s", *k->section ? "\"" : "", k->section,
            *k->section ? "\": {" : "", k->name, list ? "[" : "");
    jt_print(value, &text);
    buf_fmt(&text, "%s}%s", list ? "]" : "", *k->section ? "}" : "");
    struct json_text t = {.name = "", .s = text.s, .n = text.n};
    if (!buf_ok(&text))
        i->failed = true;
    else if (settings_check(&i->s->arena, &t, &root, &found, &err) < 0)
        return arena_strndup(&i->s->arena, err.msg, strlen(err.msg));
    for (const struct settings_finding *f = found.first; f; f = f->next)
        if (f->level == FINDING_ERROR)
            return f->err.msg;
    return NULL;
}

/* The part of a path before its first pattern, without "." and "..". */
static bool plain_part(const struct importer *i, const char *path, struct buf *out)
{
    OWN(buf) struct buf whole = {0};
    const char *home = i->s->home ? i->s->home : "";
    if (path[0] == '~' && (path[1] == '/' || !path[1]))
        buf_fmt(&whole, "%s%s", home, path + 1);
    else if (path[0] == '/')
        buf_str(&whole, path);
    else
        buf_fmt(&whole, "%s/%s", i->s->cwd, path);
    if (!buf_ok(&whole) || strchr(path, '$'))
        return false;
    for (const char *at = whole.s; *at; at += strspn(at, "/")) {
        size_t n = strcspn(at, "/");
        if (memchr(at, '*', n) || memchr(at, '?', n) || memchr(at, '[', n))
            break;
        bool up = n == 2 && memcmp(at, "..", 2) == 0, here = n == 0 || (n == 1 && at[0] == '.');
        while (up && out->n && out->s[--out->n] != '/')
            ;
        if (up || here) {
            at += n;
            continue;
        }
        buf_chr(out, '/');
        buf_add(out, at, n);
        at += n;
    }
    return buf_ok(out);
}

/* "/", the home folder, a folder above it, or a pattern that begins at one of them. */
static bool is_wide(const struct importer *i, const char *path)
{
    const char *home = i->s->home ? i->s->home : "";
    OWN(buf) struct buf part = {0};
    if (!plain_part(i, path, &part))
        return true;
    return !part.n ||
           (strncmp(home, part.s, part.n) == 0 && (!home[part.n] || home[part.n] == '/'));
}

static bool opens_place(const struct setting_key *k)
{
    return k == &setting_keys[SETTING_ALLOW_WRITE] || k == &setting_keys[SETTING_ALLOW_READ] ||
           k == &setting_keys[SETTING_UNIX_SOCKETS];
}

static void put(struct importer *i, const struct setting_key *k, const struct json *value)
{
    struct arena *a = &i->s->arena;
    struct json *section = i->im->settings, *copy = jt_new(a, value->kind);
    if (*k->section && !(section = jt_get(i->im->settings, k->section))) {
        section = jt_new(a, JT_OBJECT);
        if (section)
            jt_set(i->im->settings, k->section, section);
    }
    if (!section || !copy) {
        i->failed = true;
        return;
    }
    *copy = *value;
    copy->parent = copy->next = NULL;
    i->im->taken++;
    if (!setting_is_list(k->shape)) {
        jt_set(section, k->name, copy);
        return;
    }
    struct json *list = jt_get(section, k->name);
    if (!list && (list = jt_new(a, JT_ARRAY)))
        jt_set(section, k->name, list);
    for (const struct json *j = list ? list->first : NULL; j; j = j->next)
        if (jt_equal(j, copy))
            return;
    if (list)
        jt_append(list, copy);
    i->failed = i->failed || !list;
}

/* One value of a key, for a list one element. */
static void carry(struct importer *i, enum setting_id id, const struct json *value,
                  const char *where, const char *what)
{
    const struct setting_key *k = &setting_keys[id];
    const char *why = complaint(i, k, value);
    bool text = value->kind == JT_STRING;
    if (!why && text && opens_place(k) && is_wide(i, value->s))
        why =
            "too wide: it would open the home folder, everything, or a place that cannot be known";
    if (!why && id == SETTING_ENABLED && !value->truth)
        why = "Buckle stays enabled; `buckle disable` turns it off";
    if (!why && id == SETTING_FS_DISABLED && value->truth)
        why = "it would leave files without rules";
    if (!why && k->effect == EFFECT_NONE)
        why = k->brief;
    if (why)
        note(i, where, what ? what : text ? value->s : NULL, why);
    else
        put(i, k, value);
}

static void carry_text(struct importer *i, enum setting_id id, const char *text, const char *where,
                       const char *what)
{
    struct json *value = jt_string(&i->s->arena, text, strlen(text));
    if (value)
        carry(i, id, value, where, what);
    i->failed = i->failed || !value;
}

static void carry_bool(struct importer *i, enum setting_id id, bool truth, const char *where)
{
    struct json *value = jt_new(&i->s->arena, JT_BOOL);
    i->failed = i->failed || !value;
    if (!value)
        return;
    value->truth = truth;
    carry(i, id, value, where, NULL);
}

/* ---- our own format: srt's files, and `sandbox` of an agent's ---- */

static void take_section(struct importer *i, const struct json *object, const char *section)
{
    for (const struct json *j = object->first; j; j = j->next) {
        const struct setting_key *k = setting_find(section, j->key, j->nkey);
        char path[160];
        snprintf(path, sizeof(path), "%s%s%.80s", section, *section ? "." : "", j->key);
        if (!k || k->effect == EFFECT_LATER) {
            note(i, path, NULL, k ? "not supported yet" : "not a setting of Buckle");
        } else if (k->shape == SHAPE_SECTION && j->kind == JT_OBJECT) {
            take_section(i, j, k->name);
        } else if (setting_is_list(k->shape) && j->kind == JT_ARRAY) {
            for (const struct json *e = j->first; e; e = e->next)
                carry(i, (enum setting_id)(k - setting_keys), e, path, NULL);
        } else if (k != &setting_keys[SETTING_SCHEMA]) {
            carry(i, (enum setting_id)(k - setting_keys), j, path, NULL);
        }
    }
}

/* ---- Claude Code ---- */

/* A path of a rule: //x is absolute, /x starts at the settings' project, a bare name of a denial is
 * meant at any depth. NULL: not a path that can be taken over. */
static const char *rule_path(struct importer *i, const char *spec, size_t n, bool denies)
{
    OWN(buf) struct buf out = {0};
    bool absolute = n >= 2 && spec[0] == '/' && spec[1] == '/';
    if (memchr(spec, '{', n) || (n && spec[0] == '!'))
        return NULL;
    if (absolute)
        spec++, n--;
    bool rooted = !absolute && n && spec[0] == '/';
    if (n >= 3 && memcmp(spec + n - 3, "/**", 3) == 0)
        n -= 3;
    if (rooted)
        buf_str(&out, i->folder);
    else if (n >= 2 && spec[0] == '.' && spec[1] == '/')
        spec += 2, n -= 2;
    else if (!absolute && denies && n && !memchr(spec, '/', n) && spec[0] != '~')
        buf_str(&out, "**/");
    buf_add(&out, spec, n);
    if (!out.n)
        buf_str(&out, absolute ? "/" : ".");
    return buf_ok(&out) ? arena_strndup(&i->s->arena, out.s, out.n) : NULL;
}

static void take_path_rule(struct importer *i, const char *rule, const char *spec, size_t n,
                           bool denies, bool reads, const char *where)
{
    const char *path = rule_path(i, spec, n, denies);
    enum setting_id id = reads    ? SETTING_DENY_READ
                         : denies ? SETTING_DENY_WRITE
                                  : SETTING_ALLOW_WRITE;
    if (!path)
        note(i, where, rule, "not a path or pattern that Buckle knows");
    else if (reads && !denies)
        note(i, where, rule, "commands can read everything that is not denied");
    else
        carry_text(i, id, path, where, rule);
}

static void take_rule(struct importer *i, const char *rule, bool denies, const char *where)
{
    const char *open = strchr(rule, '('), *close = strrchr(rule, ')');
    size_t tool = open ? (size_t)(open - rule) : strlen(rule);
    size_t n = open && close && close > open && !close[1] ? (size_t)(close - open - 1) : 0;
    bool edits = (tool == 4 && memcmp(rule, "Edit", 4) == 0) ||
                 (tool == 5 && memcmp(rule, "Write", 5) == 0) ||
                 (tool == 9 && memcmp(rule, "MultiEdit", 9) == 0);
    bool reads = tool == 4 && memcmp(rule, "Read", 4) == 0;
    if (tool == 4 && memcmp(rule, "Bash", 4) == 0) {
        note(i, where, rule,
             denies ? "Buckle does not judge the text of commands; keep the rule where it is"
                    : "Buckle confines commands instead of approving them one by one");
    } else if ((edits || reads) && n) {
        take_path_rule(i, rule, open + 1, n, denies, reads, where);
    } else if (edits || reads) {
        note(i, where, rule, "it names no path");
    } else if (tool == 8 && memcmp(rule, "WebFetch", 8) == 0 && n > 7 &&
               memcmp(open + 1, "domain:", 7) == 0) {
        const char *host = arena_strndup(&i->s->arena, open + 8, n - 7);
        if (host)
            carry_text(i, denies ? SETTING_DENIED_DOMAINS : SETTING_ALLOWED_DOMAINS, host, where,
                       rule);
        i->failed = i->failed || !host;
    } else {
        note(i, where, rule, "about a tool that runs no commands");
    }
}

static void take_claude(struct importer *i, const struct json *root)
{
    static const char *const lists[] = {"allow", "deny", "ask"};
    const struct json *sandbox = jt_get(root, "sandbox"), *rules = jt_get(root, "permissions");
    bool object = rules && rules->kind == JT_OBJECT;
    if (sandbox && sandbox->kind == JT_OBJECT)
        take_section(i, sandbox, "");
    for (size_t l = 0; l < 3; l++) {
        const struct json *list = object ? jt_get(rules, lists[l]) : NULL;
        char where[40];
        snprintf(where, sizeof(where), "permissions.%s", lists[l]);
        for (const struct json *j = list && list->kind == JT_ARRAY ? list->first : NULL; j;
             j = j->next) {
            if (j->kind != JT_STRING || j->n != strlen(j->s))
                note(i, where, NULL, "not a rule");
            else if (l == 2)
                note(i, where, j->s,
                     "Buckle asks about hosts and protected names, not about tools");
            else
                take_rule(i, j->s, l == 1, where);
        }
    }
    const struct json *more = object ? jt_get(rules, "additionalDirectories") : NULL;
    for (const struct json *j = more && more->kind == JT_ARRAY ? more->first : NULL; j; j = j->next)
        carry(i, SETTING_ALLOW_WRITE, j, "permissions.additionalDirectories", NULL);
    const struct json *mode = object ? jt_get(rules, "defaultMode") : NULL;
    if (mode)
        note(i, "permissions.defaultMode", mode->kind == JT_STRING ? mode->s : NULL,
             "the agent sends its mode to Buckle with each command");
}

/* ---- Codex ---- */

static void take_workspace(struct importer *i, const struct json *more)
{
    const struct json *roots = more ? jt_get(more, "writable_roots") : NULL;
    const struct json *net = more ? jt_get(more, "network_access") : NULL;
    const struct json *tmp = more ? jt_get(more, "exclude_slash_tmp") : NULL;
    carry_text(i, SETTING_ALLOW_WRITE, ".", "sandbox_mode", NULL);
    for (const struct json *j = roots && roots->kind == JT_ARRAY ? roots->first : NULL; j;
         j = j->next)
        carry(i, SETTING_ALLOW_WRITE, j, "sandbox_workspace_write.writable_roots", NULL);
    if (net && net->kind == JT_BOOL && net->truth)
        carry_bool(i, SETTING_ALL_DOMAINS, true, "sandbox_workspace_write.network_access");
    if (tmp && tmp->kind == JT_BOOL && tmp->truth)
        carry_bool(i, SETTING_SHARED_TMP, true, "sandbox_workspace_write.exclude_slash_tmp");
    if (more && jt_get(more, "exclude_tmpdir_env_var"))
        note(i, "sandbox_workspace_write.exclude_tmpdir_env_var", NULL,
             "commands have a TMPDIR of their own");
}

static void take_mode(struct importer *i, const struct json *root, const char *mode)
{
    const struct json *more = jt_get(root, "sandbox_workspace_write");
    struct json *nothing = jt_new(&i->s->arena, JT_ARRAY);
    struct json *files = jt_new(&i->s->arena, JT_OBJECT);
    if (strcmp(mode, "workspace-write") == 0) {
        take_workspace(i, more && more->kind == JT_OBJECT ? more : NULL);
    } else if (strcmp(mode, "read-only") == 0 && nothing && files) {
        jt_set(files, "allowWrite", nothing);
        jt_set(i->im->settings, "filesystem", files);
        i->im->taken++;
    } else {
        note(i, "sandbox_mode", mode,
             strcmp(mode, "danger-full-access") == 0
                 ? "Buckle stays enabled; `buckle disable` turns it off"
                 : "unknown");
    }
}

static void take_codex(struct importer *i, const struct json *root)
{
    static const char *const others[] = {"permissions", "default_permissions",
                                         "profile",     "profiles",
                                         "projects",    "shell_environment_policy"};
    const struct json *mode = jt_get(root, "sandbox_mode");
    const struct json *approval = jt_get(root, "approval_policy");
    if (mode && mode->kind == JT_STRING)
        take_mode(i, root, mode->s);
    if (approval && approval->kind == JT_STRING && strcmp(approval->s, "untrusted") != 0) {
        carry_bool(i, SETTING_AUTO_ALLOW, true, "approval_policy");
        if (strcmp(approval->s, "never") == 0)
            carry_bool(i, SETTING_UNSANDBOXED, false, "approval_policy");
    } else if (approval) {
        note(i, "approval_policy", approval->kind == JT_STRING ? approval->s : NULL,
             "commands are asked about, as they are without it");
    }
    for (size_t o = 0; o < sizeof(others) / sizeof(others[0]); o++)
        if (jt_get(root, others[o]))
            note(i, others[o], NULL, "Buckle has no counterpart");
}

/* ---- Gemini ---- */

static void take_list(struct importer *i, const struct json *list, enum setting_id id,
                      const char *where)
{
    for (const struct json *j = list && list->kind == JT_ARRAY ? list->first : NULL; j; j = j->next)
        carry(i, id, j, where, NULL);
}

static void take_gemini(struct importer *i, const struct json *root)
{
    static const char *const names[] = {"core", "allowed", "exclude", "confirmationRequired"};
    const struct json *tools = jt_get(root, "tools"), *context = jt_get(root, "context");
    tools = tools && tools->kind == JT_OBJECT ? tools : jt_new(&i->s->arena, JT_OBJECT);
    if (!tools) {
        i->failed = true;
        return;
    }
    const struct json *sandbox = jt_get(tools, "sandbox"),
                      *net = jt_get(tools, "sandboxNetworkAccess");
    if (sandbox && !(sandbox->kind == JT_BOOL && !sandbox->truth))
        carry_bool(i, SETTING_ENABLED, true, "tools.sandbox");
    else if (sandbox)
        note(i, "tools.sandbox", NULL, "Buckle stays enabled; `buckle disable` turns it off");
    if (net && net->kind == JT_BOOL && net->truth)
        carry_bool(i, SETTING_ALL_DOMAINS, true, "tools.sandboxNetworkAccess");
    take_list(i, jt_get(tools, "sandboxAllowedPaths"), SETTING_ALLOW_WRITE,
              "tools.sandboxAllowedPaths");
    if (context && context->kind == JT_OBJECT)
        take_list(i, jt_get(context, "includeDirectories"), SETTING_ALLOW_WRITE,
                  "context.includeDirectories");
    for (size_t l = 0; l < 4; l++) {
        const struct json *list = jt_get(tools, names[l]);
        char where[40];
        snprintf(where, sizeof(where), "tools.%s", names[l]);
        for (const struct json *j = list && list->kind == JT_ARRAY ? list->first : NULL; j;
             j = j->next)
            if (l == 1 && j->kind == JT_STRING && strcmp(j->s, "run_shell_command") == 0)
                carry_bool(i, SETTING_AUTO_ALLOW, true, where);
            else
                note(i, where, j->kind == JT_STRING ? j->s : NULL,
                     "about the agent's tools; keep it where it is");
    }
}

/* ---- files ---- */

static enum import_from guess(const char *path, const struct json *root)
{
    size_t n = strlen(path);
    if (n > 5 && strcmp(path + n - 5, ".toml") == 0)
        return IMPORT_CODEX;
    if (jt_get(root, "permissions") || jt_get(root, "sandbox"))
        return IMPORT_CLAUDE;
    if (jt_get(root, "network") || jt_get(root, "filesystem"))
        return IMPORT_SRT;
    return jt_get(root, "tools") || jt_get(root, "context") ? IMPORT_GEMINI : IMPORT_UNKNOWN;
}

/* The folder that "/x" of Claude Code's rules is below: that of .claude, for the user's own .claude
 * itself. */
static const char *rule_folder(struct settings *s, const char *path)
{
    char real[PATH_MAX], home[PATH_MAX];
    if (!realpath(path, real))
        return s->cwd;
    *strrchr(real, '/') = '\0';
    char *last = strrchr(real, '/');
    bool claude = last && strcmp(last, "/.claude") == 0;
    if (claude) {
        *last = '\0';
        if (s->home && realpath(s->home, home) && strcmp(real, home) == 0)
            *last = '/';
    }
    return arena_strndup(&s->arena, real, strlen(real));
}

int import_read(struct settings *s, const char *path, struct import *im, struct bk_err *err)
{
    struct json_text text;
    struct jsonc doc = {0};
    size_t n = strlen(path);
    bool toml = im->from == IMPORT_CODEX || (n > 5 && strcmp(path + n - 5, ".toml") == 0);
    if (jt_load(&s->arena, path, &text, err) < 0)
        return -1;
    if (toml ? !(doc.root = toml_read(&s->arena, &text, err))
             : jsonc_read(&s->arena, &text, &doc, err) < 0)
        return -1;
    if (doc.root->kind != JT_OBJECT)
        return err_set(err, BK_E_INPUT, "%s: settings must be an object", path);
    if (!im->from)
        im->from = guess(path, doc.root);
    struct importer i = {.s = s, .im = im, .folder = rule_folder(s, path)};
    im->settings = jt_new(&s->arena, JT_OBJECT);
    if (!im->settings || !i.folder)
        return err_nomem(err);
    switch (im->from) {
    case IMPORT_CLAUDE:
        take_claude(&i, doc.root);
        break;
    case IMPORT_CODEX:
        take_codex(&i, doc.root);
        break;
    case IMPORT_GEMINI:
        take_gemini(&i, doc.root);
        break;
    case IMPORT_SRT:
        take_section(&i, doc.root, "");
        break;
    default:
        return err_set(err, BK_E_INPUT, "%s: its keys are those of no known program", path);
    }
    return i.failed || !buf_ok(&im->notes) ? err_nomem(err) : 0;
}
