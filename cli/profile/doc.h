/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PROFILE_DOC_H
#define BK_CLI_PROFILE_DOC_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

/*
 * Writes descriptions that consist of labelled fields and lists, as text
 *
 *     mach-lookup: operation
 *       parents      mach*, default
 *
 * or as JSON. There, blanks in labels become underscores, and lists of pairs (key and number)
 * become objects. The caller encloses the descriptions in an array.
 */
enum { LABEL_WIDTH = 13, TEXT_WIDTH = 96 };

struct doc {
    struct buf *out;
    bool json;
    bool later;        /* the object or array already has a member */
    const char *label; /* of the open list */
    bool later_item;
    size_t col; /* text: length of the current line */
};

static inline void json_string(struct buf *out, const char *s)
{
    buf_json(out, s, strlen(s));
}

static inline void doc_comma(struct doc *d)
{
    if (d->json && d->later)
        buf_chr(d->out, ',');
    d->later = true;
}

static inline void doc_open(struct doc *d, const char *kind, const char *name)
{
    if (d->json) {
        doc_comma(d);
        buf_str(d->out, "{\"kind\":");
        json_string(d->out, kind);
        buf_str(d->out, ",\"name\":");
        json_string(d->out, name);
        return;
    }
    if (d->later)
        buf_chr(d->out, '\n');
    d->later = true;
    buf_fmt(d->out, "%s: %s\n", name, kind);
}

static inline void doc_close(struct doc *d)
{
    if (d->json)
        buf_chr(d->out, '}');
    d->later = true;
}

static inline void doc_label(struct doc *d, const char *label)
{
    if (!d->json) {
        buf_fmt(d->out, "  %-*s", LABEL_WIDTH, label);
        return;
    }
    doc_comma(d);
    buf_chr(d->out, '"');
    for (const char *c = label; *c; c++)
        buf_chr(d->out, *c == ' ' ? '_' : *c);
    buf_str(d->out, "\":");
}

static inline void doc_text(struct doc *d, const char *label, const char *value)
{
    doc_label(d, label);
    if (d->json)
        json_string(d->out, value);
    else
        buf_fmt(d->out, "%s\n", value);
}

static inline void doc_number(struct doc *d, const char *label, long long value)
{
    doc_label(d, label);
    buf_fmt(d->out, d->json ? "%lld" : "%lld\n", value);
}

/* In text, the first item opens a list, so that empty lists do not appear. */
static inline void doc_list(struct doc *d, const char *label, bool pairs)
{
    d->label = label;
    d->later_item = false;
    if (d->json) {
        doc_label(d, label);
        buf_chr(d->out, pairs ? '{' : '[');
    }
}

static inline void doc_list_end(struct doc *d, bool pairs)
{
    if (d->json)
        buf_chr(d->out, pairs ? '}' : ']');
    else if (d->later_item)
        buf_chr(d->out, '\n');
}

/* Writes what precedes an item of n columns. */
static inline void doc_next(struct doc *d, size_t n)
{
    if (d->json) {
        if (d->later_item)
            buf_chr(d->out, ',');
    } else if (!d->later_item) {
        doc_label(d, d->label);
        d->col = LABEL_WIDTH + 2;
    } else if (d->col + n + 2 > TEXT_WIDTH) {
        buf_fmt(d->out, ",\n%*s", LABEL_WIDTH + 2, "");
        d->col = LABEL_WIDTH + 2;
    } else {
        buf_str(d->out, ", ");
        d->col += 2;
    }
    d->col += n;
    d->later_item = true;
}

static inline void doc_item(struct doc *d, const char *text)
{
    doc_next(d, strlen(text));
    if (d->json)
        json_string(d->out, text);
    else
        buf_str(d->out, text);
}

static inline void doc_pair(struct doc *d, const char *key, long long value)
{
    char number[32];
    int n = snprintf(number, sizeof(number), "%lld", value);
    doc_next(d, strlen(key) + (size_t)n + 1);
    if (d->json) {
        json_string(d->out, key);
        buf_fmt(d->out, ":%s", number);
    } else {
        buf_fmt(d->out, "%s %s", key, number);
    }
}

#endif
