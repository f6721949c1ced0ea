/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A line for `sh -c` is read as a shell would find its commands, as far as that needs no
 * evaluation: quotes, separators, assignments and keywords. A word that a shell would compute
 * ("$X") names no program. Being wrong is harmless: a preset that is missing is suggested when
 * something is denied, and one too many opens what this command line could have asked for.
 */

#include "policy/auto-command.h"

#include <ctype.h>
#include <string.h>

#include "settings/paths.h"

enum { WORDS = 64, PROGRAMS = 32, NESTED = 3 };

struct finding {
    struct arena *arena;
    struct words *out;
    struct bk_err *err;
};

static bool is_one_of(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool auto_command_is(const char *program, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(program, name, n) != 0)
        return false;
    return strspn(program + n, "0123456789.") == strlen(program + n);
}

static int add_program(struct finding *f, const char *name)
{
    for (size_t i = 0; i < f->out->n; i++)
        if (strcmp(f->out->at[i], name) == 0)
            return 0;
    if (!*name || f->out->n == PROGRAMS)
        return 0;
    return words_push(f->arena, f->out, name) < 0 ? err_nomem(f->err) : 0;
}

/* ---- the words of one command ---- */

static bool is_assignment(const char *word)
{
    const char *equals = strchr(word, '=');
    return equals && equals > word && !memchr(word, '/', (size_t)(equals - word));
}

/* Programs that start the command in their arguments; takes: options whose value is a word of its
 * own; skips: further arguments before the command. */
static const struct {
    const char *name, *takes;
    unsigned skips;
} starters[] = {
    {"env", "uCS", 0},     {"nice", "n", 0},  {"nohup", "", 0},    {"time", "fo", 0},
    {"timeout", "ks", 1},  {"setsid", "", 0}, {"stdbuf", "", 0},   {"ionice", "cn", 0},
    {"command", "", 0},    {"exec", "a", 0},  {"xvfb-run", "", 0}, {"chronic", "", 0},
    {"caffeinate", "", 0},
};

/* The first word of the command after a starter, or `at` if it is none. */
static size_t after_starter(char *const *words, size_t n, size_t at)
{
    for (size_t s = 0; s < sizeof(starters) / sizeof(*starters); s++) {
        if (strcmp(name_of(words[at]), starters[s].name) != 0)
            continue;
        size_t i = at + 1;
        for (; i < n && words[i][0] == '-' && words[i][1]; i++)
            if (strlen(words[i]) == 2 && words[i][1] && strchr(starters[s].takes, words[i][1]))
                i++;
        for (; i < n && is_assignment(words[i]); i++)
            ;
        return i + starters[s].skips;
    }
    return at;
}

static int find_in_line(struct finding *f, const char *line, int depth);

static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "fish", "ash", NULL};

static int find_in_words(struct finding *f, char *const *words, size_t n, int depth)
{
    size_t at = 0, next;
    while (at < n && is_assignment(words[at]))
        at++;
    while (at < n && (next = after_starter(words, n, at)) != at)
        at = next;
    if (at >= n)
        return 0;
    const char *name = name_of(words[at]);
    if (add_program(f, name) < 0)
        return -1;
    bool shell = is_one_of(name, shells), python = auto_command_is(name, "python");
    for (size_t i = at + 1; (shell || python) && i + 1 < n && words[i][0] == '-'; i++) {
        if (shell && words[i][1] != '-' && strchr(words[i], 'c'))
            return find_in_line(f, words[i + 1], depth + 1);
        if (python && strcmp(words[i], "-m") == 0)
            return add_program(f, words[i + 1]);
    }
    return 0;
}

/* ---- a line ---- */

static const char *const keywords[] = {"if", "then", "else", "elif", "do",   "while", "until",
                                       "!",  "{",    "}",    "fi",   "done", NULL};

/* Reads a word into `to`, which has room for the rest of the line. Returns where it ends. */
static const char *read_word(const char *s, char *to)
{
    char quote = 0;
    for (; *s; s++) {
        if (quote ? *s == quote : (*s == '\'' || *s == '"'))
            quote = quote ? 0 : *s;
        else if (*s == '\\' && s[1] && quote != '\'')
            *to++ = *++s;
        else if (!quote && (isspace((unsigned char)*s) || strchr(";&|()<>`", *s)))
            break;
        else if (*s == '$' && s[1] == '(' && quote != '\'')
            break;
        else
            *to++ = *s;
    }
    *to = '\0';
    return s;
}

static int find_in_line(struct finding *f, const char *line, int depth)
{
    char *words[WORDS];
    size_t n = 0;
    if (depth > NESTED)
        return 0;
    char *room = arena_alloc(f->arena, 2 * strlen(line) + 2);
    if (!room)
        return err_nomem(f->err);
    while (*line) {
        if (*line == ' ' || *line == '\t') {
            line++;
            continue;
        }
        const char *from = line;
        line = read_word(line, room);
        bool skip = n == 0 && is_one_of(room, keywords);
        if (line > from && !skip && n < WORDS) {
            words[n++] = room;
            room += strlen(room) + 1;
        }
        if (line > from)
            continue;
        /* a separator, or a command inside a word */
        if (find_in_words(f, words, n, depth) < 0)
            return -1;
        n = 0;
        line += *line == '$' ? 2 : 1;
    }
    return find_in_words(f, words, n, depth);
}

int auto_command_programs(struct arena *a, char *const *argv, struct words *out, struct bk_err *err)
{
    struct finding f = {a, out, err};
    size_t n = 0;
    while (argv && argv[n] && n < WORDS)
        n++;
    return find_in_words(&f, argv, n, 0);
}
