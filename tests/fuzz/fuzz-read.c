/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: a profile's text, any bytes, read with small depth and memory budgets. Reading ends in
 * data with positions inside the text, or in errors with positions. The data is printed and read
 * again, and must print alike, so strings, numbers and quotes mean what they show.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sbpl/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DEPTH = 60, BYTES = 4 << 20, PRINT = 1 << 16 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* All that one reading needs. */
struct reading {
    struct arena arena;
    struct source_map map;
    struct symtab syms;
    struct diags diags;
    const struct source *source;
    struct val *list;
};

static bool reading_open(struct reading *r, const char *text, size_t n)
{
    struct bk_err err;
    memset(r, 0, sizeof(*r));
    arena_init(&r->arena, BYTES);
    source_map_init(&r->map, &r->arena);
    diags_init(&r->diags);
    r->diags.map = &r->map;
    r->source = source_add(&r->map, "input", text, n, &err);
    if (!r->source || symtab_init(&r->syms, &r->arena) < 0)
        return false;
    r->list = read_all_data(&r->arena, &r->syms, &r->diags, r->source, DEPTH);
    return true;
}

static void reading_close(struct reading *r)
{
    diags_free(&r->diags);
    arena_free(&r->arena);
}

static bool inside(const struct reading *r, src_pos pos)
{
    return pos >= r->source->base && pos - r->source->base <= r->source->len;
}

/* The reader bounds the depth, and with it this recursion. */
static void check_places(const struct reading *r, const struct val *v)
{
    for (; v->type == V_PAIR; v = v->cdr) {
        require(inside(r, v->pos));
        size_t at = v->pos - r->source->base;
        require(at < r->source->len);
        require(read_extent(r->source->text + at, r->source->len - at) <= r->source->len - at);
        check_places(r, v->car);
    }
}

static void check_findings(struct reading *r)
{
    struct buf out = {0};
    for (const struct diag *g = r->diags.first; g; g = g->next) {
        require(inside(r, g->pos) && g->msg && g->msg[0] && g->width >= 1);
        diag_text(&r->diags, g, &out);
        diag_json(&r->diags, g, &out);
    }
    for (size_t i = 0; i < out.n; i++)
        require(out.s[i] == '\n' || (unsigned char)out.s[i] >= ' ');
    buf_free(&out);
}

/* Names that only string->symbol can make, and numbers, do not read back as printed. */
static bool reads_back(const struct val *v)
{
    for (; v->type == V_PAIR; v = v->cdr)
        if (!reads_back(v->car))
            return false;
    if (v->type == V_SYMBOL)
        for (size_t i = 0; i < v->n; i++)
            if (v->s[i] == '\\' || (unsigned char)v->s[i] >= 0x7f || v->s[i] < ' ')
                return false;
    return v->type != V_REAL;
}

static void check_again(struct reading *r)
{
    struct buf one = {0}, two = {0};
    struct reading again;
    val_print(r->list, PRINT, &one);
    bool whole = one.s && !strstr(one.s, "…");
    if (whole && reading_open(&again, one.s, one.n)) {
        if (!again.diags.errors && again.list && again.list->type == V_PAIR) {
            val_print(again.list->car, PRINT, &two);
            require(two.s && strcmp(one.s, two.s) == 0);
        } else {
            require(r->list->type == V_NIL || (again.diags.errors && !again.list));
        }
        reading_close(&again);
    }
    buf_free(&one);
    buf_free(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading r;
    if (reading_open(&r, (const char *)data, size)) {
        require(r.list || r.diags.errors);
        check_findings(&r);
        if (r.list)
            check_places(&r, r.list);
        if (r.list && !r.diags.errors && reads_back(r.list))
            check_again(&r);
    }
    reading_close(&r);
    return 0;
}
