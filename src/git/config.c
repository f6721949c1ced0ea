/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Reads git's settings byte by byte as git does. The grammar is git's behaviour, not its
 * documentation: a comment may not follow a name without a value, a section header needs no line of
 * its own, white space before a continuation is kept, and the end of the text ends a line.
 * tests/e2e/e2e-git-config.py compares this reader with the installed git.
 *
 * A line has at most one setting, so the table of entries is allocated once. A long section name is
 * repeated in each key of its section; a budget on strings bounds that.
 */

#include "git/config.h"

#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"

#define END (-1)

struct reader {
    struct arena *arena;
    const unsigned char *at, *end;
    bool ended; /* the end of the text was read, as the end of a line */
    bool spaced;
    uint32_t line;
    /* The current text: a key, whose first `base` bytes are the section, or a value. */
    char *key, *value;
    size_t base, key_len, value_len;
    struct git_config found;
    size_t room, strings;
    struct bk_err *err;
};

static bool is_space(int c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_alpha(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name(int c)
{
    return is_alpha(c) || (c >= '0' && c <= '9') || c == '-';
}

static char lower(int c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static int next_byte(struct reader *r)
{
    if (r->at == r->end) {
        r->ended = true;
        return '\n';
    }
    int c = *r->at++;
    if (c == '\r' && r->at < r->end && *r->at == '\n')
        c = *r->at++;
    return c;
}

static int fail_at_line(struct reader *r, const char *what)
{
    err_set(r->err, BK_E_INPUT, "line %u of git's settings: %s", r->line, what);
    err_place(r->err, NULL, r->line, 0);
    return -1;
}

static int fail_over_limit(struct reader *r, const char *what)
{
    err_set(r->err, BK_E_LIMIT, "line %u of git's settings: %s", r->line, what);
    err_place(r->err, NULL, r->line, 0);
    return -1;
}

/* Reads the subsection and the end of the header. */
static int read_subsection(struct reader *r)
{
    int c;
    do {
        c = next_byte(r);
        if (c == '\n')
            return fail_at_line(r, "the section header does not end");
    } while (is_space(c));
    if (c != '"')
        return fail_at_line(r, "a subsection must be in quotes");
    r->key[r->key_len++] = '.';
    while ((c = next_byte(r)) != '"') {
        if (c == '\\')
            c = next_byte(r);
        if (c == '\n')
            return fail_at_line(r, "the quotes of a subsection do not end");
        r->key[r->key_len++] = (char)c;
    }
    return next_byte(r) == ']' ? 0
                               : fail_at_line(r, "a section header must end after its subsection");
}

static int read_section(struct reader *r)
{
    r->key_len = 0;
    for (;;) {
        int c = next_byte(r);
        if (r->ended)
            return fail_at_line(r, "the section header does not end");
        if (c == ']')
            break;
        if (c == '\n')
            return fail_at_line(r, "the section header does not end");
        if (is_space(c)) {
            if (read_subsection(r) < 0)
                return -1;
            break;
        }
        if (!is_name(c) && c != '.')
            return fail_at_line(r, "a section name can only contain letters, digits, - and .");
        r->key[r->key_len++] = lower(c);
    }
    if (!r->key_len)
        return fail_at_line(r, "the section has no name");
    r->key[r->key_len++] = '.';
    r->base = r->key_len;
    return 0;
}

/* The meaning of an escape; '\n' for a continuation, END if it is invalid. */
static int escaped(int c)
{
    switch (c) {
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'n':
        return 'n';
    case '\\':
    case '"':
    case '\n':
        return c;
    default:
        return END;
    }
}

/* Reads an escape in a value, after the backslash. */
static int read_escape(struct reader *r)
{
    int c = escaped(next_byte(r));
    if (c == END)
        return fail_at_line(r, "a value has an unknown escape");
    if (c == '\n')
        r->line++; /* the value continues */
    else
        r->value[r->value_len++] = (char)(c == 'n' ? '\n' : c);
    return 0;
}

static int read_value(struct reader *r)
{
    bool quoted = false, comment = false;
    size_t kept = 0; /* length without white space that may turn out to be trailing */
    r->value_len = 0;
    for (;;) {
        int c = next_byte(r);
        if (c == '\n')
            break;
        if (comment)
            continue;
        if (is_space(c) && !quoted) {
            if (!r->value_len)
                continue; /* before the value */
            if (!kept)
                kept = r->value_len;
            r->value[r->value_len++] = (char)(r->spaced ? ' ' : c);
            continue;
        }
        if (!quoted && (c == '#' || c == ';')) {
            comment = true;
            continue;
        }
        kept = 0;
        if (c == '"')
            quoted = !quoted;
        else if (c != '\\')
            r->value[r->value_len++] = (char)c;
        else if (read_escape(r) < 0)
            return -1;
    }
    if (quoted)
        return fail_at_line(r, "the quotes of a value do not end");
    if (kept)
        r->value_len = kept;
    return 0;
}

static int add_entry(struct reader *r, bool valued)
{
    size_t need = r->key_len + 1 + (valued ? r->value_len + 1 : 0);
    if (r->found.n == r->room)
        return fail_over_limit(r, "too many settings");
    if (need > GIT_CONFIG_STRINGS - r->strings)
        return fail_over_limit(r, "the names of the settings are too long");
    r->strings += need;
    struct git_entry *e = &r->found.entries[r->found.n];
    e->key = arena_strndup(r->arena, r->key, r->key_len);
    e->value = valued ? arena_strndup(r->arena, r->value, r->value_len) : NULL;
    if (!e->key || (valued && !e->value))
        return err_nomem(r->err);
    r->found.n++;
    return 0;
}

/* Reads a name, whose first letter is c, and its value. */
static int read_setting(struct reader *r, int c)
{
    r->key_len = r->base;
    do
        r->key[r->key_len++] = lower(c);
    while (is_name(c = next_byte(r)));
    while (c == ' ' || c == '\t')
        c = next_byte(r);
    if (c != '\n' && c != '=')
        return fail_at_line(r, "a name must be followed by = or the end of the line");
    if (c == '=' && read_value(r) < 0)
        return -1;
    if (add_entry(r, c == '=') < 0)
        return -1;
    r->line++;
    return 0;
}

static int read_all(struct reader *r)
{
    bool comment = false;
    for (;;) {
        int c = next_byte(r);
        if (c == '\n' && r->ended)
            return 0;
        if (c == '\n') {
            r->line++;
            comment = false;
        } else if (comment || is_space(c)) {
            continue;
        } else if (c == '#' || c == ';') {
            comment = true;
        } else if (c == '[') {
            if (read_section(r) < 0)
                return -1;
        } else if (!is_alpha(c)) {
            return fail_at_line(r, "neither a section header nor a setting");
        } else if (read_setting(r, c) < 0) {
            return -1;
        }
    }
}

/* Length of the byte order mark, if any. A part of one is an error. */
static size_t byte_order_mark(const char *text, size_t len)
{
    return len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
}

static int allocate_buffers(struct reader *r, size_t len)
{
    size_t lines = 1;
    for (const unsigned char *p = r->at; p < r->end; p++)
        lines += *p == '\n';
    r->room = lines < GIT_CONFIG_ENTRIES ? lines : GIT_CONFIG_ENTRIES;
    r->found.entries = arena_array(r->arena, r->room, sizeof(*r->found.entries));
    /* Both fit into the text's length, plus a dot for each end of the header. */
    r->key = arena_alloc(r->arena, len + 2);
    r->value = arena_alloc(r->arena, len + 1);
    return r->found.entries && r->key && r->value ? 0 : err_nomem(r->err);
}

static int read_text(struct arena *a, const char *text, size_t len, bool spaced,
                     struct git_config *out, struct bk_err *err)
{
    if (len > GIT_CONFIG_TEXT)
        return err_set(err, BK_E_LIMIT, "git's settings are longer than %u bytes", GIT_CONFIG_TEXT);
    struct reader r = {.arena = a, .spaced = spaced, .line = 1, .err = err};
    if (!len)
        text = "";
    if (memchr(text, '\0', len))
        return err_set(err, BK_E_INPUT, "git's settings contain a NUL byte");
    size_t skipped = byte_order_mark(text, len);
    r.at = (const unsigned char *)text + skipped;
    r.end = (const unsigned char *)text + len;
    if (allocate_buffers(&r, len) < 0 || read_all(&r) < 0)
        return -1;
    *out = r.found;
    return 0;
}

int git_config_read(struct arena *a, const char *text, size_t len, struct git_config *out,
                    struct bk_err *err)
{
    return read_text(a, text, len, false, out, err);
}

int git_config_read_spaced(struct arena *a, const char *text, size_t len, struct git_config *out,
                           struct bk_err *err)
{
    return read_text(a, text, len, true, out, err);
}

bool git_key_split(const char *key, struct git_key *out)
{
    const char *first = strchr(key, '.'), *last = strrchr(key, '.');
    if (!first || !last[1])
        return false;
    *out = (struct git_key){.section = key, .section_len = (size_t)(first - key), .name = last + 1};
    if (first != last) {
        out->sub = first + 1;
        out->sub_len = (size_t)(last - first - 1);
    }
    return true;
}

bool git_key_matches(const char *key, const char *pattern)
{
    const char *star = strchr(pattern, '*');
    if (!star)
        return !strcmp(key, pattern);
    struct git_key k;
    return git_key_split(key, &k) && k.sub && k.section_len == (size_t)(star - pattern) - 1 &&
           !memcmp(key, pattern, k.section_len) && !strcmp(k.name, star + 2);
}
