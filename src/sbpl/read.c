/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The reader. A datum in the making is a stack of open constructs: lists, quotes that wait for
 * their datum, and datum comments that throw theirs away. Completing a datum hands it to the
 * construct on top.
 *
 * One kind of damage is mended on the way. Public copies of WebKit's profiles went through a C
 * preprocessor on a system that defines `unix` as 1, so that syscall-unix reads "syscall-1" and
 * syscall-unix-in-use reads "syscall-1 -in-use". Both are put back together, and the person is
 * told.
 */

#include "sbpl/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum open_kind { OPEN_LIST, OPEN_QUOTE, OPEN_DISCARD };

struct read_open {
    enum open_kind kind;
    uint32_t depth;
    size_t start;
    src_pos pos;
    struct val *head, *tail; /* OPEN_LIST */
    bool dotted, closed;     /* OPEN_LIST: a dot was seen; the datum after it too */
    struct symbol *quote;    /* OPEN_QUOTE */
    struct read_open *up;
};

static src_pos here(const struct reader *r, size_t at)
{
    return r->unplaced ? 0 : r->base + (src_pos)at;
}

static enum read_result fail(struct reader *r, size_t at, const char *code, const char *msg,
                             const char *hint)
{
    struct diag *g = diag_add(r->diags, DIAG_ERROR, code, here(r, at), "%s", msg);
    if (hint)
        diag_hint(r->diags, g, "%s", hint);
    return READ_ERROR;
}

static enum read_result no_room(struct reader *r, size_t at)
{
    r->exhausted = true;
    return fail(r, at, "memory-budget", "the profile's data do not fit its memory budget", NULL);
}

enum { IS_SPACE = 1, IS_DELIMITER = 2 };

static const uint8_t kinds[256] = {
    ['\t'] = IS_SPACE | IS_DELIMITER,
    ['\n'] = IS_SPACE | IS_DELIMITER,
    ['\v'] = IS_SPACE | IS_DELIMITER,
    ['\f'] = IS_SPACE | IS_DELIMITER,
    ['\r'] = IS_SPACE | IS_DELIMITER,
    [' '] = IS_SPACE | IS_DELIMITER,
    ['('] = IS_DELIMITER,
    [')'] = IS_DELIMITER,
    ['"'] = IS_DELIMITER,
    [';'] = IS_DELIMITER,
    ['\0'] = IS_DELIMITER,
};

static bool is_space(char c)
{
    return kinds[(unsigned char)c] & IS_SPACE;
}

static bool is_delimiter(char c)
{
    return kinds[(unsigned char)c] & IS_DELIMITER;
}

static bool at_line_start(const struct reader *r, size_t at)
{
    return at == 0 || r->s[at - 1] == '\n';
}

/* Whether text at this place can only be a new top-level form or a comment before one: what a
 * person's layout says about a string or list that was never closed. */
static bool looks_top_level(const struct reader *r, size_t at)
{
    return at_line_start(r, at) && (r->s[at] == '(' || r->s[at] == ';');
}

/* Skips blanks and comments. READ_DATUM when something follows. */
static enum read_result skip_blank(struct reader *r)
{
    while (r->at < r->n) {
        char c = r->s[r->at];
        if (is_space(c)) {
            r->at++;
        } else if (c == ';' || (c == '#' && r->s[r->at + 1] == '!' && r->at == 0)) {
            const char *nl = memchr(r->s + r->at, '\n', r->n - r->at);
            r->at = nl ? (size_t)(nl - r->s) : r->n;
        } else if (c == '#' && r->s[r->at + 1] == '|') {
            size_t start = r->at, level = 1;
            for (r->at += 2; r->at < r->n && level; r->at++) {
                if (r->s[r->at] == '|' && r->s[r->at + 1] == '#')
                    level--, r->at++;
                else if (r->s[r->at] == '#' && r->s[r->at + 1] == '|')
                    level++, r->at++;
            }
            if (level) {
                r->at = r->n;
                return fail(r, start, "unclosed-comment", "this comment is never closed",
                            "end it with |#");
            }
        } else {
            return READ_DATUM;
        }
    }
    return READ_END;
}

/* End of the string that starts at `open` (on its quote): index of the closing quote. */
static bool find_string_end(const struct reader *r, size_t open, size_t *end)
{
    for (size_t i = open + 1; i < r->n; i++) {
        if (r->s[i] == '"') {
            *end = i;
            return true;
        }
        if (r->s[i] == '\\')
            i++;
        else if (r->recover && looks_top_level(r, i))
            return false;
    }
    return false;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int octal_digit(char c)
{
    return c >= '0' && c <= '7' ? c - '0' : -1;
}

/* The escape after a backslash at s[i - 1]; moves *i past it. */
static char unescape(struct reader *r, size_t *i, size_t end, bool *remarked)
{
    static const char names[] = "nrtabfv", values[] = "\n\r\t\a\b\f\v";
    char c = r->s[(*i)++];
    const char *known = strchr(names, c);
    if (c && known)
        return values[known - names];
    if (c == 'x' && *i + 1 < end && hex_digit(r->s[*i]) >= 0 && hex_digit(r->s[*i + 1]) >= 0) {
        int v = hex_digit(r->s[*i]) * 16 + hex_digit(r->s[*i + 1]);
        *i += 2;
        return (char)v;
    }
    if (octal_digit(c) >= 0) {
        int v = octal_digit(c);
        for (int k = 0; k < 2 && *i < end && octal_digit(r->s[*i]) >= 0 && v < 32; k++)
            v = v * 8 + octal_digit(r->s[(*i)++]);
        return (char)v;
    }
    if (c != '"' && c != '\\' && c != '\n' && !*remarked) {
        *remarked = true;
        struct diag *g = diag_add(r->diags, DIAG_WARNING, "string-escape", here(r, *i - 2),
                                  "\\%c in a string is just %c", c, c);
        if (g)
            g->width = 2;
        diag_hint(r->diags, g, "in a regular expression write #\"…\", or double the backslash");
    }
    return c;
}

static enum read_result read_string(struct reader *r, size_t start, size_t quote, bool raw,
                                    struct val **out)
{
    size_t end;
    if (!find_string_end(r, quote, &end)) {
        const char *nl = memchr(r->s + quote, '\n', r->n - quote);
        r->at = r->recover && nl ? (size_t)(nl - r->s) : r->n;
        return fail(r, start, "unclosed-string", "this string is never closed",
                    "add the closing quote");
    }
    char *text = arena_alloc(r->arena, end - quote);
    if (!text)
        return no_room(r, start);
    size_t n = 0;
    bool remarked = false;
    for (size_t i = quote + 1; i < end;) {
        char c = r->s[i++];
        if (c == '\\' && raw && r->s[i] != '"')
            text[n++] = c;
        if (c == '\\')
            c = raw ? r->s[i++] : unescape(r, &i, end, &remarked);
        text[n++] = c;
    }
    r->at = end + 1;
    *out = val_string_take(r->arena, text, n);
    return *out ? READ_DATUM : no_room(r, start);
}

/* #\a #\space #\x41 */
static enum read_result read_character(struct reader *r, size_t start, struct val **out)
{
    static const struct {
        const char *name;
        char c;
    } named[] = {{"space", ' '}, {"newline", '\n'}, {"tab", '\t'}, {"return", '\r'}, {"nul", 0}};
    size_t i = start + 2;
    size_t w = i < r->n ? utf8_width(r->s + i, r->n - i) : 0;
    if (w == 0)
        return r->at = r->n, fail(r, start, "bad-character", "a character must follow #\\", NULL);
    size_t end = i + w;
    while (end < r->n && !is_delimiter(r->s[end]))
        end++;
    int64_t c = w == 1 ? (unsigned char)r->s[i] : -1;
    size_t len = end - i;
    bool known = len == w && c >= 0;
    for (size_t k = 0; k < sizeof(named) / sizeof(named[0]) && !known; k++)
        if (strlen(named[k].name) == len && memcmp(named[k].name, r->s + i, len) == 0)
            c = named[k].c, known = true;
    if (!known && c == 'x' && len > 1 && len <= 7 && hex_digit(r->s[i + 1]) >= 0) {
        char *stop, digits[8] = {0};
        memcpy(digits, r->s + i + 1, len - 1);
        c = strtol(digits, &stop, 16);
        known = *stop == '\0' && c <= 0x10ffff;
    }
    r->at = end;
    if (!known)
        return fail(r, start, "bad-character", "no such character",
                    "known: #\\a, #\\space, "
                    "#\\newline, #\\tab, #\\x41");
    *out = val_char(r->arena, c);
    return *out ? READ_DATUM : no_room(r, start);
}

struct val *read_number(struct arena *arena, const char *s, size_t n, int radix)
{
    char text[64], *stop;
    bool digit = false;
    /* names are many and numbers few */
    if (radix == 10 && n && (unsigned char)s[0] > '9')
        return NULL;
    for (size_t i = 0; i < n && !digit; i++)
        digit = radix == 16 ? hex_digit(s[i]) >= 0 : s[i] >= '0' && s[i] <= '9';
    if (n == 0 || n >= sizeof(text) || !digit || is_space(s[0]) || memchr(s, '\0', n))
        return NULL;
    memcpy(text, s, n);
    text[n] = '\0';
    errno = 0;
    long long whole = strtoll(text, &stop, radix);
    if (*stop == '\0' && !errno)
        return val_int(arena, whole);
    /* what does not fit goes on as a real number; strtod would also take "inf", "nan" and
     * hexadecimal */
    if (radix != 10 || text[strspn(text, "+-0123456789.eE")] != '\0')
        return NULL;
    double d = strtod(text, &stop);
    return *stop == '\0' ? val_real(arena, d) : NULL;
}

/* "syscall-1" and, one blank behind it, "-name": see the top of this file. */
static struct symbol *mend_preprocessed(struct reader *r, const char *s, size_t n)
{
    static const char broken[] = "syscall-1", whole[] = "syscall-unix";
    if (n != sizeof(broken) - 1 || memcmp(s, broken, n) != 0)
        return NULL;
    size_t tail = r->at + 1, end = tail;
    if (tail + 1 < r->n && r->s[r->at] == ' ' && r->s[tail] == '-' && r->s[tail + 1] >= 'a')
        while (end < r->n && !is_delimiter(r->s[end]))
            end++;
    char name[256];
    size_t m = end - tail;
    if (sizeof(whole) + m > sizeof(name))
        return NULL;
    memcpy(name, whole, sizeof(whole) - 1);
    memcpy(name + sizeof(whole) - 1, r->s + tail, m);
    if (!r->preprocessed)
        diag_add(r->diags, DIAG_NOTE, "preprocessed", here(r, r->at - n),
                 "a C preprocessor turned `unix` into 1 here; reading syscall-1 as syscall-unix");
    r->preprocessed = true;
    if (m)
        r->at = end;
    return symbol_intern(r->syms, name, sizeof(whole) - 1 + m);
}

static bool is_symbol_start(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c > ' ' && c < 0x7f && !strchr("@[]{}|\\#'`,()\";", c));
}

static enum read_result read_atom(struct reader *r, struct val **out)
{
    size_t start = r->at, end = start;
    unsigned char c = (unsigned char)r->s[start];
    if (!is_symbol_start(c)) {
        size_t w = utf8_width(r->s + start, r->n - start);
        r->at = start + (w ? w : 1);
        while (r->recover && r->at < r->n && !is_delimiter(r->s[r->at]))
            r->at++;
        return fail(r, start, "unexpected-character",
                    w ? "unexpected character" : "unexpected byte: the text is not UTF-8 here",
                    "names and numbers start with a letter, a digit or one of !$%&*+-./:<=>?^_~");
    }
    while (end < r->n && !is_delimiter(r->s[end]))
        end++;
    const char *s = r->s + start;
    size_t n = end - start;
    r->at = end;
    if ((*out = read_number(r->arena, s, n, 10)))
        return READ_DATUM;
    struct symbol *sym = mend_preprocessed(r, s, n);
    if (!sym)
        sym = symbol_intern(r->syms, s, n);
    *out = sym ? &sym->v : NULL;
    return *out ? READ_DATUM : no_room(r, start);
}

/* What starts with '#': regex literals, booleans, characters, numbers. */
static enum read_result read_hash(struct reader *r, struct val **out)
{
    size_t start = r->at, end = start + 1;
    char c = end < r->n ? r->s[end] : '\0';
    if (c == '"')
        return read_string(r, start, end, true, out);
    if (c == '\\')
        return read_character(r, start, out);
    while (end < r->n && !is_delimiter(r->s[end]))
        end++;
    const char *s = r->s + start + 1;
    size_t n = end - start - 1;
    r->at = end;
    static const struct {
        const char *name;
        struct val *v;
    } words[] = {{"t", &val_true}, {"f", &val_false}, {"true", &val_true}, {"false", &val_false}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strlen(words[i].name) == n && memcmp(words[i].name, s, n) == 0)
            return *out = words[i].v, READ_DATUM;
    static const char letters[] = "xobd";
    static const int radix[] = {16, 8, 2, 10};
    const char *letter = c ? strchr(letters, c) : NULL;
    *out = letter ? read_number(r->arena, s + 1, n - 1, radix[letter - letters]) : NULL;
    if (*out)
        return READ_DATUM;
    return fail(r, start, "bad-syntax",
                c == '(' ? "vectors are not part of SBPL" : "nothing known starts like this",
                "after # come t, f, \"…\", \\c, x1f, o17, b101, ;datum or |comment|");
}

/* Hands a finished datum to the construct on top; *out is set when nothing is open any more. */
static enum read_result deliver(struct reader *r, struct read_open **top, struct val *v,
                                src_pos pos, struct val **out, src_pos *out_pos)
{
    while (*top && (*top)->kind == OPEN_QUOTE) {
        struct read_open *q = *top;
        v = val_cons(r->arena, v, &val_nil, pos);
        v = v ? val_cons(r->arena, &q->quote->v, v, q->pos) : NULL;
        if (!v)
            return no_room(r, r->at);
        pos = q->pos;
        *top = q->up;
    }
    struct read_open *o = *top;
    if (!o) {
        *out = v;
        *out_pos = pos;
        return READ_DATUM;
    }
    if (o->kind == OPEN_DISCARD) {
        *top = o->up;
        return READ_END;
    }
    if (o->closed)
        return fail(r, r->at, "bad-dot", "only one datum may follow the dot", NULL);
    if (o->dotted) {
        o->tail->cdr = v;
        o->closed = true;
        return READ_END;
    }
    struct val *cell = val_cons(r->arena, v, &val_nil, pos);
    if (!cell)
        return no_room(r, r->at);
    if (o->tail)
        o->tail->cdr = cell;
    else
        o->head = cell;
    o->tail = cell;
    return READ_END;
}

static enum read_result open_construct(struct reader *r, struct read_open **top,
                                       enum open_kind kind, size_t width, const char *quote)
{
    uint32_t depth = *top ? (*top)->depth + 1 : 1;
    if (depth > r->max_depth) {
        r->exhausted = true;
        return fail(r, r->at, "depth-budget", "nested too deeply",
                    "a profile that needs this much nesting is not one that a person wrote");
    }
    struct read_open *o = arena_new(r->arena, struct read_open);
    if (!o)
        return no_room(r, r->at);
    o->kind = kind;
    o->depth = depth;
    o->start = r->at;
    o->pos = here(r, r->at);
    o->up = *top;
    if (quote) {
        o->quote = symbol_intern(r->syms, quote, strlen(quote));
        if (!o->quote)
            return no_room(r, r->at);
    }
    r->at += width;
    *top = o;
    return READ_END;
}

static enum read_result close_list(struct reader *r, struct read_open **top, struct val **out,
                                   src_pos *out_pos)
{
    struct read_open *o = *top;
    if (!o)
        return r->at++,
               fail(r, r->at - 1, "stray-parenthesis", "this parenthesis closes nothing", NULL);
    if (o->kind != OPEN_LIST) {
        size_t at = r->at;
        while (*top && (*top)->kind != OPEN_LIST)
            *top = (*top)->up;
        r->at += *top == NULL; /* else it closes the list that the quote stands in */
        return fail(r, at, "bad-quote", "a datum must come before this", NULL);
    }
    r->at++;
    *top = o->up;
    if (o->dotted && !o->closed)
        return fail(r, r->at - 1, "bad-dot", "a datum must follow the dot", NULL);
    return deliver(r, top, o->head ? o->head : &val_nil, o->pos, out, out_pos);
}

static bool is_lone_dot(const struct reader *r)
{
    return r->s[r->at] == '.' && (r->at + 1 == r->n || is_delimiter(r->s[r->at + 1]));
}

static enum read_result take_dot(struct reader *r, struct read_open *top)
{
    size_t at = r->at++;
    if (!top || top->kind != OPEN_LIST || !top->tail || top->dotted)
        return fail(r, at, "bad-dot", "a dot has no meaning here", NULL);
    top->dotted = true;
    return READ_END;
}

/* Where the text ended, or a new top-level form began, with lists still open. */
static enum read_result unclosed(struct reader *r, const struct read_open *top)
{
    while (top->up)
        top = top->up;
    return fail(r, top->start, "unclosed-list", "this list is never closed",
                "add the missing ) at its end");
}

/* One token. READ_END means: taken, the datum is not complete yet. */
static enum read_result step(struct reader *r, struct read_open **top, struct val **out,
                             src_pos *pos)
{
    size_t start = r->at;
    char c = r->s[start], d = start + 1 < r->n ? r->s[start + 1] : '\0';
    struct val *v = NULL;
    enum read_result got;
    switch (c) {
    case '(':
        return open_construct(r, top, OPEN_LIST, 1, NULL);
    case ')':
        return close_list(r, top, out, pos);
    case '\'':
        return open_construct(r, top, OPEN_QUOTE, 1, "quote");
    case '`':
        return open_construct(r, top, OPEN_QUOTE, 1, "quasiquote");
    case ',':
        if (d == '@')
            return open_construct(r, top, OPEN_QUOTE, 2, "unquote-splicing");
        return open_construct(r, top, OPEN_QUOTE, 1, "unquote");
    case '"':
        got = read_string(r, start, start, false, &v);
        break;
    case '#':
        if (d == ';')
            return open_construct(r, top, OPEN_DISCARD, 2, NULL);
        got = read_hash(r, &v);
        break;
    default:
        if (is_lone_dot(r))
            return take_dot(r, *top);
        got = read_atom(r, &v);
    }
    return got == READ_DATUM ? deliver(r, top, v, here(r, start), out, pos) : got;
}

enum read_result read_datum(struct reader *r, struct val **out, src_pos *pos)
{
    struct read_open *top = NULL;
    bool broken = false; /* a mistake was told; the rest is read to find its end and further ones */
    if (r->exhausted)
        return READ_END;
    for (;;) {
        enum read_result got = skip_blank(r);
        if (got == READ_ERROR)
            return got;
        bool over =
            got == READ_END || (r->recover && r->s[r->at] == '(' && at_line_start(r, r->at));
        if (top && over)
            return broken ? READ_ERROR : unclosed(r, top);
        if (got == READ_END)
            return got;
        got = step(r, &top, out, pos);
        if (got == READ_ERROR && top && r->recover && !r->exhausted)
            broken = true;
        else if (got != READ_END)
            return broken ? READ_ERROR : got;
    }
}

/* A compiled profile looks like this to a text reader. */
static bool refuse_nul(struct reader *r)
{
    const char *nul = memchr(r->s, '\0', r->n);
    if (!nul)
        return false;
    fail(r, (size_t)(nul - r->s), "nul-byte", "the text contains a NUL byte",
         "is this a compiled profile? Profiles are text here");
    return true;
}

/* One pass over the text; false when it met a mistake. */
static bool read_pass(struct reader *r, struct val **list)
{
    struct val *head = &val_nil, *tail = NULL, *v;
    src_pos pos;
    bool sound = true;
    for (;;) {
        enum read_result got = read_datum(r, &v, &pos);
        if (got == READ_END)
            break;
        if (got == READ_ERROR) {
            sound = false;
            if (!r->recover || r->exhausted)
                break;
            continue;
        }
        struct val *cell = val_cons(r->arena, v, &val_nil, pos);
        if (!cell) {
            no_room(r, r->at);
            sound = false;
            break;
        }
        if (tail)
            tail->cdr = cell;
        else
            head = cell;
        tail = cell;
    }
    *list = head;
    return sound;
}

struct val *read_all_data(struct arena *arena, struct symtab *syms, struct diags *diags,
                          const struct source *src, uint32_t max_depth)
{
    struct diags trial;
    diags_init(&trial);
    struct reader first = {.arena = arena,
                           .syms = syms,
                           .diags = &trial,
                           .s = src->text,
                           .n = src->len,
                           .base = src->base,
                           .max_depth = max_depth};
    struct val *list = &val_nil;
    if (refuse_nul(
            &(struct reader){.diags = diags, .s = src->text, .n = src->len, .base = src->base})) {
        diags_free(&trial);
        return &val_nil;
    }
    bool sound = read_pass(&first, &list);
    bool remarks = trial.kept > 0;
    diags_free(&trial);
    if (sound && !remarks)
        return list;
    struct reader again = first;
    again.diags = diags;
    again.at = 0;
    again.exhausted = again.preprocessed = false;
    again.recover = !sound;
    read_pass(&again, &list);
    return again.exhausted ? NULL : list;
}

size_t read_extent(const char *text, size_t n)
{
    size_t depth = 0, i = 0;
    while (i < n) {
        char c = text[i++];
        if (c == '"') {
            while (i < n && text[i] != '"')
                i += text[i] == '\\' ? 2 : 1;
            i++;
        } else if (c == ';') {
            while (i < n && text[i] != '\n')
                i++;
        } else if (c == '(') {
            depth++;
        } else if (depth == 0 && (c == ')' || is_space(c))) {
            return i - 1;
        } else if (c == ')' && --depth == 0) {
            break;
        }
    }
    return i < n ? i : n;
}
