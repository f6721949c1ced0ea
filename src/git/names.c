/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Which settings name programs and files, from names.def, and which words of a command line may be
 * files. This is no shell parser: it removes quotes, splits words at everything that separates
 * commands, and splits quoted words with spaces again, as in sh -c './x y'. Too many words do no
 * harm.
 */

#include "git/names.h"

#include <string.h>

#include "base/arena.h"
#include "git/value.h"

#define DEPTH_MAX 3
#define SEPARATORS " \t\r\n;&|()<>{}`"

static const struct {
    const char *pattern;
    enum git_names names;
} rows[] = {
#define NAME(pattern, kind) {pattern, GIT_NAMES_##kind},
#include "git/names.def"
#undef NAME
};

/* The state for one setting. */
struct walk {
    struct arena *arena;
    const char *key;
    git_file_fn *each;
    void *arg;
    bool named; /* the command's name has been read */
};

/* "alias.*" is the whole section. */
static bool matches(const char *key, const char *pattern)
{
    size_t n = strlen(pattern);
    if (pattern[n - 1] == '*')
        return !strncmp(key, pattern, n - 1);
    return git_key_matches(key, pattern);
}

enum git_names git_key_names(const char *key)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (matches(key, rows[i].pattern))
            return rows[i].names;
    return GIT_NAMES_NOTHING;
}

static bool separates(char c)
{
    return strchr(SEPARATORS, c) != NULL;
}

/* Returns the next word of a command without its quotes; NULL at the end. */
static char *next_word(const char **at, char *room)
{
    char *to = room, quote = '\0';
    bool any = false;
    const char *s = *at;
    while (*s && separates(*s))
        s++;
    for (; *s && (quote || !separates(*s)); s++) {
        any = true;
        if (quote ? *s == quote : *s == '\'' || *s == '"')
            quote = quote ? '\0' : *s;
        else if (*s == '\\' && quote != '\'' && s[1])
            *to++ = *++s;
        else
            *to++ = *s;
    }
    *to = '\0';
    *at = s;
    return any ? room : NULL;
}

static int visit_words(struct walk *w, const char *command, unsigned depth);

/* A word other than the command's name. */
static int visit_argument(struct walk *w, const char *word)
{
    return strpbrk(word, "/.") ? w->each(w->arg, w->key, word, false) : 0;
}

static int visit_word(struct walk *w, const char *word, unsigned depth)
{
    const char *equals = strchr(word, '='), *slash = strchr(word, '/');
    if (!word[0])
        return 0;
    if (strpbrk(word, SEPARATORS) && depth < DEPTH_MAX) {
        /* a path with a space, or a nested command */
        int r = slash ? w->each(w->arg, w->key, word, false) : 0;
        return r < 0 ? r : visit_words(w, word, depth + 1);
    }
    /* VARIABLE=value before a command, --option=value or name=value after it */
    if (equals && (!slash || equals < slash))
        return visit_argument(w, equals + 1);
    if (word[0] == '-')
        return 0;
    if (w->named)
        return visit_argument(w, word);
    w->named = true;
    return w->each(w->arg, w->key, word, !slash);
}

static int visit_words(struct walk *w, const char *command, unsigned depth)
{
    char *room = arena_alloc(w->arena, strlen(command) + 2); /* the last is empty */
    if (!room)
        return -1;
    /* words stay in the buffer: each with its NUL takes no more than it did in the command */
    for (const char *word; (word = next_word(&command, room)); room += strlen(room) + 1) {
        int r = visit_word(w, word, depth);
        if (r < 0)
            return r;
    }
    return 0;
}

static int visit_command(struct walk *w, const char *value)
{
    bool shell = value[0] == '!';
    if (git_value_is_bool(value))
        return 0;
    /* an alias for a git command, or the update mode of a submodule */
    if (!shell && (!strncmp(w->key, "alias.", 6) || !strncmp(w->key, "submodule.", 10)))
        w->named = true;
    return visit_words(w, value + shell, 0);
}

static int visit_file(struct walk *w, const char *value)
{
    static const char optional[] = ":(optional)";
    if (!strncmp(value, optional, sizeof(optional) - 1))
        value += sizeof(optional) - 1;
    /* a signing key may also be an id */
    if (!strcmp(w->key, "user.signingkey") && !strchr(value, '/'))
        return 0;
    return value[0] ? w->each(w->arg, w->key, value, false) : 0;
}

static int visit_setting(struct walk *w, const char *value)
{
    switch (git_key_names(w->key)) {
    case GIT_NAMES_COMMAND:
        return visit_command(w, value);
    case GIT_NAMES_PROGRAM:
        return value[0] ? w->each(w->arg, w->key, value, !strchr(value, '/')) : 0;
    case GIT_NAMES_FILE:
        return visit_file(w, value);
    case GIT_NAMES_REDIRECT:
    case GIT_NAMES_NOTHING:
        break;
    }
    return 0;
}

int git_config_files(struct arena *a, const struct git_config *c, git_file_fn *each, void *arg)
{
    for (size_t i = 0; i < c->n; i++) {
        struct walk w = {.arena = a, .key = c->entries[i].key, .each = each, .arg = arg};
        int r = c->entries[i].value ? visit_setting(&w, c->entries[i].value) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}
