/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What Cursor's settings deny: `Shell(rm)` is every command with this first word, and
 * `Shell(git:push*)` only those with such arguments. Cursor asks about whatever it does not allow,
 * and it looks at our command for that. So only what it denies counts here.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/client-rules.h"
#include "agent/line-parts.h"
#include "agent/wild.h"
#include "base/own.h"

enum { WORDS = 8192 };

static bool pattern_fits(const char *from, const char *stop, const char *text)
{
    return wild_fits(from, (size_t)(stop - from), text, strlen(text), WILD_ONE);
}

static bool fits(const char *rule, const char *command)
{
    static const char tool[] = "Shell(";
    char first[WORDS];
    size_t n = strlen(rule), from = sizeof(tool) - 1;
    if (n <= from || strncmp(rule, tool, from) != 0 || rule[n - 1] != ')')
        return false;
    const char *base = rule + from, *stop = rule + n - 1;
    const char *colon = memchr(base, ':', (size_t)(stop - base));
    size_t word = strcspn(command, " ");
    snprintf(first, sizeof(first), "%.*s", (int)word, command);
    const char *slash = strrchr(first, '/'), *end = colon ? colon : stop;
    if (!pattern_fits(base, end, first) && !(slash && pattern_fits(base, end, slash + 1)))
        return false;
    return !colon || pattern_fits(colon + 1, stop, command + word + (command[word] == ' '));
}

static bool denies(const json_t *rules, const struct line_parts *parts)
{
    char words[WORDS];
    for (size_t i = 0; i < parts->n; i++)
        for (int behind = 0; behind < 2; behind++) {
            line_words(behind ? line_skip_prefix(parts->at[i]) : parts->at[i], words,
                       sizeof(words));
            for (size_t k = 0; words[0] && k < json_array_size(rules); k++) {
                const char *rule = json_string_value(json_array_get(rules, k));
                if (rule && fits(rule, words))
                    return true;
            }
        }
    return false;
}

enum client_rule cursor_rule_about(const struct hook_call *call, const char *root)
{
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
    const struct {
        const char *base, *name;
    } places[] = {{home, ".cursor/cli-config.json"},
                  {config, "cursor/cli-config.json"},
                  {root, ".cursor/cli.json"}};
    struct line_parts parts;
    char path[PATH_MAX + 64];
    line_split_all(call->command, &parts);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (!places[i].base || places[i].base[0] != '/')
            continue;
        snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX, places[i].base, places[i].name);
        OWN(json) json_t *settings = client_settings_read(path);
        const json_t *permissions = json_object_get(settings, "permissions");
        if (denies(json_object_get(permissions, "deny"), &parts))
            return CLIENT_DENIES;
    }
    return CLIENT_SILENT;
}
