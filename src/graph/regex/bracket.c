/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Bracket expressions, with JavaScript's rules, because the glob conversion relies on them: a
 * backslash quotes, and `]` closes even as the first character, so [] matches nothing and [^]
 * everything. POSIX names such as [[:alpha:]] work too. With folding, members are lowercased before
 * `^` inverts them: [^A] excludes both cases.
 */

#include <string.h>

#include "graph/regex/ast.h"

struct class_name {
    const char *name;
    unsigned nranges;
    unsigned char range[4][2]; /* first and last byte */
};

static const struct class_name class_names[] = {
    {"alnum", 3, {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
    {"alpha", 2, {{'A', 'Z'}, {'a', 'z'}}},
    {"blank", 2, {{'\t', '\t'}, {' ', ' '}}},
    {"cntrl", 2, {{0, 0x1f}, {0x7f, 0x7f}}},
    {"digit", 1, {{'0', '9'}}},
    {"graph", 1, {{'!', '~'}}},
    {"lower", 1, {{'a', 'z'}}},
    {"print", 1, {{' ', '~'}}},
    {"punct", 4, {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
    {"space", 2, {{'\t', '\r'}, {' ', ' '}}},
    {"upper", 1, {{'A', 'Z'}}},
    {"word", 4, {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    {"xdigit", 3, {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
};

static void add_class(const struct class_name *c, struct byteset *s)
{
    for (unsigned i = 0; i < c->nranges; i++)
        byteset_add_range(s, c->range[i][0], c->range[i][1]);
}

/* Where the name after `[:` ends, 0 when no `:]` follows a run of letters. */
static uint32_t class_name_end(const struct ast_parse *p)
{
    uint32_t i = p->at + 2;
    while (i < p->len && p->text[i] >= 'a' && p->text[i] <= 'z')
        i++;
    return i + 1 < p->len && p->text[i] == ':' && p->text[i + 1] == ']' ? i : 0;
}

/* Returns 1 after reading a named class, 0 if there is none here, -1 if its name is unknown. */
static int parse_named_class(struct ast_parse *p, struct byteset *s)
{
    if (p->at + 1 >= p->len || p->text[p->at] != '[' || p->text[p->at + 1] != ':')
        return 0;
    uint32_t end = class_name_end(p);
    if (!end)
        return 0;
    const char *name = p->text + p->at + 2;
    size_t n = end - (p->at + 2);
    for (size_t i = 0; i < sizeof(class_names) / sizeof(class_names[0]); i++)
        if (strlen(class_names[i].name) == n && memcmp(class_names[i].name, name, n) == 0) {
            add_class(&class_names[i], s);
            p->at = end + 2;
            return 1;
        }
    return ast_fail(p, BK_E_INPUT, p->at, "unknown character class [:%.*s:]",
                    (int)(n < 32 ? n : 32), name);
}

/* Reads one member, which may be quoted. */
static int parse_member(struct ast_parse *p, unsigned *out)
{
    if (p->text[p->at] == '\\')
        p->at++;
    if (p->at >= p->len)
        return ast_fail(p, BK_E_INPUT, p->len - 1, "a backslash at the end quotes nothing");
    *out = (unsigned char)p->text[p->at++];
    return 0;
}

static bool at_range(const struct ast_parse *p)
{
    return p->at + 1 < p->len && p->text[p->at] == '-' && p->text[p->at + 1] != ']';
}

static int parse_range(struct ast_parse *p, struct byteset *s)
{
    uint32_t start = p->at;
    unsigned lo = 0, hi;
    if (parse_member(p, &lo) < 0)
        return -1;
    hi = lo;
    if (at_range(p)) {
        p->at++;
        if (p->text[p->at] == '[' && p->at + 1 < p->len && p->text[p->at + 1] == ':' &&
            class_name_end(p))
            return ast_fail(p, BK_E_INPUT, p->at, "a class cannot end a range");
        if (parse_member(p, &hi) < 0)
            return -1;
        if (hi < lo)
            return ast_fail(p, BK_E_INPUT, start, "this range is reversed");
    }
    byteset_add_range(s, lo, hi);
    return 0;
}

int ast_parse_bracket(struct ast_parse *p, struct byteset *out)
{
    uint32_t open = p->at - 1;
    struct byteset s = {{0}};
    bool inverted = p->at < p->len && p->text[p->at] == '^';
    if (inverted)
        p->at++;
    while (p->at < p->len && p->text[p->at] != ']') {
        int named = parse_named_class(p, &s);
        if (named < 0 || (named == 0 && parse_range(p, &s) < 0))
            return -1;
    }
    if (p->at >= p->len) {
        ast_fail(p, BK_E_INPUT, open, "this bracket is never closed");
        err_hint(p->err, "close it with ], or write \\[ for the character itself");
        return -1;
    }
    p->at++;
    if (p->fold)
        byteset_fold(&s);
    if (inverted)
        byteset_invert(&s);
    *out = s;
    return 0;
}
