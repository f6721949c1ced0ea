/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_REGEX_AST_H
#define BK_GRAPH_REGEX_AST_H

#include "base/err.h"
#include "graph/regex/byteset.h"

/*
 * A pattern as a tree in an array. Children are linked from last to first, because the automaton is
 * built from the end of a pattern to its start. Index 0 means no node.
 */
enum ast_kind {
    AST_BYTE,  /* arg: the byte */
    AST_SET,   /* arg: index in the pool */
    AST_BEGIN, /* ^ */
    AST_END,   /* $ */
    AST_CAT,   /* arg: last child; the empty string has none */
    AST_ALT,   /* arg: last child */
    AST_REP,   /* arg: the repeated node, min to max times */
};

enum { AST_NONE = 0, REGEX_DEPTH = 500 };
#define AST_FOREVER UINT32_MAX

struct ast {
    uint8_t kind;
    uint32_t arg;
    uint32_t prev;     /* the sibling before this one */
    uint32_t first;    /* CAT: first child */
    uint32_t min, max; /* REP; max may be AST_FOREVER */
    uint32_t size;     /* automaton nodes it needs; 0 only for the empty string */
    uint32_t off, end; /* position in the text */
};

struct regex_limits;

struct ast_parse {
    /* set by the caller */
    struct arena *arena;
    struct byteset_pool *pool;
    bool fold;
    uint32_t max_nodes, max_repeat;
    /* the tree, valid until the next parse */
    struct ast *nodes;
    uint32_t n, cap;
    uint32_t root;
    /* used while parsing */
    const char *text;
    uint32_t len, at;
    struct bk_err *err;
    struct ast_frame *frames;
    uint32_t depth, frames_cap;
};

/* Fills in the limits, with defaults for zeros or NULL. */
void ast_parse_limits(struct ast_parse *p, const struct regex_limits *limits);

/* On failure the pool is unchanged and err->col is the 1-based byte. */
int ast_parse(struct ast_parse *p, const char *pattern, size_t n, struct bk_err *err);

/* Shared by the parser's files: a bracket expression, with p->at after the `[`; an error at a
 * byte. */
int ast_parse_bracket(struct ast_parse *p, struct byteset *out);
int ast_fail(struct ast_parse *p, enum bk_code code, uint32_t at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* .* */
bool ast_is_any_star(const struct ast_parse *p, uint32_t node);

#endif
