/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The rules of Codex CLI, files of calls in Starlark:
 *
 *     prefix_rule(pattern = ["git", ["push", "fetch"]], decision = "forbidden")
 *
 * The first words of a command, and for each word a text or a list of them. Codex applies them to
 * the command that the hook returns, where none would match. Rules that allow play no role: its
 * hooks cannot allow more than it does. One that is not understood might be about every command.
 */

#include "agent/client-rules.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/line-parts.h"
#include "base/own.h"

enum { TEXT_MOST = 1 << 18, STRING_MOST = 256, WORDS = 8192 };

/* ---- one rule ---- */

struct reader {
    const char *at;
    bool lost; /* something that is not understood */
};

static void skip_space(struct reader *r)
{
    for (;;) {
        r->at += strspn(r->at, " \t\r\n,");
        if (*r->at != '#')
            return;
        r->at += strcspn(r->at, "\n");
    }
}

static bool takes(struct reader *r, char c)
{
    skip_space(r);
    bool there = *r->at == c;
    r->at += there;
    return there;
}

/* No text that needs an escape is a word of a rule that we have to understand. */
static bool read_string(struct reader *r, char out[STRING_MOST])
{
    skip_space(r);
    char quote = *r->at;
    const char end[] = {quote, '\\', '\n', '\0'};
    size_t n = quote == '"' || quote == '\'' ? strcspn(r->at + 1, end) : STRING_MOST;
    if (n >= STRING_MOST || r->at[1 + n] != quote) {
        r->lost = true;
        return false;
    }
    memcpy(out, r->at + 1, n);
    out[n] = '\0';
    r->at += n + 2;
    return true;
}

/* Whether the words begin with this one. *behind: what follows it. */
static bool begins(const char *words, const char *one, const char **behind)
{
    size_t n = strlen(one);
    if (strncmp(words, one, n) != 0 || (words[n] && words[n] != ' '))
        return false;
    *behind = words + n + (words[n] == ' ');
    return true;
}

/* The pattern of a rule. Returns whether a command fits. */
static bool read_pattern(struct reader *r, const char *words)
{
    char text[STRING_MOST];
    bool fits = takes(r, '[');
    r->lost |= !fits;
    while (!r->lost && !takes(r, ']')) {
        const char *behind = words;
        bool one = false, list = takes(r, '[');
        do {
            if (list && takes(r, ']'))
                break;
            one |= read_string(r, text) && begins(words, text, &behind);
        } while (list && !r->lost);
        fits &= one;
        words = behind;
    }
    return fits;
}

/* Skips a value up to the next argument or the end of the call. */
static void skip_value(struct reader *r)
{
    int depth = 0;
    for (; *r->at; r->at++) {
        char c = *r->at;
        if (c == '"' || c == '\'') {
            const char *end = r->at + 1;
            while (*end && *end != c)
                end += *end == '\\' && end[1] ? 2 : 1;
            r->at = *end ? end : end - 1;
        } else if (c == '#') {
            r->at += strcspn(r->at, "\n");
            r->at -= !*r->at;
        } else if (!depth && (c == ',' || c == ')')) {
            return;
        } else {
            depth += (c == '[' || c == '(' || c == '{') - (c == ']' || c == ')' || c == '}');
        }
    }
}

static bool is_name(const char *at, size_t n, const char *name)
{
    return n == strlen(name) && strncmp(at, name, n) == 0;
}

/* Whether a value ends here, and is no part of something else. */
static bool is_end(const char *at)
{
    at += strspn(at, " \t\r\n");
    return *at == ',' || *at == ')' || *at == '#';
}

static enum client_rule read_rule(struct reader *r, const char *words)
{
    char decision[STRING_MOST] = "allow";
    bool fits = false, any = false, unsure = false; /* about the command, about the decision */
    while (!takes(r, ')')) {
        if (!*r->at)
            return CLIENT_ASKS;
        size_t n = strspn(r->at, "abcdefghijklmnopqrstuvwxyz_");
        const char *name = r->at;
        struct reader value = {.at = r->at + n};
        if (!n || !takes(&value, '=')) {
            any = unsure = true;
        } else if (is_name(name, n, "pattern")) {
            fits = read_pattern(&value, words);
            any |= value.lost || !is_end(value.at);
        } else if (is_name(name, n, "decision")) {
            unsure |= !read_string(&value, decision) || !is_end(value.at);
        }
        r->at = value.lost ? name : value.at;
        skip_value(r);
    }
    if (!unsure && strcmp(decision, "allow") == 0)
        return CLIENT_SILENT;
    bool denies = !unsure && !any && strcmp(decision, "forbidden") == 0;
    return !fits && !any && !unsure ? CLIENT_SILENT : denies ? CLIENT_DENIES : CLIENT_ASKS;
}

/* What a file says about a command's words. */
static enum client_rule rules_about(const char *text, const char *words)
{
    static const char call[] = "prefix_rule";
    enum client_rule worst = CLIENT_SILENT;
    struct reader r = {.at = text};
    while (*r.at) {
        r.at += strcspn(r.at, "#p\"'");
        size_t n = strlen(call);
        bool begin = r.at == text || !(isalnum((unsigned char)r.at[-1]) || r.at[-1] == '_');
        if (*r.at == '#') {
            r.at += strcspn(r.at, "\n");
        } else if (*r.at == 'p' && begin && strncmp(r.at, call, n) == 0 &&
                   r.at[n + strspn(r.at + n, " \t")] == '(') {
            r.at += n + strspn(r.at + n, " \t") + 1;
            enum client_rule one = read_rule(&r, words);
            worst = one > worst ? one : worst;
        } else if (*r.at) {
            r.at++;
        }
    }
    return worst;
}

/* ---- files ---- */

/* A rule about git is about /usr/bin/git, too. */
static const char *without_folder(const char *words)
{
    const char *name = words;
    for (const char *at = words; *at && *at != ' '; at++)
        name = *at == '/' ? at + 1 : name;
    return name;
}

static enum client_rule line_rule(const char *text, const char *command)
{
    struct line_parts parts;
    char words[WORDS];
    enum client_rule worst = CLIENT_SILENT;
    line_split_all(command, &parts);
    for (size_t i = 0; i < parts.n; i++)
        for (int behind = 0; behind < 2; behind++) {
            line_words(behind ? line_skip_prefix(parts.at[i]) : parts.at[i], words, sizeof(words));
            enum client_rule one = rules_about(text, words);
            worst = one > worst ? one : worst;
            one = rules_about(text, without_folder(words));
            worst = one > worst ? one : worst;
        }
    return worst;
}

static enum client_rule file_rule(const char *path, const char *command)
{
    OWN(file) FILE *f = fopen(path, "re");
    OWN(mem) char *text = malloc(TEXT_MOST + 1);
    size_t n = f && text ? fread(text, 1, TEXT_MOST, f) : 0;
    if (!f || n == TEXT_MOST || !text)
        return f ? CLIENT_ASKS : CLIENT_SILENT;
    text[n] = '\0';
    return line_rule(text, command);
}

static enum client_rule folder_rule(const char *folder, const char *command)
{
    char path[PATH_MAX + 300];
    enum client_rule worst = CLIENT_SILENT;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n <= 6 || strcmp(e->d_name + n - 6, ".rules") != 0)
            continue;
        snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX, folder, e->d_name);
        enum client_rule one = file_rule(path, command);
        worst = one > worst ? one : worst;
    }
    if (d)
        closedir(d);
    return worst;
}

enum client_rule codex_rule_about(const struct hook_call *call, const char *root)
{
    const char *home = getenv("HOME"), *named = getenv("CODEX_HOME");
    char folders[3][PATH_MAX + 64] = {"/etc/codex/rules"};
    enum client_rule worst = CLIENT_SILENT;
    if (named && named[0] == '/')
        snprintf(folders[1], sizeof(folders[1]), "%s/rules", named);
    else
        snprintf(folders[1], sizeof(folders[1]), "%s/.codex/rules", home ? home : "");
    snprintf(folders[2], sizeof(folders[2]), "%s/.codex/rules", root);
    for (size_t i = 0; i < 3; i++) {
        enum client_rule one = folder_rule(folders[i], call->command);
        worst = one > worst ? one : worst;
    }
    return worst;
}
