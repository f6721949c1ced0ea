/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Inputs as words and lines. A file with a command line is split as a shell splits it, which is
 * more than blanks: what a shell would replace, run or redirect is an error, because its meaning
 * is not known here. $HOME and $PWD are.
 */

#include <string.h>

#include "base/own.h"
#include "import/import-int.h"

struct splitter {
    struct imp *im;
    const char *at, *end;
    uint32_t line;
    struct imp_word *words;
    size_t n;
    struct bk_err *err;
};

static int push(struct splitter *s, const char *text, size_t n, uint32_t line)
{
    if (s->n == IMP_WORDS)
        return err_set(s->err, BK_E_LIMIT, "%s: more than %d words", s->im->source, IMP_WORDS);
    char *copy = arena_strndup(&s->im->arena, text, n);
    if (!copy)
        return err_nomem(s->err);
    s->words[s->n++] = (struct imp_word){.s = copy, .line = line};
    return 0;
}

/* $HOME, ${HOME}, $PWD and ${PWD}. */
static int variable(struct splitter *s, struct buf *word)
{
    const struct imp_env *env = s->im->env;
    const struct {
        const char *name, *value;
    } known[] = {
        {"${HOME}", env->home}, {"$HOME", env->home}, {"${PWD}", env->cwd}, {"$PWD", env->cwd}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t n = strlen(known[i].name);
        char after = (size_t)(s->end - s->at) > n ? s->at[n] : '\0';
        bool ends = known[i].name[1] == '{' || !after || strchr("/\"' \t\n:", after);
        if (known[i].value && (size_t)(s->end - s->at) >= n && ends &&
            memcmp(s->at, known[i].name, n) == 0) {
            buf_str(word, known[i].value);
            s->at += n;
            return 0;
        }
    }
    return imp_fail(s->im, s->line, s->err,
                    "a shell replaces this variable or command: write its value");
}

/* One quoted part, after its first quotation mark. */
static int quoted(struct splitter *s, char mark, struct buf *word)
{
    for (; s->at < s->end && *s->at != mark; s->at++) {
        if (*s->at == '\n')
            s->line++;
        if (mark == '"' && *s->at == '`')
            return variable(s, word);
        if (mark == '"' && *s->at == '$') {
            if (variable(s, word) < 0)
                return -1;
            s->at--;
            continue;
        }
        if (mark == '"' && *s->at == '\\' && s->at + 1 < s->end && strchr("\"\\$`\n", s->at[1]))
            s->at++;
        buf_chr(word, *s->at);
    }
    if (s->at == s->end)
        return imp_fail(s->im, s->line, s->err, "unclosed quotation mark %c", mark);
    s->at++;
    return 0;
}

static int one_word(struct splitter *s)
{
    OWN(buf) struct buf word = {0};
    uint32_t line = s->line;
    while (s->at < s->end && !strchr(" \t\r\n", *s->at)) {
        char c = *s->at;
        if (c == '\'' || c == '"') {
            s->at++;
            if (quoted(s, c, &word) < 0)
                return -1;
        } else if (c == '\\') {
            if (s->at + 1 == s->end)
                return imp_fail(s->im, s->line, s->err, "the text ends in a backslash");
            if (s->at[1] == '\n')
                s->line++;
            else
                buf_chr(&word, s->at[1]);
            s->at += 2;
        } else if (c == '$') {
            if (variable(s, &word) < 0)
                return -1;
        } else if (strchr("`|&;<>(){}*?!", c)) {
            return imp_fail(s->im, s->line, s->err,
                            "a shell does something with %c: quote it, or give a single command",
                            c);
        } else {
            buf_chr(&word, c);
            s->at++;
        }
    }
    if (!buf_ok(&word))
        return err_nomem(s->err);
    return push(s, word.s ? word.s : "", word.n, line);
}

static int split_shell(struct splitter *s)
{
    while (s->at < s->end) {
        if (*s->at == '\n')
            s->line++;
        if (*s->at == '#') {
            while (s->at < s->end && *s->at != '\n')
                s->at++;
        } else if (*s->at == '\\' && s->at + 1 < s->end && s->at[1] == '\n') {
            s->line++;
            s->at += 2;
        } else if (strchr(" \t\r\n", *s->at)) {
            s->at++;
        } else if (one_word(s) < 0) {
            return -1;
        }
    }
    return 0;
}

/* bwrap --args. */
static int split_nul(struct splitter *s)
{
    for (uint32_t i = 1; s->at < s->end; i++) {
        size_t n = strnlen(s->at, (size_t)(s->end - s->at));
        if (push(s, s->at, n, i) < 0)
            return -1;
        s->at += n + 1 <= (size_t)(s->end - s->at) ? n + 1 : n;
    }
    return 0;
}

static bool is_tool(const char *word, const char *tool)
{
    const char *slash = strrchr(word, '/');
    return strcmp(slash ? slash + 1 : word, tool) == 0;
}

int imp_words(struct imp *im, const struct imp_input *in, const char *sub,
              const struct imp_word **words, size_t *n, struct bk_err *err)
{
    struct splitter s = {.im = im, .at = in->text, .line = 1, .err = err};
    s.end = in->text ? in->text + in->n : NULL;
    s.words = arena_array(&im->arena, IMP_WORDS, sizeof(*s.words));
    if (!s.words)
        return err_nomem(err);
    for (size_t i = 0; i < in->nwords; i++)
        if (push(&s, in->words[i], strlen(in->words[i]), (uint32_t)i + 1) < 0)
            return -1;
    if (in->text && memchr(in->text, '\0', in->n) ? split_nul(&s) < 0
        : in->text                                ? split_shell(&s) < 0
                                                  : false)
        return -1;
    size_t skip = s.n && is_tool(s.words[0].s, im->tool);
    if (sub && s.n > skip && strcmp(s.words[skip].s, sub) == 0)
        skip++;
    *words = s.words + skip;
    *n = s.n - skip;
    return 0;
}

/* ---- lines ---- */

static void add_trimmed(struct buf *out, const char *s, size_t n)
{
    while (n && strchr(" \t\r", s[0]))
        s++, n--;
    while (n && strchr(" \t\r", s[n - 1]))
        n--;
    buf_add(out, s, n);
}

int imp_line(struct imp *im, struct imp_lines *l, const char **text, uint32_t *line,
             struct bk_err *err)
{
    OWN(buf) struct buf out = {0};
    if (l->s == l->end)
        return 0;
    *line = l->line + 1;
    for (bool more = true; more && l->s < l->end;) {
        const char *stop = memchr(l->s, '\n', (size_t)(l->end - l->s));
        size_t n = (size_t)((stop ? stop : l->end) - l->s);
        l->line++;
        if (memchr(l->s, '\0', n))
            return imp_fail(im, l->line, err, "a NUL byte");
        more = l->joined && n && l->s[n - 1] == '\\';
        add_trimmed(&out, l->s, more ? n - 1 : n);
        if (more)
            buf_chr(&out, ' ');
        l->s = stop ? stop + 1 : l->end;
    }
    *text = buf_ok(&out) ? arena_strndup(&im->arena, out.s ? out.s : "", out.n) : NULL;
    return *text ? 1 : err_nomem(err);
}

const char *imp_piece(struct imp *im, const char **at, const char *stops, bool *failed)
{
    OWN(buf) struct buf out = {0};
    if (!*at)
        return NULL;
    size_t n = strcspn(*at, stops);
    add_trimmed(&out, *at, n);
    *at = (*at)[n] ? *at + n + 1 : NULL;
    const char *s = arena_strndup(&im->arena, out.s ? out.s : "", out.n);
    *failed = *failed || !s || out.failed;
    return s;
}
