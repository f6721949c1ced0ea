/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * libyaml reports events, so no recursion is needed; open lists and maps are on a stack. Everything
 * is counted before it is stored.
 */

#include "settings/ytree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

struct cell {
    struct ynode *node;
    struct cell *next;
};

struct open {
    struct ynode *node;
    struct cell *first, **last;
    size_t n;
};

struct anchor {
    const char *name;
    struct ynode *node;
    bool complete;
    struct anchor *next;
};

struct maker {
    struct arena *arena;
    const char *name;
    struct bk_err *err;
    yaml_parser_t parser;
    struct open stack[YTREE_DEPTH];
    size_t depth, nodes, nanchors, ndocuments;
    struct anchor *anchors;
    struct ynode *root;
};

int ytree_fail(const char *name, const struct ynode *at, struct bk_err *err)
{
    err_place(err, name, at->line, at->col);
    return -1;
}

static int fail(struct maker *m, const yaml_mark_t *at, const char *words)
{
    err_set(m->err, BK_E_INPUT, "%s", words);
    err_place(m->err, m->name, (uint32_t)at->line + 1, (uint32_t)at->column + 1);
    return -1;
}

static struct ynode *new_node(struct maker *m, enum ynode_kind kind, const yaml_event_t *e)
{
    struct ynode *node = arena_new(m->arena, struct ynode);
    if (!node)
        return err_nomem(m->err), NULL;
    *node = (struct ynode){.kind = kind,
                           .line = (uint32_t)e->start_mark.line + 1,
                           .col = (uint32_t)e->start_mark.column + 1};
    return node;
}

/* ---- putting nodes where they belong ---- */

static bool is_key(const struct open *o)
{
    return o->node->kind == YNODE_MAP && o->n % 2 == 0;
}

static int place(struct maker *m, struct ynode *node, const yaml_mark_t *at)
{
    if (++m->nodes > YTREE_NODES)
        return fail(m, at, "more than 100,000 values");
    if (!m->depth) {
        m->root = node;
        return 0;
    }
    struct open *o = &m->stack[m->depth - 1];
    if (is_key(o) && node->kind != YNODE_TEXT)
        return fail(m, at, "expected a name, not a list or map");
    struct cell *c = arena_new(m->arena, struct cell);
    if (!c)
        return err_nomem(m->err);
    c->node = node;
    *o->last = c;
    o->last = &c->next;
    o->n++;
    return 0;
}

static int remember(struct maker *m, const yaml_char_t *name, struct ynode *node, bool complete,
                    const yaml_mark_t *at)
{
    if (!name)
        return 0;
    if (++m->nanchors > YTREE_ANCHORS)
        return fail(m, at, "more than 256 anchors");
    struct anchor *a = arena_new(m->arena, struct anchor);
    const char *copy = arena_strndup(m->arena, (const char *)name, strlen((const char *)name));
    if (!a || !copy)
        return err_nomem(m->err);
    *a = (struct anchor){copy, node, complete, m->anchors};
    m->anchors = a;
    return 0;
}

static int on_alias(struct maker *m, const yaml_event_t *e)
{
    const char *name = (const char *)e->data.alias.anchor;
    const struct anchor *a = m->anchors;
    while (a && strcmp(a->name, name) != 0)
        a = a->next;
    if (!a)
        return fail(m, &e->start_mark, "an alias without an anchor");
    if (!a->complete)
        return fail(m, &e->start_mark, "an alias of a value that contains it");
    return place(m, a->node, &e->start_mark);
}

static int on_text(struct maker *m, const yaml_event_t *e)
{
    const char *text = (const char *)e->data.scalar.value;
    size_t n = e->data.scalar.length;
    if (e->data.scalar.tag)
        return fail(m, &e->start_mark, "a tag, which presets do not support");
    if (memchr(text, '\0', n))
        return fail(m, &e->start_mark, "a NUL byte");
    struct ynode *node = new_node(m, YNODE_TEXT, e);
    if (!node)
        return -1;
    node->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->text = arena_strndup(m->arena, text, n);
    if (!node->text)
        return err_nomem(m->err);
    if (remember(m, e->data.scalar.anchor, node, true, &e->start_mark) < 0)
        return -1;
    return place(m, node, &e->start_mark);
}

static int open_node(struct maker *m, enum ynode_kind kind, const yaml_event_t *e)
{
    bool list = kind == YNODE_LIST;
    if (list ? e->data.sequence_start.tag : e->data.mapping_start.tag)
        return fail(m, &e->start_mark, "a tag, which presets do not support");
    if (m->depth == YTREE_DEPTH)
        return fail(m, &e->start_mark, "nested too deeply");
    struct ynode *node = new_node(m, kind, e);
    const yaml_char_t *anchor = list ? e->data.sequence_start.anchor : e->data.mapping_start.anchor;
    if (!node || place(m, node, &e->start_mark) < 0 ||
        remember(m, anchor, node, false, &e->start_mark) < 0)
        return -1;
    struct open *o = &m->stack[m->depth++];
    *o = (struct open){.node = node};
    o->last = &o->first;
    return 0;
}

static int no_twins(struct maker *m, const struct ynode *map)
{
    for (size_t i = 0; i < map->n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(map->at[2 * i]->text, map->at[2 * k]->text) == 0) {
                err_set(m->err, BK_E_INPUT, "%.80s appears twice; first on line %u",
                        map->at[2 * i]->text, map->at[2 * k]->line);
                return ytree_fail(m->name, map->at[2 * i], m->err);
            }
    return 0;
}

static int close_node(struct maker *m, const yaml_event_t *e)
{
    struct open *o = &m->stack[--m->depth];
    struct ynode *node = o->node;
    size_t i = 0;
    if (node->kind == YNODE_MAP && o->n / 2 > YTREE_PAIRS)
        return fail(m, &e->start_mark, "more than 4,096 names in one map");
    node->at = arena_array(m->arena, o->n + 1, sizeof(*node->at));
    if (!node->at)
        return err_nomem(m->err);
    for (const struct cell *c = o->first; c; c = c->next)
        node->at[i++] = c->node;
    node->n = node->kind == YNODE_MAP ? o->n / 2 : o->n;
    for (struct anchor *a = m->anchors; a; a = a->next)
        a->complete |= a->node == node;
    return node->kind == YNODE_MAP ? no_twins(m, node) : 0;
}

/* ---- the text ---- */

static int on_event(struct maker *m, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return ++m->ndocuments > 1 ? fail(m, &e->start_mark, "a second document") : 0;
    case YAML_ALIAS_EVENT:
        return on_alias(m, e);
    case YAML_SCALAR_EVENT:
        return on_text(m, e);
    case YAML_SEQUENCE_START_EVENT:
        return open_node(m, YNODE_LIST, e);
    case YAML_MAPPING_START_EVENT:
        return open_node(m, YNODE_MAP, e);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_node(m, e);
    default:
        return 0;
    }
}

/* libyaml's messages are fragments: "did not find expected key" */
static int on_error(struct maker *m)
{
    const yaml_parser_t *p = &m->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return err_nomem(m->err);
    if (p->error == YAML_READER_ERROR) {
        err_set(m->err, BK_E_INPUT, "%s at byte %zu", p->problem ? p->problem : "unreadable",
                p->problem_offset);
        err_place(m->err, m->name, 0, 0);
        return -1;
    }
    char words[200];
    snprintf(words, sizeof(words), "%s%s%s", p->context ? p->context : "",
             p->context && p->problem ? ": " : "", p->problem ? p->problem : "");
    return fail(m, &p->problem_mark, words[0] ? words : "no YAML");
}

static int read_events(struct maker *m)
{
    for (bool more = true; more;) {
        yaml_event_t e;
        if (!yaml_parser_parse(&m->parser, &e))
            return on_error(m);
        more = e.type != YAML_STREAM_END_EVENT;
        int result = on_event(m, &e);
        yaml_event_delete(&e);
        if (result < 0)
            return -1;
    }
    return 0;
}

int ytree_read(struct arena *a, const char *name, const char *text, size_t n, struct ynode **out,
               struct bk_err *err)
{
    struct bk_err ignored;
    struct maker m = {.arena = a, .name = name, .err = err ? err : &ignored};
    if (n > YTREE_MAX) {
        err_set(err, BK_E_LIMIT, "larger than 1 MiB");
        err_place(err, name, 0, 0);
        return -1;
    }
    if (!yaml_parser_initialize(&m.parser))
        return err_nomem(err);
    yaml_parser_set_input_string(&m.parser, (const unsigned char *)text, n);
    yaml_parser_set_encoding(&m.parser, YAML_UTF8_ENCODING);
    int result = read_events(&m);
    yaml_parser_delete(&m.parser);
    if (result < 0)
        return -1;
    /* a text of nothing but comments is one empty value */
    bool empty = m.root && m.root->kind == YNODE_TEXT && m.root->plain && !m.root->text[0];
    *out = empty ? NULL : m.root;
    return 0;
}

/* ---- what texts mean ---- */

bool ynode_truth(const struct ynode *n, bool *out)
{
    if (n->kind != YNODE_TEXT || !n->plain)
        return false;
    *out = strcasecmp(n->text, "true") == 0;
    return *out || strcasecmp(n->text, "false") == 0;
}

static bool is_null(const char *s)
{
    return !*s || strcmp(s, "~") == 0 || strcasecmp(s, "null") == 0;
}

static bool is_number(const char *s)
{
    const char *digit = s + (*s == '-' || *s == '+');
    char *end;
    if (*digit < '0' || *digit > '9')
        return false;
    strtod(s, &end);
    return !*end;
}

bool ynode_is_other(const struct ynode *n)
{
    bool truth;
    return n->kind == YNODE_TEXT && n->plain &&
           (is_null(n->text) || is_number(n->text) || ynode_truth(n, &truth));
}

const char *ynode_words(const struct ynode *n)
{
    bool truth;
    if (n->kind != YNODE_TEXT)
        return n->kind == YNODE_LIST ? "a list" : "a map";
    if (n->plain && is_null(n->text))
        return "nothing";
    if (n->plain && is_number(n->text))
        return "a number";
    return ynode_truth(n, &truth) ? "true or false" : "a text";
}
