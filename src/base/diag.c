/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Findings with source positions, printed as text and as JSON. */

#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/utf8.h"

enum { DIAG_BYTES = 1 << 20, DIAG_LINE_MAX = 160 };

static const char *const level_names[] = {"error", "warning", "note"};

void diags_init(struct diags *d)
{
    memset(d, 0, sizeof(*d));
    arena_init(&d->arena, DIAG_BYTES);
}

void diags_free(struct diags *d)
{
    arena_free(&d->arena);
    diags_init(d);
}

static const char *vformat(struct arena *a, const char *fmt, va_list ap)
{
    char text[1024];
    vsnprintf(text, sizeof(text), fmt, ap);
    return arena_strndup(a, text, strlen(text));
}

struct diag *diag_add(struct diags *d, enum diag_level level, const char *code, src_pos pos,
                      const char *fmt, ...)
{
    size_t *const counts[] = {&d->errors, &d->warnings, &d->notes};
    ++*counts[level];
    struct diag *g = d->kept < DIAG_MAX ? arena_new(&d->arena, struct diag) : NULL;
    if (!g)
        return NULL;
    va_list ap;
    va_start(ap, fmt);
    const char *msg = vformat(&d->arena, fmt, ap);
    va_end(ap);
    *g = (struct diag){.level = level, .code = code, .pos = pos, .width = 1, .msg = msg ? msg : ""};
    if (d->last)
        d->last->next = g;
    else
        d->first = g;
    d->last = g;
    d->kept++;
    return g;
}

void diag_hint(struct diags *d, struct diag *g, const char *fmt, ...)
{
    if (!g)
        return;
    va_list ap;
    va_start(ap, fmt);
    g->hint = vformat(&d->arena, fmt, ap);
    va_end(ap);
}

void diags_sort(struct diags *d)
{
    struct diag *sorted = NULL, *last = NULL;
    for (struct diag *g = d->first, *next; g; g = next) {
        struct diag **at = &sorted;
        next = g->next;
        while (*at && (*at)->pos <= g->pos)
            at = &(*at)->next;
        g->next = *at;
        *at = g;
    }
    for (struct diag *g = sorted; g; g = g->next)
        last = g;
    d->first = sorted;
    d->last = last;
}

/* Prints the source line with a caret. A long line is shown as a window around the position. */
static void excerpt(const struct source_place *p, size_t at, uint32_t width, struct buf *out)
{
    size_t from = at > DIAG_LINE_MAX / 2 ? at - DIAG_LINE_MAX / 2 : 0;
    size_t upto = p->line_len - from > DIAG_LINE_MAX ? from + DIAG_LINE_MAX : p->line_len;
    struct buf line = {0};
    for (size_t i = from; i < upto; i++)
        if (p->line_text[i] == '\t')
            buf_chr(&line, ' ');
        else
            buf_add(&line, p->line_text + i, 1);
    OWN(buf) struct buf before = {0}, under = {0}, shown = {0};
    buf_safe(&shown, line.s ? line.s : "", line.n);
    buf_safe(&before, line.s ? line.s : "", at - from);
    size_t rest = line.n - (at - from);
    buf_safe(&under, line.s ? line.s + (at - from) : "", width < rest ? width : rest);
    buf_free(&line);
    buf_fmt(out, " %4u | %s%s\n      | ", p->line, from ? "…" : "", shown.s ? shown.s : "");
    size_t pad = from ? 1 : 0, marks = 0;
    for (size_t i = 0; i < before.n; pad++)
        i += utf8_width(before.s + i, before.n - i);
    for (size_t i = 0; i < under.n; marks++)
        i += utf8_width(under.s + i, under.n - i);
    buf_fmt(out, "%*s^", (int)pad, "");
    for (size_t i = 1; i < marks; i++)
        buf_chr(out, '~');
    buf_chr(out, '\n');
}

void diag_text(const struct diags *d, const struct diag *g, struct buf *out)
{
    struct source_place p = source_find(d->map, g->pos);
    if (p.source)
        buf_fmt(out, "%s:%u:%u: ", p.source->name, p.line, p.col);
    buf_fmt(out, "%s: ", level_names[g->level]);
    buf_safe(out, g->msg, strlen(g->msg));
    buf_chr(out, '\n');
    if (p.source) {
        size_t at = g->pos - p.source->base - (size_t)(p.line_text - p.source->text);
        excerpt(&p, at, g->width, out);
    }
    if (g->hint) {
        buf_str(out, "       hint: ");
        buf_safe(out, g->hint, strlen(g->hint));
        buf_chr(out, '\n');
    }
}

void diag_json(const struct diags *d, const struct diag *g, struct buf *out)
{
    struct source_place p = source_find(d->map, g->pos);
    buf_fmt(out, "{\"level\": \"%s\", \"code\": \"%s\", ", level_names[g->level], g->code);
    if (p.source) {
        buf_str(out, "\"file\": ");
        buf_json(out, p.source->name, strlen(p.source->name));
        buf_fmt(out, ", \"line\": %u, \"column\": %u, ", p.line, p.col);
    }
    buf_str(out, "\"message\": ");
    buf_json(out, g->msg, strlen(g->msg));
    if (g->hint) {
        buf_str(out, ", \"hint\": ");
        buf_json(out, g->hint, strlen(g->hint));
    }
    buf_chr(out, '}');
}
