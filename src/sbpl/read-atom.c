/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Atoms: strings, characters, numbers, names.
 *
 * The reader repairs one kind of damage. Public copies of WebKit's profiles went through a C
 * preprocessor on a system that defines `unix` as 1, so syscall-unix became "syscall-1", and
 * syscall-unix-in-use became "syscall-1 -in-use". Both are restored, with a warning.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/utf8.h"
#include "sbpl/read-int.h"

const uint8_t read_kinds[256] = {
    ['\t'] = READ_SPACE | READ_DELIMITER,
    ['\n'] = READ_SPACE | READ_DELIMITER,
    ['\v'] = READ_SPACE | READ_DELIMITER,
    ['\f'] = READ_SPACE | READ_DELIMITER,
    ['\r'] = READ_SPACE | READ_DELIMITER,
    [' '] = READ_SPACE | READ_DELIMITER,
    ['('] = READ_DELIMITER,
    [')'] = READ_DELIMITER,
    ['"'] = READ_DELIMITER,
    [';'] = READ_DELIMITER,
    ['\0'] = READ_DELIMITER,
};

src_pos read_here(const struct reader *r, size_t at)
{
    return r->unplaced ? 0 : r->base + (src_pos)at;
}

enum read_result read_fail(struct reader *r, size_t at, const char *code, const char *msg,
                           const char *hint)
{
    struct diag *g = diag_add(r->diags, DIAG_ERROR, code, read_here(r, at), "%s", msg);
    if (hint)
        diag_hint(r->diags, g, "%s", hint);
    return READ_ERROR;
}

enum read_result read_no_room(struct reader *r, size_t at)
{
    r->exhausted = true;
    return read_fail(r, at, "memory-budget", "the profile's data exceeds its memory budget", NULL);
}

/* Finds the closing quote of the string that starts at `open`, its opening quote. */
static bool find_string_end(const struct reader *r, size_t open, size_t *end)
{
    for (size_t i = open + 1; i < r->n; i++) {
        if (r->s[i] == '"') {
            *end = i;
            return true;
        }
        if (r->s[i] == '\\')
            i++;
        else if (r->recover && read_looks_top_level(r, i))
            return false;
    }
    return false;
}

static int octal_digit(char c)
{
    return c >= '0' && c <= '7' ? c - '0' : -1;
}

/* Decodes the escape after a backslash at s[i - 1]; moves *i past it. */
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
        struct diag *g = diag_add(r->diags, DIAG_WARNING, "string-escape", read_here(r, *i - 2),
                                  "\\%c in a string is just %c", c, c);
        if (g)
            g->width = 2;
        diag_hint(r->diags, g, "in a regular expression write #\"…\", or double the backslash");
    }
    return c;
}

enum read_result read_string(struct reader *r, size_t start, size_t quote, bool raw,
                             struct val **out)
{
    size_t end;
    if (!find_string_end(r, quote, &end)) {
        const char *nl = memchr(r->s + quote, '\n', r->n - quote);
        r->at = r->recover && nl ? (size_t)(nl - r->s) : r->n;
        return read_fail(r, start, "unclosed-string", "this string is never closed",
                         "add the closing quote");
    }
    char *text = arena_alloc(r->arena, end - quote);
    if (!text)
        return read_no_room(r, start);
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
    return *out ? READ_DATUM : read_no_room(r, start);
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
        return r->at = r->n,
               read_fail(r, start, "bad-character", "a character must follow #\\", NULL);
    size_t end = i + w;
    while (end < r->n && !read_is_delimiter(r->s[end]))
        end++;
    int64_t c = w == 1 ? (unsigned char)r->s[i] : -1;
    size_t len = end - i;
    bool known = len == w && c >= 0;
    for (size_t k = 0; k < sizeof(named) / sizeof(named[0]) && !known; k++)
        if (strlen(named[k].name) == len && memcmp(named[k].name, r->s + i, len) == 0)
            c = (unsigned char)named[k].c, known = true;
    if (!known && c == 'x' && len > 1 && len <= 7 && hex_digit(r->s[i + 1]) >= 0) {
        char *stop, digits[8] = {0};
        memcpy(digits, r->s + i + 1, len - 1);
        c = strtol(digits, &stop, 16);
        known = *stop == '\0' && c <= 0x10ffff;
    }
    r->at = end;
    if (!known)
        return read_fail(r, start, "bad-character", "no such character",
                         "known: #\\a, #\\space, "
                         "#\\newline, #\\tab, #\\x41");
    *out = val_char(r->arena, c);
    return *out ? READ_DATUM : read_no_room(r, start);
}

struct val *read_number(struct arena *arena, const char *s, size_t n, int radix)
{
    char text[64], *stop;
    bool digit = false;
    /* names are common, numbers are rare */
    if (radix == 10 && n && (unsigned char)s[0] > '9')
        return NULL;
    for (size_t i = 0; i < n && !digit; i++)
        digit = radix == 16 ? hex_digit(s[i]) >= 0 : s[i] >= '0' && s[i] <= '9';
    if (n == 0 || n >= sizeof(text) || !digit || read_is_space(s[0]) || memchr(s, '\0', n))
        return NULL;
    memcpy(text, s, n);
    text[n] = '\0';
    errno = 0;
    long long whole = strtoll(text, &stop, radix);
    if (*stop == '\0' && !errno)
        return val_int(arena, whole);
    /* too large for an integer: a real number. strtod would also accept "inf", "nan" and
     * hexadecimal */
    if (radix != 10 || text[strspn(text, "+-0123456789.eE")] != '\0')
        return NULL;
    double d = strtod(text, &stop);
    return *stop == '\0' ? val_real(arena, d) : NULL;
}

/* "syscall-1" and, after one blank, "-name": see the top of this file. */
static struct symbol *mend_preprocessed(struct reader *r, const char *s, size_t n)
{
    static const char broken[] = "syscall-1", whole[] = "syscall-unix";
    if (n != sizeof(broken) - 1 || memcmp(s, broken, n) != 0)
        return NULL;
    size_t tail = r->at + 1, end = tail;
    if (tail + 1 < r->n && r->s[r->at] == ' ' && r->s[tail] == '-' && r->s[tail + 1] >= 'a')
        while (end < r->n && !read_is_delimiter(r->s[end]))
            end++;
    char name[256];
    size_t m = end - tail;
    if (sizeof(whole) + m > sizeof(name))
        return NULL;
    memcpy(name, whole, sizeof(whole) - 1);
    memcpy(name + sizeof(whole) - 1, r->s + tail, m);
    if (!r->preprocessed)
        diag_add(r->diags, DIAG_NOTE, "preprocessed", read_here(r, r->at - n),
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

enum read_result read_atom(struct reader *r, struct val **out)
{
    size_t start = r->at, end = start;
    unsigned char c = (unsigned char)r->s[start];
    if (!is_symbol_start(c)) {
        size_t w = utf8_width(r->s + start, r->n - start);
        r->at = start + (w ? w : 1);
        while (r->recover && r->at < r->n && !read_is_delimiter(r->s[r->at]))
            r->at++;
        return read_fail(
            r, start, "unexpected-character",
            w ? "unexpected character" : "unexpected byte: the text is not UTF-8 here",
            "names and numbers start with a letter, a digit or one of !$%&*+-./:<=>?^_~");
    }
    while (end < r->n && !read_is_delimiter(r->s[end]))
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
    return *out ? READ_DATUM : read_no_room(r, start);
}

/* Reads what starts with '#': regex literals, booleans, characters, numbers. */
enum read_result read_hash(struct reader *r, struct val **out)
{
    size_t start = r->at, end = start + 1;
    char c = end < r->n ? r->s[end] : '\0';
    if (c == '"')
        return read_string(r, start, end, true, out);
    if (c == '\\')
        return read_character(r, start, out);
    while (end < r->n && !read_is_delimiter(r->s[end]))
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
    return read_fail(r, start, "bad-syntax",
                     c == '(' ? "vectors are not part of SBPL" : "unknown syntax",
                     "after # come t, f, \"…\", \\c, x1f, o17, b101, ;datum or |comment|");
}
