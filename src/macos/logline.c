/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Programs choose their own names and file names, so a line may contain anything: a name with
 * parentheses, a path that looks like another denial. The process name ends at the first `(digits)
 * deny(`, the operation at the next blank, and the rest is the argument.
 */

#include "macos/logline.h"

#include <string.h>

static const char mark[] = "Sandbox: ", deny[] = ") deny(", head[] = "CMD64_";

/* ---- one line ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Parses the number before `end` and its opening parenthesis. */
static const char *number_before(const char *start, const char *end, int32_t *out)
{
    const char *at = end;
    int64_t value = 0;
    while (at > start && is_digit(at[-1]))
        at--;
    if (at == end || end - at > 10 || at == start || at[-1] != '(')
        return NULL;
    for (const char *s = at; s < end; s++)
        value = value * 10 + (*s - '0');
    if (value > INT32_MAX)
        return NULL;
    *out = (int32_t)value;
    return at - 1;
}

static bool parse_denial(const char *line, struct log_denial *out)
{
    struct log_denial d = {.line = line, .process = line};
    for (const char *at = line; (at = strstr(at, deny)); at++) {
        const char *open = number_before(line, at, &d.pid);
        const char *close = at + sizeof(deny) - 1;
        while (is_digit(*close))
            close++;
        if (!open || close == at + sizeof(deny) - 1 || strncmp(close, ") ", 2) != 0)
            continue;
        d.process_len = (size_t)(open - line);
        d.operation = close + 2;
        d.operation_len = strcspn(d.operation, " ");
        d.argument = d.operation + d.operation_len;
        d.argument += *d.argument == ' ';
        *out = d;
        return d.operation_len > 0;
    }
    return false;
}

/* `2 duplicate reports for Sandbox: …` counts as two more. */
static uint32_t duplicate_count(const char *line, const char *found)
{
    static const char *const words[] = {" duplicate reports for ", " duplicate report for "};
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(words[i]);
        const char *end = found - n, *at = end;
        if ((size_t)(found - line) <= n || strncmp(end, words[i], n) != 0)
            continue;
        uint32_t value = 0;
        while (at > line && is_digit(at[-1]) && end - at < 6)
            at--;
        for (; at < end; at++)
            value = value * 10 + (uint32_t)(*at - '0');
        return value ? value : 1;
    }
    return 1;
}

/* ---- several lines ---- */

static void report_denial(struct log_reader *r, const struct tag *tag)
{
    struct log_denial d;
    r->waiting = false;
    if (!parse_denial(r->denial, &d))
        return;
    d.count = r->count;
    d.tag = tag;
    r->found(r->arg, &d);
}

static void hold_denial(struct log_reader *r, const char *found)
{
    if (r->waiting)
        report_denial(r, NULL);
    r->count = duplicate_count(r->line, found);
    strcpy(r->denial, found + sizeof(mark) - 1); /* fits: it is part of a line */
    r->waiting = true;
}

static void end_line(struct log_reader *r)
{
    struct tag tag;
    if (r->n > 0 && r->line[r->n - 1] == '\r')
        r->n--;
    r->line[r->n] = '\0';
    size_t n = strlen(r->line); /* ignore everything after a NUL */
    const char *found = strstr(r->line, mark);
    if (strncmp(r->line, head, sizeof(head) - 1) == 0) {
        if (r->waiting)
            report_denial(r, tag_find(r->line, n, &tag) == 0 ? &tag : NULL);
    } else if (found && strstr(found, " deny(")) {
        hold_denial(r, found);
    }
    r->n = 0;
}

void log_reader_init(struct log_reader *r, void (*found)(void *arg, const struct log_denial *d),
                     void *arg)
{
    r->found = found;
    r->arg = arg;
    r->n = r->count = 0;
    r->waiting = false;
}

void log_reader_feed(struct log_reader *r, const char *bytes, size_t n)
{
    while (n > 0) {
        const char *newline = memchr(bytes, '\n', n);
        size_t part = newline ? (size_t)(newline - bytes) : n;
        size_t room = sizeof(r->line) - 1 - r->n;
        size_t taken = part < room ? part : room;
        memcpy(r->line + r->n, bytes, taken);
        r->n += taken;
        if (newline)
            end_line(r);
        bytes += part + (newline ? 1 : 0);
        n -= part + (newline ? 1 : 0);
    }
}

void log_reader_end(struct log_reader *r)
{
    if (r->n > 0)
        end_line(r);
    if (r->waiting)
        report_denial(r, NULL);
}

bool log_is_noise(const char *line)
{
    static const char *const noise[] = {"mDNSResponder", "mach-lookup com.apple.diagnosticd",
                                        "mach-lookup com.apple.analyticsd"};
    for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++)
        if (strstr(line, noise[i]))
            return true;
    return false;
}
