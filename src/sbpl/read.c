/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The reader. A datum under construction is a stack of open constructs: lists, quotes that wait for
 * their datum, and datum comments that discard theirs. A complete datum goes to the construct on
 * top.
 */

#include <string.h>

#include "sbpl/read-int.h"

enum open_kind { OPEN_LIST, OPEN_QUOTE, OPEN_DISCARD };

struct read_open {
    enum open_kind kind;
    uint32_t depth;
    size_t start;
    src_pos pos;
    struct val *head, *tail; /* OPEN_LIST */
    bool dotted, closed;     /* OPEN_LIST: a dot was read; the datum after it too */
    struct symbol *quote;    /* OPEN_QUOTE */
    struct read_open *up;
};

/* Skips blanks and comments. Returns READ_DATUM when something follows. */
static enum read_result skip_blank(struct reader *r)
{
    while (r->at < r->n) {
        char c = r->s[r->at];
        if (read_is_space(c)) {
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
                return read_fail(r, start, "unclosed-comment", "this comment is never closed",
                                 "end it with |#");
            }
        } else {
            return READ_DATUM;
        }
    }
    return READ_END;
}

/* Passes a complete datum to the construct on top; sets *out when nothing is open any more. */
static enum read_result deliver(struct reader *r, struct read_open **top, struct val *v,
                                src_pos pos, struct val **out, src_pos *out_pos)
{
    while (*top && (*top)->kind == OPEN_QUOTE) {
        struct read_open *q = *top;
        v = val_cons(r->arena, v, &val_nil, pos);
        v = v ? val_cons(r->arena, &q->quote->v, v, q->pos) : NULL;
        if (!v)
            return read_no_room(r, r->at);
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
        return read_fail(r, r->at, "bad-dot", "only one datum may follow the dot", NULL);
    if (o->dotted) {
        o->tail->cdr = v;
        o->closed = true;
        return READ_END;
    }
    struct val *cell = val_cons(r->arena, v, &val_nil, pos);
    if (!cell)
        return read_no_room(r, r->at);
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
        return read_fail(r, r->at, "depth-budget", "nested too deeply",
                         "no hand-written profile needs this much nesting");
    }
    struct read_open *o = arena_new(r->arena, struct read_open);
    if (!o)
        return read_no_room(r, r->at);
    o->kind = kind;
    o->depth = depth;
    o->start = r->at;
    o->pos = read_here(r, r->at);
    o->up = *top;
    if (quote) {
        o->quote = symbol_intern(r->syms, quote, strlen(quote));
        if (!o->quote)
            return read_no_room(r, r->at);
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
        return r->at++, read_fail(r, r->at - 1, "stray-parenthesis",
                                  "this parenthesis closes nothing", NULL);
    if (o->kind != OPEN_LIST) {
        size_t at = r->at;
        while (*top && (*top)->kind != OPEN_LIST)
            *top = (*top)->up;
        r->at += *top == NULL; /* else it closes the list that contains the quote */
        return read_fail(r, at, "bad-quote", "expected a datum before this", NULL);
    }
    r->at++;
    *top = o->up;
    if (o->dotted && !o->closed)
        return read_fail(r, r->at - 1, "bad-dot", "a datum must follow the dot", NULL);
    return deliver(r, top, o->head ? o->head : &val_nil, o->pos, out, out_pos);
}

static bool is_lone_dot(const struct reader *r)
{
    return r->s[r->at] == '.' && (r->at + 1 == r->n || read_is_delimiter(r->s[r->at + 1]));
}

static enum read_result take_dot(struct reader *r, struct read_open *top)
{
    size_t at = r->at++;
    if (!top || top->kind != OPEN_LIST || !top->tail || top->dotted)
        return read_fail(r, at, "bad-dot", "a dot is not allowed here", NULL);
    top->dotted = true;
    return READ_END;
}

/* The text ended, or a new top-level form began, while lists were open. */
static enum read_result unclosed(struct reader *r, const struct read_open *top)
{
    while (top->up)
        top = top->up;
    return read_fail(r, top->start, "unclosed-list", "this list is never closed",
                     "add the missing ) at its end");
}

/* Reads one token. READ_END means that the datum is not complete yet. */
static enum read_result read_token(struct reader *r, struct read_open **top, struct val **out,
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
    return got == READ_DATUM ? deliver(r, top, v, read_here(r, start), out, pos) : got;
}

enum read_result read_datum(struct reader *r, struct val **out, src_pos *pos)
{
    struct read_open *top = NULL;
    bool broken = false; /* an error was reported; the rest is read to find the datum's end and
                          * further errors */
    if (r->exhausted)
        return READ_END;
    for (;;) {
        enum read_result got = skip_blank(r);
        if (got == READ_ERROR)
            return got;
        bool over =
            got == READ_END || (r->recover && r->s[r->at] == '(' && read_at_line_start(r, r->at));
        if (top && over)
            return broken ? READ_ERROR : unclosed(r, top);
        if (got == READ_END)
            return got;
        got = read_token(r, &top, out, pos);
        if (got == READ_ERROR && top && r->recover && !r->exhausted)
            broken = true;
        else if (got != READ_END)
            return broken ? READ_ERROR : got;
    }
}

/* A compiled profile contains NULs. */
static bool refuse_nul(struct reader *r)
{
    const char *nul = memchr(r->s, '\0', r->n);
    if (!nul)
        return false;
    read_fail(r, (size_t)(nul - r->s), "nul-byte", "the text contains a NUL byte",
              "is this a compiled profile? Profiles are text here");
    return true;
}

/* One pass over the text; false when it found an error. */
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
            read_no_room(r, r->at);
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
        } else if (depth == 0 && (c == ')' || read_is_space(c))) {
            return i - 1;
        } else if (c == ')' && --depth == 0) {
            break;
        }
    }
    return i < n ? i : n;
}
