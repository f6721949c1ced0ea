/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TESTS_BENCH_H
#define BK_TESTS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "graph/eval.h"
#include "graph/graph.h"

/* ---- what is judged (rules.c) ---- */

enum rule_kind { RULE_SUBPATH, RULE_REGEX, RULE_GLOB };

struct rule {
    enum rule_kind kind;
    bool allow;
    const char *text;
};

struct rules {
    struct rule *list; /* in source order: the last one that applies decides */
    size_t n;
};

struct path {
    const char *s;
    uint32_t len;
};

struct paths {
    struct path *list;
    size_t n;
};

/* Both give the same result every time, and exit when memory is exhausted. */
struct rules rules_mixed(void);     /* 50 subpaths, then 20 regexes that all deny */
struct rules rules_grown(size_t n); /* five subpaths to two regexes */
struct rules rules_globs(size_t n);
struct paths paths_mixed(void); /* for rules_mixed() */
struct paths paths_grown(void); /* for rules_grown() and rules_globs(), whatever n */
void rules_write(struct rules rules, struct buf *out); /* as SBPL */

/* ---- Buckle (buckle.c) ---- */

struct judge {
    struct graph *graph;
    struct graph_cache *cache;
};

struct sbpl_param;

/* From text to a usable graph. Exits with a message when the text does not compile. */
struct graph *judge_load(const char *name, const char *text, size_t n,
                         const struct sbpl_param *params, size_t nparams);
struct judge judge_new(const char *text, size_t n);
void judge_free(struct judge *j);
bool judge_allows(const struct judge *j, const struct path *p);

/* ---- PCRE2 (rival.c) ---- */

struct rival;

struct rival *rival_new(struct rules rules, bool combined);
void rival_free(struct rival *r);
bool rival_allows(const struct rival *r, const struct path *p);
bool rival_regex_matches(const struct rival *r, const struct path *p); /* combined only */

/* ---- counting (count.c) ---- */

uint64_t count_allocations(void); /* so far, in the whole program */

/* ---- giving up (main.c) ---- */

_Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *need(void *p); /* p, which must not be NULL */

#endif
