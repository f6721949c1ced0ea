/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Cutting a line for a shell into its commands. This is no shell: what it does not understand it
 * says so about. */

#include "agent/line-parts.h"

#include <string.h>

static void add_part(struct line_parts *p, const char *from, const char *to)
{
    while (from < to && strchr(" \t\r", *from))
        from++;
    if (from < to && p->n < LINE_PARTS)
        p->at[p->n++] = (struct line_part){from, (size_t)(to - from)};
    else if (from < to)
        p->exact = false;
}

/* The end of a quoted text, or its last character if it is not closed. */
static const char *skip_quotes(const char *at, bool *exact)
{
    char quote = *at;
    for (at++; *at && *at != quote; at++) {
        *exact &= quote == '\'' || (*at != '`' && strncmp(at, "$(", 2) != 0);
        if (*at == '\\' && quote == '"' && at[1])
            at++;
    }
    *exact &= *at == quote;
    return *at ? at : at - 1;
}

/* The redirection 2>&1 and the like have no operator in them. */
static bool is_operator(const char *line, const char *at)
{
    bool to_fd = *at == '&' && at > line && (at[-1] == '>' || at[-1] == '<');
    return strchr(";&|\n", *at) && !to_fd && !(*at == '&' && at[1] == '>');
}

void line_split(const char *line, struct line_parts *p)
{
    const char *from = line, *at = line;
    *p = (struct line_parts){.exact = true};
    for (; *at && p->exact; at++) {
        if (*at == '\\' && at[1]) {
            at++;
        } else if (*at == '\'' || *at == '"') {
            at = skip_quotes(at, &p->exact);
        } else if (strchr("`(){}#", *at) || strncmp(at, "<<", 2) == 0) {
            p->exact = false;
        } else if (is_operator(line, at)) {
            add_part(p, from, at);
            from = at + 1;
        }
    }
    add_part(p, from, at);
}

void line_split_anywhere(const char *line, struct line_parts *p)
{
    const char *from = line, *at = line;
    *p = (struct line_parts){.exact = false};
    for (; *at; at++)
        if (strchr(";&|\n`(){}'\"", *at)) {
            add_part(p, from, at);
            from = at + 1;
        }
    add_part(p, from, at);
}

void line_split_all(const char *line, struct line_parts *p)
{
    line_split(line, p);
    if (!p->exact)
        line_split_anywhere(line, p);
}

struct line_part line_skip_prefix(struct line_part p)
{
    static const char *const words[] = {"env",     "command", "exec", "nohup", "time", "sudo",
                                        "builtin", "then",    "do",   "else",  "if",   "while",
                                        "until",   "!",       "eval", "xargs"};
    for (;;) {
        size_t n = 0, i = 0;
        while (n < p.n && p.at[n] != ' ' && p.at[n] != '\t')
            n++;
        const char *equals = memchr(p.at, '=', n);
        bool skipped = equals && equals > p.at;
        for (; !skipped && i < sizeof(words) / sizeof(words[0]); i++)
            skipped = strlen(words[i]) == n && memcmp(p.at, words[i], n) == 0;
        if (!skipped || n == p.n)
            return p;
        while (n < p.n && (p.at[n] == ' ' || p.at[n] == '\t'))
            n++;
        p = (struct line_part){p.at + n, p.n - n};
    }
}

size_t line_words(struct line_part p, char *out, size_t cap)
{
    size_t n = 0;
    char quote = 0;
    for (size_t i = 0; i < p.n && n + 1 < cap; i++) {
        char c = p.at[i];
        bool blank = !quote && (c == ' ' || c == '\t' || c == '\r');
        if (blank && (n == 0 || out[n - 1] == ' '))
            continue;
        if (quote ? c == quote : c == '\'' || c == '"') {
            quote = quote ? 0 : c;
            continue;
        }
        if (c == '\\' && quote != '\'' && i + 1 < p.n)
            c = p.at[++i];
        out[n++] = blank || c == '\n' ? ' ' : c;
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    return n;
}
