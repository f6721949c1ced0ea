/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A program can send its own rules about shell commands with the command, as a list of pattern and
 * action: [["*", "allow"], ["rm *", "deny"]]. They are OpenCode's: the last pattern that fits a
 * command decides about it, `*` is any characters, `?` is one, and " *" at the end may be missing.
 *
 * The program applies them to our command as well. So where they ask about that one, they have not
 * lost their question.
 */

#include <stdio.h>
#include <string.h>

#include "agent/client-rules.h"
#include "agent/line-parts.h"
#include "agent/wild.h"

enum { WORDS = 8192 };

static bool fits(const char *pattern, const char *command)
{
    size_t n = strlen(pattern), len = strlen(command);
    bool tail = n > 2 && strcmp(pattern + n - 2, " *") == 0;
    return wild_fits(pattern, n, command, len, WILD_ONE) ||
           (tail && wild_fits(pattern, n - 2, command, len, WILD_ONE));
}

static enum client_rule action_of(const char *word)
{
    if (word && strcmp(word, "allow") == 0)
        return CLIENT_ALLOWS;
    return word && strcmp(word, "deny") == 0 ? CLIENT_DENIES : CLIENT_ASKS;
}

static enum client_rule rule_of(const json_t *rules, const char *command)
{
    enum client_rule says = CLIENT_SILENT;
    for (size_t i = 0; i < json_array_size(rules); i++) {
        const json_t *rule = json_array_get(rules, i);
        const char *pattern = json_string_value(json_array_get(rule, 0));
        if (pattern && fits(pattern, command))
            says = action_of(json_string_value(json_array_get(rule, 1)));
    }
    return says;
}

static enum client_rule worst_of(const json_t *rules, const struct line_parts *parts)
{
    enum client_rule worst = CLIENT_SILENT;
    char text[WORDS];
    for (size_t i = 0; i < parts->n; i++)
        for (int how = 0; how < 4; how++) {
            struct line_part part = how & 1 ? line_skip_prefix(parts->at[i]) : parts->at[i];
            if (how & 2)
                line_words(part, text, sizeof(text));
            else
                snprintf(text, sizeof(text), "%.*s", (int)part.n, part.at);
            enum client_rule one = rule_of(rules, text);
            worst = one > worst ? one : worst;
        }
    return worst;
}

/* Whether the program asks about our command, with whichever program that begins. */
static bool asks_about_ours(const struct hook_call *call)
{
    char ours[WORDS];
    for (size_t i = 0; i < 2; i++) {
        const char *program = call->ours[i] ? call->ours[i] : "";
        snprintf(ours, sizeof(ours), "%s run -- sh -c %s", program, call->command);
        if (rule_of(call->rules, ours) != CLIENT_ASKS)
            return false;
    }
    return true;
}

/* What allows the command approves nothing: the program looks at ours. */
enum client_rule opencode_rule_about(const struct hook_call *call)
{
    struct line_parts parts;
    line_split_all(call->command, &parts);
    enum client_rule worst = worst_of(call->rules, &parts);
    if (worst == CLIENT_DENIES)
        return worst;
    return worst == CLIENT_ASKS && !asks_about_ours(call) ? CLIENT_ASKS : CLIENT_SILENT;
}
