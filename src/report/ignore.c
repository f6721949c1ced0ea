/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Filters denials that the user doesn't want to see.
 */

#include "report/ignore.h"

#include <string.h>

static bool has_word(const struct ignore_rule *rule, const char *line)
{
    for (size_t i = 0; i < rule->nwords; i++)
        if (strstr(line, rule->words[i]))
            return true;
    return false;
}

bool ignore_line(const struct ignore_rules *rules, const char *line, const char *command)
{
    for (size_t i = 0; i < rules->n; i++) {
        const struct ignore_rule *rule = &rules->at[i];
        bool all = strcmp(rule->command, "*") == 0;
        if ((all || (command && strstr(command, rule->command))) && has_word(rule, line))
            return true;
    }
    return false;
}
