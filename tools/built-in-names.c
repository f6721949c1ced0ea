/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Lists the names that shipped rules deny, from the rules themselves: folders and files by path,
 * patterns by all texts that they match. A star marks where a pattern matches any text. Rules that
 * deny operations other than reading contents or all writing do not count, nor does anything below
 * a require-not.
 */

#include "built-in-names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "sbpl/precompiled.h"
#include "vocab/protected-classes.h"

enum { TEXTS = 256, LENGTH = 256, NAMES = 2048, DEPTH = 8 };

struct texts {
    size_t n;
    char at[TEXTS][LENGTH];
};

struct name {
    char kind, class;
    char path[LENGTH];
};

static struct name names[NAMES];
static size_t count;
static void (*refuse)(const char *pattern);
static const char *pattern; /* being listed */
static bool for_all;        /* not only root's */
static char class;          /* of the rule being listed */

/* ---- patterns ---- */

static const char *read_choice(const char *s, struct texts *out, int depth);

static void add_text(struct texts *t, const char *a, const char *b)
{
    if (t->n == TEXTS || strlen(a) + strlen(b) >= LENGTH)
        refuse(pattern);
    snprintf(t->at[t->n++], LENGTH, "%s%s", a, b);
}

/* Reads one part of a pattern, without its quantifier: the texts that it matches. */
static const char *read_part(const char *s, struct texts *out, int depth)
{
    char one[2] = {*s, '\0'};
    out->n = 0;
    if (*s == '(') {
        s = read_choice(s + 1, out, depth + 1);
        if (*s != ')')
            refuse(pattern);
    } else if (*s == '[') {
        s = strchr(s + 2, ']');
        if (!s)
            refuse(pattern);
        add_text(out, "*", "");
    } else if (*s == '.') {
        add_text(out, "*", "");
    } else if (*s == '$') {
        add_text(out, "", "");
    } else if (*s == '\\' && s[1]) {
        one[0] = *++s;
        add_text(out, one, "");
    } else {
        if (strchr("^*+?{", *s))
            refuse(pattern);
        add_text(out, one, "");
    }
    return s + 1;
}

static const char *read_counted(const char *s, struct texts *out, int depth)
{
    s = read_part(s, out, depth);
    if (*s == '?')
        add_text(out, "", "");
    else if ((*s == '*' || *s == '+') && (out->n != 1 || strcmp(out->at[0], "*") != 0))
        refuse(pattern);
    return s + strspn(s, "?*+");
}

static const char *read_sequence(const char *s, struct texts *out, int depth)
{
    struct texts *before = malloc(sizeof(*before)), *part = malloc(sizeof(*part));
    if (!before || !part || depth > DEPTH)
        refuse(pattern);
    out->n = 0;
    add_text(out, "", "");
    while (*s && *s != '|' && *s != ')') {
        s = read_counted(s, part, depth);
        *before = *out;
        out->n = 0;
        for (size_t i = 0; i < before->n; i++)
            for (size_t k = 0; k < part->n; k++)
                add_text(out, before->at[i], part->at[k]);
    }
    free(before);
    free(part);
    return s;
}

static const char *read_choice(const char *s, struct texts *out, int depth)
{
    struct texts *one = malloc(sizeof(*one));
    if (!one)
        refuse(pattern);
    out->n = 0;
    for (;; s++) {
        s = read_sequence(s, one, depth);
        for (size_t i = 0; i < one->n; i++)
            add_text(out, one->at[i], "");
        if (*s != '|')
            break;
    }
    free(one);
    return s;
}

/* ---- names ---- */

static void add_name(char kind, const char *path, size_t n)
{
    while (n && path[n - 1] == '/')
        n--;
    if (count == NAMES || n == 0 || n >= LENGTH)
        refuse(path);
    for (size_t i = 0; i < count; i++)
        if (names[i].kind == kind && strlen(names[i].path) == n &&
            memcmp(names[i].path, path, n) == 0)
            return;
    names[count].kind = kind;
    names[count].class = class;
    memcpy(names[count].path, path, n);
    names[count++].path[n] = '\0';
}

static void add_pattern(const struct graph_test *t, bool writes)
{
    struct texts *all = malloc(sizeof(*all));
    pattern = t->str;
    if (!all || !writes || *read_choice(t->str, all, 0))
        refuse(pattern);
    for (size_t i = 0; i < all->n; i++) {
        if (all->at[i][0] != '/' || !all->at[i][1])
            refuse(pattern);
        add_name(PRECOMPILED_ANYWHERE, all->at[i] + 1, strlen(all->at[i]) - 1);
        add_name(PRECOMPILED_AT_HOME, all->at[i] + 1, strlen(all->at[i]) - 1);
    }
    free(all);
}

static void add_path(const struct graph_test *t, const char *home, bool writes, char at_home)
{
    size_t n = strlen(home);
    if (t->len > n && memcmp(t->str, home, n) == 0 && t->str[n] == '/')
        add_name(at_home, t->str + n + 1, t->len - n - 1);
    else if (!writes)
        add_name(for_all ? PRECOMPILED_SECRET_ALL : PRECOMPILED_SECRET_ROOT, t->str + 1,
                 t->len - 1);
    else
        refuse(t->str);
}

static void add_tests(const struct graph_expr *e, const char *home, bool writes, char at_home)
{
    if (e->kind == GRAPH_NOT)
        return;
    for (uint32_t i = 0; e->kind != GRAPH_TEST && i < e->nkids; i++)
        add_tests(e->kids[i], home, writes, at_home);
    if (e->kind != GRAPH_TEST || e->test.filter != FILTER_PATH)
        return;
    if (e->test.how == GRAPH_REGEX)
        add_pattern(&e->test, writes);
    else if (e->test.how == GRAPH_SUBPATH || e->test.how == GRAPH_LITERAL)
        add_path(&e->test, home, writes, at_home);
}

/* A folder that is partly public, like ssh's. */
static bool has_exceptions(const struct graph_expr *e)
{
    if (e->kind == GRAPH_NOT)
        return true;
    for (uint32_t i = 0; e->kind != GRAPH_TEST && i < e->nkids; i++)
        if (has_exceptions(e->kids[i]))
            return true;
    return false;
}

static bool is_about(const struct sbpl_rule *r, uint16_t op)
{
    for (size_t i = 0; i < r->nops; i++)
        if (r->ops[i] == op)
            return true;
    return false;
}

static bool has_errno(const struct sbpl_rule *r)
{
    for (size_t i = 0; i < r->nmods; i++)
        if (r->mods[i].id == MOD_ERRNO)
            return true;
    return false;
}

/* What the message says. */
static char class_of(const struct sbpl_rule *r)
{
    for (size_t i = 0; i < r->nmods; i++)
        if (r->mods[i].id == MOD_MESSAGE)
            return (char)(PRECOMPILED_CLASS + protected_class_of_message(r->mods[i].str));
    return PRECOMPILED_CLASS + PROTECTED_NO_CLASS;
}

void precompiled_names_add(const struct sbpl_rule *rules, const char *home, bool ordinary,
                           void (*give_up)(const char *pattern))
{
    refuse = give_up;
    for_all = ordinary;
    for (const struct sbpl_rule *r = rules; r; r = r->next) {
        bool writes = is_about(r, OP_FILE_WRITE);
        if (r->allow || !r->when || !(writes || is_about(r, OP_FILE_READ_DATA)))
            continue;
        char kind = writes ? has_errno(r) ? PRECOMPILED_NO_ACCESS : PRECOMPILED_WRITE
                    : !(r->flags & VOCAB_FLAG_REPORT) ? PRECOMPILED_TRACE
                    : has_exceptions(r->when)         ? PRECOMPILED_KEYS
                                                      : PRECOMPILED_SECRET;
        class = class_of(r);
        add_tests(r->when, home, writes, kind);
    }
}

/* ---- printing ---- */

/* List by list; within each, compares paths component by component. */
static int by_path(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    int lists = precompiled_list(x->kind) - precompiled_list(y->kind);
    if (lists)
        return lists;
    const char *s = x->path, *t = y->path;
    while (*s && *s == *t)
        s++, t++;
    int c = *s == '/' ? 1 : (unsigned char)*s, d = *t == '/' ? 1 : (unsigned char)*t;
    return c != d ? c - d : y->kind - x->kind; /* w before e: the latter overrides */
}

void precompiled_names_print(void)
{
    qsort(names, count, sizeof(names[0]), by_path);
    printf("const char precompiled_names[] =\n");
    for (size_t i = 0; i < count; i++)
        printf("    \"%c%c%s\\0\"\n", names[i].kind, names[i].class, names[i].path);
    printf("    \"\";\n");
}
