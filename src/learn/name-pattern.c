/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Which part of a name changes from run to run. One run shows one name, so this is a guess from how
 * programs make such names: mkstemp() ends in six letters and digits, hashes are long hexadecimal
 * numbers, process ids are decimal ones. A name that the command both created and removed is more
 * likely to be one. A wrong guess allows a pattern where a literal would do; the proof lists it.
 */

#include <ctype.h>
#include <string.h>

#include "learn/learned.h"

enum {
    MKSTEMP = 6,
    HASH = 12,  /* hexadecimal digits */
    NUMBER = 6, /* decimal digits */
    TEMP_NUMBER = 3,
    TURNS = 4, /* between kinds of characters, in six that nobody chose */
};

static int kind_of(char c)
{
    return islower((unsigned char)c)   ? 1
           : isupper((unsigned char)c) ? 2
           : isdigit((unsigned char)c) ? 3
                                       : 0;
}

static size_t turns(const char *s, size_t n)
{
    size_t count = 0;
    int last = 0;
    for (size_t i = 0; i < n; i++) {
        int kind = kind_of(s[i]);
        count += kind && last && kind != last;
        last = kind ? kind : last;
    }
    return count;
}

static void quote(const char *s, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        if (ispunct((unsigned char)s[i]) && s[i] != '_' && s[i] != '/' && s[i] != '-')
            buf_chr(out, '\\');
        buf_chr(out, s[i]);
    }
}

struct run {
    const char *s;
    size_t n;
    size_t digits, hex, lower;
    bool last;
};

static struct run run_at(const char *s, size_t n)
{
    struct run r = {.s = s};
    for (; r.n < n && (isalnum((unsigned char)s[r.n]) || s[r.n] == '_'); r.n++) {
        char c = s[r.n];
        r.digits += isdigit((unsigned char)c) != 0;
        r.lower += islower((unsigned char)c) != 0;
        r.hex += isdigit((unsigned char)c) || (c >= 'a' && c <= 'f');
    }
    return r;
}

/* As Python's tempfile makes them: "tmp" and eight of a-z, 0-9 and _. */
static bool is_pythons(const struct run *r)
{
    if (r->n != 11 || memcmp(r->s, "tmp", 3) != 0)
        return false;
    for (size_t i = 3; i < r->n; i++)
        if (isupper((unsigned char)r->s[i]))
            return false;
    return true;
}

/* How much of the run's start is the program's own prefix: "tmp", "cc", "sed". */
static size_t prefix_of(const struct run *r)
{
    const char *bar = NULL;
    size_t most = r->n - MKSTEMP, plain = 0;
    if (is_pythons(r) || (memcmp(r->s, "tmp", 3) == 0 && r->s[3] != '_'))
        return 3;
    for (size_t i = 0; i < most; i++)
        if (r->s[i] == '_')
            bar = r->s + i + 1;
    if (bar)
        return (size_t)(bar - r->s);
    while (plain < most && kind_of(r->s[plain]) == kind_of(r->s[0]))
        plain++;
    return plain;
}

static bool is_random(const struct run *r, const struct name_facts *f)
{
    if (f->temporary && is_pythons(r))
        return true;
    if (r->n < MKSTEMP || r->lower == r->n)
        return false;
    const char *end = r->s + r->n - MKSTEMP;
    size_t n = turns(end, MKSTEMP);
    return f->temporary ? n >= 1 || r->digits : !f->strict && n >= TURNS;
}

static bool is_number(const struct run *r, const struct name_facts *f)
{
    if (r->digits != r->n)
        return false;
    return f->number || r->n >= (f->temporary ? TEMP_NUMBER : NUMBER + (f->strict ? 100 : 0));
}

static bool is_hash(const struct run *r, const struct name_facts *f)
{
    return r->hex == r->n && r->n >= HASH && r->digits && r->digits < r->n &&
           (!f->strict || f->temporary);
}

/* A year, a month and a day, with anything between them. */
static bool has_date(const char *s, size_t n)
{
    for (size_t i = 0; i + 10 <= n; i++) {
        size_t digits = 0;
        for (size_t k = 0; k < 10; k++)
            digits += (k == 4 || k == 7) == !isdigit((unsigned char)s[i + k]);
        if (digits == 10 && ((s[i] == '2' && s[i + 1] == '0') || (s[i] == '1' && s[i + 1] == '9')))
            return true;
    }
    return false;
}

/* Every number in it is of that moment. */
static void put_dated(const char *s, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        if (!isdigit((unsigned char)s[i]))
            quote(s + i, 1, out);
        else if (i == 0 || !isdigit((unsigned char)s[i - 1]))
            buf_str(out, "[0-9]+");
    }
}

enum name_kind name_pattern(const char *name, size_t n, const struct name_facts *facts,
                            struct buf *out)
{
    enum name_kind kind = NAME_PLAIN;
    if (!facts->strict && has_date(name, n)) {
        put_dated(name, n, out);
        return NAME_NUMBERED;
    }
    for (size_t at = 0; at < n;) {
        struct run r = run_at(name + at, n - at);
        if (r.n == 0) {
            quote(name + at++, 1, out);
            continue;
        }
        at += r.n;
        if (is_number(&r, facts)) {
            buf_str(out, "[0-9]+");
            kind = kind == NAME_PLAIN ? NAME_NUMBERED : kind;
        } else if (is_hash(&r, facts)) {
            buf_str(out, "[0-9a-f]+");
            kind = kind == NAME_PLAIN ? NAME_NUMBERED : kind;
        } else if (is_random(&r, facts)) {
            quote(r.s, prefix_of(&r), out);
            buf_str(out, "[A-Za-z0-9_]+");
            kind = NAME_RANDOM;
        } else {
            quote(r.s, r.n, out);
        }
    }
    return kind;
}
