/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Gemini CLI's rules about shell commands: its policy files (docs/reference/policy-engine.md in its
 * repository) and the older lists tools.exclude and tools.allowed of its settings. Gemini calls
 * hooks first and then applies its rules to the command that they return, where a prefix of the
 * original does not fit any more. A hook can refuse or have the user asked; it cannot approve.
 *
 * Of the rules that fit a command, the one with the highest tier and priority counts. Rules with
 * regular expressions are applied as far as POSIX knows them; what it does not know is asked about.
 */

#include <dirent.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/client-rules.h"
#include "agent/line-parts.h"
#include "base/own.h"
#include "settings/jsonc.h"
#include "settings/toml.h"

enum { MEMORY = 8 << 20, WORDS = 8192, FILES = 64 };
enum tier { TIER_WORKSPACE = 3, TIER_USER, TIER_ADMIN };
/* What the lists of settings count as, among rules of the user. */
enum { EXCLUDED = 999, ALLOWED = 300 };

/* One simple command, and the best rule for it so far. */
struct judged {
    const char *words;
    const char *mode; /* Gemini's approval mode, or NULL */
    long best;
    enum client_rule says;
};

static void take(struct judged *j, enum tier tier, long priority, enum client_rule says)
{
    long rank = tier * 1000L + priority;
    if (rank < j->best || (rank == j->best && says < j->says))
        return;
    j->best = rank;
    j->says = says;
}

/* As Gemini reads a prefix: up to the end of a word. */
static bool begins(const char *words, const char *prefix)
{
    size_t n = strlen(prefix);
    while (n > 0 && prefix[n - 1] == ' ')
        n--;
    return strncmp(words, prefix, n) == 0 && (!words[n] || strchr(" \t\n\"'", words[n]));
}

/* Whether a string is the value, or one of its elements fits. */
typedef bool fits_fn(const char *words, const char *value);

static bool is_tool(const char *unused, const char *name)
{
    (void)unused;
    return strcmp(name, "run_shell_command") == 0 || strcmp(name, "*") == 0;
}

static bool is_same(const char *words, const char *value)
{
    return strcmp(words, value) == 0;
}

static bool any_fits(const struct json *value, fits_fn *fits, const char *words)
{
    if (value && value->kind == JT_STRING)
        return fits(words, value->s);
    bool list = value && value->kind == JT_ARRAY;
    for (const struct json *e = list ? value->first : NULL; e; e = e->next)
        if (e->kind == JT_STRING && fits(words, e->s))
            return true;
    return false;
}

/* 1: fits; 0: does not; -1: nobody knows. The text is the JSON of the arguments. */
static int fits_regex(const char *words, const char *before, const char *pattern)
{
    OWN(buf) struct buf json = {0};
    OWN(buf) struct buf whole = {0};
    regex_t compiled;
    buf_str(&json, "{\"command\":");
    buf_json(&json, words, strlen(words));
    buf_chr(&json, '}');
    buf_fmt(&whole, "%s%s", before, pattern);
    if (!buf_ok(&json) || !buf_ok(&whole) || strstr(pattern, "(?") || strstr(pattern, "\\d") ||
        regcomp(&compiled, whole.s, REG_EXTENDED | REG_NOSUB) != 0)
        return -1;
    int result = regexec(&compiled, json.s, 0, NULL, 0);
    regfree(&compiled);
    return result == 0;
}

static int fits_rule(const struct json *rule, const struct judged *j)
{
    const struct json *tool = jt_get(rule, "toolName"), *prefix = jt_get(rule, "commandPrefix");
    const struct json *regex = jt_get(rule, "commandRegex"), *args = jt_get(rule, "argsPattern");
    const struct json *modes = jt_get(rule, "modes");
    if (jt_get(rule, "mcpName") || jt_get(rule, "subagent") || jt_get(rule, "toolAnnotations"))
        return 0;
    if (tool ? !any_fits(tool, is_tool, "") : !prefix && !regex)
        return 0;
    if (modes && modes->count && j->mode && !any_fits(modes, is_same, j->mode))
        return 0;
    if (prefix)
        return any_fits(prefix, begins, j->words);
    if (regex && regex->kind == JT_STRING)
        return fits_regex(j->words, "\"command\":\"", regex->s);
    return args && args->kind == JT_STRING ? fits_regex(j->words, "", args->s) : 1;
}

static void apply_rule(const struct json *rule, enum tier tier, struct judged *j)
{
    static const char *const decisions[] = {"", "allow", "ask_user", "deny"}; /* enum client_rule */
    const struct json *decision = jt_get(rule, "decision"), *number = jt_get(rule, "priority");
    int fits = rule->kind == JT_OBJECT ? fits_rule(rule, j) : 0;
    for (int i = CLIENT_ALLOWS; fits && i <= CLIENT_DENIES; i++)
        if (decision && decision->kind == JT_STRING && strcmp(decision->s, decisions[i]) == 0)
            take(j, tier, number ? (long)number->number : 0,
                 fits < 0 ? CLIENT_ASKS : (enum client_rule)i);
}

/* run_shell_command(git status), or the tool's older name */
static void apply_list(const struct json *list, long priority, enum client_rule says,
                       struct judged *j)
{
    static const char *const tools[] = {"run_shell_command(", "ShellTool("};
    bool array = list && list->kind == JT_ARRAY;
    for (const struct json *e = array ? list->first : NULL; e; e = e->next)
        for (size_t i = 0; e->kind == JT_STRING && i < 2; i++) {
            char prefix[WORDS];
            size_t n = strlen(tools[i]);
            if (e->n <= n + 1 || e->n - n >= WORDS || strncmp(e->s, tools[i], n) != 0)
                continue;
            snprintf(prefix, sizeof(prefix), "%.*s", (int)(e->n - n - 1), e->s + n);
            if (begins(j->words, prefix))
                take(j, TIER_USER, priority, says);
        }
}

/* ---- files ---- */

struct found {
    struct json *root;
    enum tier tier;
    bool policy;
};

struct files {
    struct arena arena;
    struct found at[FILES];
    size_t n;
};

static void read_file(struct files *f, const char *path, enum tier tier, bool policy)
{
    struct json_text text;
    struct bk_err err;
    struct jsonc doc = {0};
    if (f->n == FILES || jt_load(&f->arena, path, &text, &err) < 0)
        return;
    if (policy)
        doc.root = toml_read(&f->arena, &text, &err);
    else if (jsonc_read(&f->arena, &text, &doc, &err) < 0)
        doc.root = NULL;
    if (doc.root && doc.root->kind == JT_OBJECT)
        f->at[f->n++] = (struct found){doc.root, tier, policy};
}

static void read_folder(struct files *f, const char *folder, enum tier tier)
{
    char path[PATH_MAX + 300];
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n <= 5 || strcmp(e->d_name + n - 5, ".toml") != 0)
            continue;
        snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX, folder, e->d_name);
        read_file(f, path, tier, true);
    }
    if (d)
        closedir(d);
}

static void read_all(struct files *f, const char *root)
{
    char path[PATH_MAX + 64];
    const char *home = getenv("HOME");
    const struct {
        const char *base, *settings, *policies;
        enum tier tier;
    } places[] = {{"", "/etc/gemini-cli/settings.json", "/etc/gemini-cli/policies", TIER_ADMIN},
                  {home, "/.gemini/settings.json", "/.gemini/policies", TIER_USER},
                  {root, "/.gemini/settings.json", "/.gemini/policies", TIER_WORKSPACE}};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (!places[i].base)
            continue;
        snprintf(path, sizeof(path), "%s%s", places[i].base, places[i].settings);
        read_file(f, path, places[i].tier, false);
        snprintf(path, sizeof(path), "%s%s", places[i].base, places[i].policies);
        read_folder(f, path, places[i].tier);
    }
}

/* ---- one command ---- */

static enum client_rule rule_of(const struct files *f, const char *words, const char *mode)
{
    struct judged j = {.words = words, .mode = mode, .best = -1};
    for (size_t i = 0; i < f->n; i++) {
        const struct json *root = f->at[i].root, *rules = jt_get(root, "rule");
        const struct json *tools = f->at[i].policy ? NULL : jt_get(root, "tools");
        bool list = f->at[i].policy && rules && rules->kind == JT_ARRAY;
        for (const struct json *r = list ? rules->first : NULL; r; r = r->next)
            apply_rule(r, f->at[i].tier, &j);
        if (!tools || tools->kind != JT_OBJECT)
            continue;
        apply_list(jt_get(tools, "exclude"), EXCLUDED, CLIENT_DENIES, &j);
        apply_list(jt_get(tools, "allowed"), ALLOWED, CLIENT_ALLOWS, &j);
    }
    return j.says;
}

/* The strictest of the line's commands. Gemini decides about what it allows itself. */
enum client_rule gemini_rule_about(const struct hook_call *call, const char *root)
{
    static struct files f;
    struct line_parts parts;
    enum client_rule worst = CLIENT_SILENT;
    char words[WORDS];
    f.n = 0;
    arena_init(&f.arena, MEMORY);
    read_all(&f, root);
    line_split_all(call->command, &parts);
    for (size_t i = 0; f.n && i < parts.n; i++)
        for (int behind = 0; behind < 2; behind++) {
            line_words(behind ? line_skip_prefix(parts.at[i]) : parts.at[i], words, sizeof(words));
            enum client_rule one = rule_of(&f, words, call->mode);
            worst = one > worst ? one : worst;
        }
    arena_free(&f.arena);
    return worst == CLIENT_ALLOWS ? CLIENT_SILENT : worst;
}
