/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Commands excluded from the sandbox. A pattern matches text, but a shell runs what the text means:
 * `docker ps; rm -r ~` starts with docker too. So a command must first be proven to be one program
 * with arguments. Anything else stays in the sandbox.
 */

#include <string.h>

#include "agent/decide.h"
#include "agent/wild.h"

/* ---- one simple command ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Characters that no shell treats specially inside a word. Wildcards (* ? [) expand to arguments, ~
 * to a path. (In old shells, ^ is a pipe.) */
static bool is_plain(unsigned char c)
{
    return c > 0x7f || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_@%+=:,./-~*?[]", c));
}

/* Skips a quoted part. Returns NULL if it is unterminated or contains an expansion. */
static const char *skip_quoted(const char *at)
{
    const char *stop = *at == '\'' ? "'\n" : "\"$`\\!\n";
    const char *end = at + 1 + strcspn(at + 1, stop);
    return *end == *at ? end + 1 : NULL;
}

static const char *skip_word(const char *at)
{
    while (*at && !is_blank(*at)) {
        if (*at == '\'' || *at == '"')
            at = skip_quoted(at);
        else
            at = is_plain((unsigned char)*at) ? at + 1 : NULL;
        if (!at)
            return NULL;
    }
    return at;
}

/* Words that the shell itself handles at the start of a command. */
static bool is_reserved(const char *word, size_t n)
{
    static const char *const words[] = {
        "if",   "then",   "else",   "elif",  "fi",       "for",    "while",    "until", "do",
        "done", "case",   "esac",   "in",    "function", "select", "coproc",   "time",  "eval",
        "exec", "source", "export", "alias", ".",        "trap",   "command",  "set",   "builtin",
        "not",  "and",    "or",     "begin", "repeat",   "noglob", "nocorrect"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strlen(words[i]) == n && memcmp(words[i], word, n) == 0)
            return true;
    return false;
}

/* The first word: no quotes, which hide the name; no wildcards, which match files that the command
 * may have created; no NAME=value, which sets a variable. */
static bool is_program(const char *word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strchr("'\"=*?[", word[i]))
            return false;
    return !is_reserved(word, n);
}

bool exclude_is_simple(const char *command)
{
    const char *at = command + strspn(command, " \t\r\n\v\f");
    const char *stop = at + strlen(at);
    char text[8192];
    while (stop > at && strchr(" \t\r\n\v\f", stop[-1]))
        stop--;
    size_t n = (size_t)(stop - at);
    if (n == 0 || n >= sizeof(text))
        return false;
    memcpy(text, at, n);
    text[n] = '\0';
    const char *end = skip_word(text);
    if (!end || !is_program(text, (size_t)(end - text)))
        return false;
    while (*end) {
        end += strspn(end, " \t");
        end = skip_word(end);
        if (!end)
            return false;
    }
    return true;
}

/* ---- patterns ---- */

static bool is_wild(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\\' && i + 1 < n && p[i + 1] == '*')
            i++;
        else if (p[i] == '*')
            return true;
    }
    return false;
}

bool exclude_fits(const char *pattern, const char *text, size_t len)
{
    const char *s = text, *stop = text + len;
    size_t n = strlen(pattern);
    while (s < stop && strchr(" \t\r\n\v\f", *s))
        s++;
    while (stop > s && strchr(" \t\r\n\v\f", stop[-1]))
        stop--;
    if (n == 0)
        return false;
    bool prefix = n > 2 && strcmp(pattern + n - 2, ":*") == 0 && !is_wild(pattern, n - 2);
    if (!prefix)
        return wild_fits(pattern, n, s, (size_t)(stop - s), WILD_ESCAPES);
    n -= 2;
    size_t left = (size_t)(stop - s);
    return left >= n && memcmp(s, pattern, n) == 0 && (left == n || s[n] == ' ');
}

bool exclude_matches(const char *pattern, const char *command)
{
    return exclude_is_simple(command) && exclude_fits(pattern, command, strlen(command));
}
