/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Applies rules about commands to the simple commands of a line. */

#include "agent/line-rules.h"

#include <string.h>

#include "agent/decide.h"
#include "agent/line-parts.h"

enum { WORDS = 8192 };

/* Calls `each` with every command of the line, and with what is behind words such as env. */
typedef void command_fn(void *arg, const char *command, size_t n);

static void each_part(const struct line_parts *parts, command_fn *each, void *arg)
{
    char words[WORDS];
    for (size_t i = 0; i < parts->n; i++) {
        struct line_part behind = line_skip_prefix(parts->at[i]);
        size_t n = line_words(parts->at[i], words, sizeof(words));
        each(arg, words, n);
        if (behind.at == parts->at[i].at)
            continue;
        n = line_words(behind, words, sizeof(words));
        each(arg, words, n);
    }
}

/* Whether each part is one program with literal arguments. */
static bool all_simple(const struct line_parts *parts)
{
    char text[WORDS];
    bool simple = parts->exact;
    for (size_t i = 0; simple && i < parts->n; i++) {
        simple = parts->at[i].n < sizeof(text);
        if (simple) {
            memcpy(text, parts->at[i].at, parts->at[i].n);
            text[parts->at[i].n] = '\0';
            simple = exclude_is_simple(text);
        }
    }
    return simple;
}

/* A line that is too complex to be split is taken apart at everything that could begin a command.
 */
static void each_command(const char *line, struct line_parts *parts, command_fn *each, void *arg)
{
    line_split(line, parts);
    each_part(parts, each, arg);
    if (parts->exact)
        return;
    line_split_anywhere(line, parts);
    each_part(parts, each, arg);
}

struct finding {
    const struct access *p;
    struct command_match *out;
};

static void find_rules(void *arg, const char *command, size_t n)
{
    struct finding *f = arg;
    command_rules_match(f->p, command, n, f->out);
}

static bool has_questions(const struct access *p)
{
    for (size_t i = 0; i < p->ncommands; i++)
        if (p->commands[i].ask || p->commands[i].deny)
            return true;
    return false;
}

void line_rules_find(const struct access *p, const char *line, bool outside, struct line_rules *out)
{
    struct line_parts parts;
    struct command_match hidden = {0};
    *out = (struct line_rules){0};
    if (!p->ncommands || !line)
        return;
    each_command(line, &parts, find_rules, &(struct finding){p, &out->match});
    if (!outside)
        return;
    bool simple = all_simple(&parts);
    line_split_anywhere(line, &parts);
    each_part(&parts, find_rules, &(struct finding){p, &hidden});
    out->unclear = (!simple && has_questions(p)) || hidden.deny || hidden.ask || hidden.narrows;
}

struct asking {
    const char *pattern;
    bool fits;
};

static void find_pattern(void *arg, const char *command, size_t n)
{
    struct asking *a = arg;
    a->fits = a->fits || command_pattern_fits(a->pattern, command, n);
}

void line_rules_asked(const struct access *p, const char *line, line_pattern_fn *each, void *arg)
{
    for (size_t i = 0; i < p->ncommands; i++)
        for (size_t k = 0; p->commands[i].ask && k < p->commands[i].match.n; k++) {
            struct line_parts parts;
            struct asking a = {.pattern = p->commands[i].match.at[k]};
            if (command_is_agreed(p, &p->commands[i], a.pattern))
                continue;
            each_command(line, &parts, find_pattern, &a);
            if (a.fits)
                each(arg, a.pattern);
        }
}
