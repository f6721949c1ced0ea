/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Rules are texts: `Bash` is every command, `Bash(git push:*)` some (decide.h has the patterns). A
 * line with several commands is allowed if each of them is, and denied if one of them is. If a line
 * is too complex to be split, it is not allowed, and it is denied as soon as any piece of it looks
 * like a denied command.
 */

#include "agent/client-rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/line-parts.h"
#include "base/own.h"

/* The pattern of a rule about this tool: "" is every command. NULL if it is about another tool. */
static const char *pattern_of(const char *rule, const char *tool, char out[4096])
{
    size_t n = strlen(tool), len = strlen(rule);
    if (strncmp(rule, tool, n) != 0)
        return NULL;
    if (len == n)
        return "";
    if (rule[n] != '(' || rule[len - 1] != ')' || len - n - 2 >= 4096)
        return NULL;
    snprintf(out, 4096, "%.*s", (int)(len - n - 2), rule + n + 1);
    return strcmp(out, "*") == 0 || strcmp(out, ":*") == 0 ? "" : out;
}

static bool fits(const json_t *rules, const char *tool, struct line_part part)
{
    char text[4096];
    for (size_t i = 0; i < json_array_size(rules); i++) {
        const char *rule = json_string_value(json_array_get(rules, i));
        const char *pattern = rule ? pattern_of(rule, tool, text) : NULL;
        if (pattern && (!pattern[0] || exclude_fits(pattern, part.at, part.n)))
            return true;
    }
    return false;
}

static bool any_fits(const json_t *rules, const char *tool, const struct line_parts *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (fits(rules, tool, p->at[i]) || fits(rules, tool, line_skip_prefix(p->at[i])))
            return true;
    return false;
}

static bool all_fit(const json_t *rules, const char *tool, const struct line_parts *p)
{
    char text[8192];
    bool all = p->exact && p->n > 0;
    for (size_t i = 0; all && i < p->n; i++) {
        const struct line_part *one = &p->at[i];
        all = one->n < sizeof(text) && fits(rules, tool, *one);
        if (all)
            snprintf(text, sizeof(text), "%.*s", (int)one->n, one->at);
        all = all && exclude_is_simple(text);
    }
    return all;
}

enum client_rule client_rule_of(const json_t *permissions, const char *tool, const char *command)
{
    struct line_parts p;
    line_split(command, &p);
    bool allows = all_fit(json_object_get(permissions, "allow"), tool, &p);
    if (!p.exact)
        line_split_anywhere(command, &p);
    if (any_fits(json_object_get(permissions, "deny"), tool, &p))
        return CLIENT_DENIES;
    if (any_fits(json_object_get(permissions, "ask"), tool, &p))
        return CLIENT_ASKS;
    return allows ? CLIENT_ALLOWS : CLIENT_SILENT;
}

/* ---- where they are ---- */

enum { FILE_MOST = 1 << 20 };

json_t *client_settings_read(const char *path)
{
    OWN(file) FILE *f = fopen(path, "re");
    OWN(mem) char *text = f ? malloc(FILE_MOST) : NULL;
    size_t n = text ? fread(text, 1, FILE_MOST, f) : 0;
    return n && n < FILE_MOST ? json_loadb(text, n, 0, NULL) : NULL;
}

enum client_rule client_rule_about(const struct hook_call *call, const char *root)
{
    static const char *const files[] = {"settings.json", "settings.local.json"};
    const char *home = getenv("HOME"), *named = getenv("CLAUDE_CONFIG_DIR");
    enum client_rule found = CLIENT_SILENT;
    char places[4][PATH_MAX + 64];
    if (call->rules)
        return opencode_rule_about(call);
    if (!call->rules_tool)
        return CLIENT_SILENT;
    if (strcmp(call->rules_tool, "run_shell_command") == 0)
        return gemini_rule_about(call, root);
    if (strcmp(call->rules_tool, "codex") == 0)
        return codex_rule_about(call, root);
    if (strcmp(call->rules_tool, "cursor") == 0)
        return cursor_rule_about(call, root);
    snprintf(places[0], sizeof(places[0]), "/etc/claude-code/managed-settings.json");
    if (named && named[0] == '/')
        snprintf(places[1], sizeof(places[1]), "%s/settings.json", named);
    else
        snprintf(places[1], sizeof(places[1]), "%s/.claude/settings.json", home ? home : "");
    for (size_t i = 0; i < 2; i++)
        snprintf(places[2 + i], sizeof(places[0]), "%s/.claude/%s", root, files[i]);
    for (size_t i = 0; i < 4; i++) {
        OWN(json) json_t *settings = client_settings_read(places[i]);
        enum client_rule one = client_rule_of(json_object_get(settings, "permissions"),
                                              call->rules_tool, call->command);
        found = one > found ? one : found;
    }
    return found;
}
