/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Todo lists of a rebase. A line that executes becomes "# exec ...", which all versions of git
 * ignore. A git with another comment character (core.commentChar) reports an invalid line, runs
 * nothing and shows it. Only an empty line would be ignored there too, but it would lose the text;
 * a carriage return at the start of a line no longer makes a comment in the newest versions.
 *
 * This accepts more before and after a command than git does: too many disarmed lines do no harm.
 */

#include "git/todo.h"

#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "git/config.h"
#include "git/value.h"

static const char ignored[] = "# ";

/* Lines end with a newline, a NUL byte, or the text. */
static size_t line_length(const char *s, size_t n)
{
    size_t len = 0;
    while (len < n && s[len] != '\n' && s[len] != '\0')
        len++;
    return len;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static bool executes(const char *line, size_t len)
{
    size_t at = 0;
    while (at < len && is_blank(line[at]))
        at++;
    line += at;
    len -= at;
    return (len >= 4 && !memcmp(line, "exec", 4)) ||
           (len >= 1 && line[0] == 'x' && (len == 1 || is_blank(line[1])));
}

/* Copies the disarmed text to out, if not NULL. Returns the number of lines that execute. */
static size_t disarm_lines(const char *text, size_t n, char *out)
{
    size_t found = 0;
    for (size_t at = 0; at < n;) {
        size_t len = line_length(text + at, n - at);
        bool armed = executes(text + at, len);
        found += armed;
        len += at + len < n; /* including its end */
        if (out) {
            if (armed) {
                memcpy(out, ignored, sizeof(ignored) - 1);
                out += sizeof(ignored) - 1;
            }
            memcpy(out, text + at, len);
            out += len;
        }
        at += len;
    }
    return found;
}

size_t git_todo_disarm(struct arena *a, const char *text, size_t n, const char **out,
                       size_t *out_len)
{
    size_t found = disarm_lines(text, n, NULL);
    size_t len = n + found * (sizeof(ignored) - 1);
    char *copy = arena_alloc(a, len + 1);
    if (copy)
        disarm_lines(text, n, copy);
    *out = copy;
    *out_len = copy ? len : 0;
    return found;
}

bool git_todo_is_quiet(const char *text, size_t n)
{
    return !n || (!memchr(text, '\0', n) && disarm_lines(text, n, NULL) == 0);
}

/* Whether a list has exactly this line. */
static bool has_line(const char *text, size_t n, const char *line, size_t len)
{
    for (size_t at = 0; at < n;) {
        size_t there = line_length(text + at, n - at);
        if (there == len && memcmp(text + at, line, len) == 0)
            return true;
        at += there + 1;
    }
    return false;
}

bool git_todo_adds_nothing(const char *was, size_t was_len, const char *now, size_t now_len)
{
    if (now_len && memchr(now, '\0', now_len))
        return false;
    for (size_t at = 0; at < now_len;) {
        size_t len = line_length(now + at, now_len - at);
        if (executes(now + at, len) && !has_line(was, was_len, now + at, len))
            return false;
        at += len + 1;
    }
    return true;
}

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool git_state_word_is_safe(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool first = i == 0 || text[i - 1] == '\n';
        if (text[i] == '\n' ? first : !is_alnum(text[i]) && (first || !strchr("-_", text[i])))
            return false;
        if (!text[i])
            return false;
    }
    return true;
}

bool git_state_options_are_safe(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!text[i] || (!is_alnum(text[i]) && !strchr("-_=.,% '\n", text[i])))
            return false;
    return true;
}

/* Reads the next word of a text in which git quotes words with single quotes. Returns 1, 0 at the
 * end, or -1 if the text has another form. */
static int next_word(const char *text, size_t n, size_t *at, char *out, size_t out_size)
{
    bool quoted = false;
    size_t len = 0;
    while (*at < n && (text[*at] == ' ' || text[*at] == '\n'))
        ++*at;
    if (*at == n)
        return 0;
    for (; *at < n && (quoted || (text[*at] != ' ' && text[*at] != '\n')); ++*at) {
        char c = text[*at];
        if (c == '\'')
            quoted = !quoted;
        else if (c == '\\' || c == '\0' || c == '\n' || len + 1 >= out_size)
            return -1;
        else
            out[len++] = c;
    }
    out[len] = '\0';
    return quoted ? -1 : 1;
}

static bool is_number(const char *s)
{
    return *s && strspn(s, "0123456789") == strlen(s);
}

static bool is_apply_option(const char *word)
{
    if (!strncmp(word, "-C", 2) || !strncmp(word, "-p", 2))
        return is_number(word + 2);
    if (!strncmp(word, "--whitespace=", 13))
        return git_value_is_word(word + 13, "nowarn|warn|fix|strip|error|error-all");
    return git_value_is_word(word, "--ignore-whitespace|--ignore-space-change|--reject");
}

bool git_state_apply_is_safe(const char *text, size_t n)
{
    char word[256];
    size_t at = 0;
    int r;
    while ((r = next_word(text, n, &at, word, sizeof(word))) > 0)
        if (!is_apply_option(word))
            return false;
    return r == 0;
}

/* The length of a quoted value as git writes it, where '\\'' is a quote and '\\!' an exclamation
 * mark; 0 if it is none. */
static size_t quoted_length(const char *s, size_t n)
{
    size_t at = 1;
    if (!n || s[0] != '\'')
        return 0;
    for (; at < n && s[at] != '\n' && s[at] != '\0'; at++) {
        if (s[at] != '\'')
            continue;
        if (n - at < 4 || s[at + 1] != '\\' || !strchr("'!", s[at + 2]) || s[at + 3] != '\'')
            return at + 1;
        at += 3;
    }
    return 0;
}

bool git_state_author_is_safe(const char *text, size_t n)
{
    static const char *const names[] = {
        "GIT_AUTHOR_NAME=", "GIT_AUTHOR_EMAIL=", "GIT_AUTHOR_DATE="};
    for (size_t at = 0; at < n;) {
        size_t len = 0;
        for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !len; i++) {
            size_t name = strlen(names[i]);
            if (n - at > name && !memcmp(text + at, names[i], name))
                len = name;
        }
        size_t value = len ? quoted_length(text + at + len, n - at - len) : 0;
        at += len + value;
        if (!value || (at < n && text[at++] != '\n'))
            return false;
    }
    return true;
}

bool git_state_opts_are_safe(const struct git_config *c)
{
    static const char flags[] =
        "options.no-commit|options.edit|options.signoff|options.record-origin|options.allow-ff|"
        "options.mainline|options.allow-rerere-auto|options.allow-empty|"
        "options.allow-empty-message|options.keep-redundant-commits|options.drop-redundant-commits";
    for (size_t i = 0; i < c->n; i++) {
        const char *key = c->entries[i].key, *value = c->entries[i].value;
        size_t len = value ? strlen(value) : 0;
        if (git_value_is_word(key, flags) && git_value_is_bool(value))
            continue;
        if (!strcmp(key, "options.strategy") && len && git_state_word_is_safe(value, len))
            continue;
        if (!strcmp(key, "options.strategy-option") && git_state_options_are_safe(value, len))
            continue;
        if (!strcmp(key, "options.default-msg-cleanup") &&
            git_value_is_word(value, "strip|whitespace|verbatim|scissors|default"))
            continue;
        return false;
    }
    return true;
}
