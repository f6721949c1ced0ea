/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TESTS_GRAPH_MAKER_H
#define BK_TESTS_GRAPH_MAKER_H

/* Short ways to write conditions, rules and queries for the graph's unit tests. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "graph/build.h"
#include "graph/eval.h"

static struct arena maker_arena = {.limit = 512 << 20};

static inline const struct graph_expr *mk(struct graph_expr e)
{
    return arena_dup(&maker_arena, &e, sizeof(e));
}

static inline const struct graph_expr *mk_str(enum vocab_filter filter, enum graph_how how,
                                              const char *s)
{
    return mk((struct graph_expr){.kind = GRAPH_TEST,
                                  .test = {.filter = (uint16_t)filter,
                                           .how = (uint8_t)how,
                                           .str = s,
                                           .len = (uint32_t)strlen(s)}});
}

static inline const struct graph_expr *lit(const char *s)
{
    return mk_str(FILTER_PATH, GRAPH_LITERAL, s);
}

static inline const struct graph_expr *pre(const char *s)
{
    return mk_str(FILTER_PATH, GRAPH_PREFIX, s);
}

static inline const struct graph_expr *sub(const char *s)
{
    return mk_str(FILTER_PATH, GRAPH_SUBPATH, s);
}

static inline const struct graph_expr *rex(const char *s)
{
    return mk_str(FILTER_PATH, GRAPH_REGEX, s);
}

static inline const struct graph_expr *num(enum vocab_filter filter, int64_t v)
{
    return mk((struct graph_expr){
        .kind = GRAPH_TEST, .test = {.filter = (uint16_t)filter, .how = GRAPH_INT, .num = v}});
}

static inline const struct graph_expr *mk_list(enum graph_expr_kind kind, size_t n,
                                               const struct graph_expr *const *kids)
{
    return mk((struct graph_expr){.kind = kind,
                                  .nkids = (uint32_t)n,
                                  .kids = arena_dup(&maker_arena, kids, n * sizeof(*kids))});
}

#define KIDS(...) ((const struct graph_expr *const[]){__VA_ARGS__})
#define NKIDS(...) (sizeof(KIDS(__VA_ARGS__)) / sizeof(struct graph_expr *))
#define all(...) mk_list(GRAPH_ALL, NKIDS(__VA_ARGS__), KIDS(__VA_ARGS__))
#define any(...) mk_list(GRAPH_ANY, NKIDS(__VA_ARGS__), KIDS(__VA_ARGS__))
#define nothing() mk_list(GRAPH_ANY, 0, NULL)
#define always() mk_list(GRAPH_ALL, 0, NULL)
#define not_(e) mk_list(GRAPH_NOT, 1, KIDS(e))

static inline const struct graph_expr *net(enum vocab_filter filter, uint16_t proto, const char *s)
{
    struct graph_expr e = {.kind = GRAPH_TEST,
                           .test = {.filter = (uint16_t)filter, .how = GRAPH_NET}};
    struct bk_err err;
    e.test.net.proto = proto;
    if (net_endpoint_parse(s, strlen(s), &e.test.net, NULL, &err) < 0) {
        printf("Bail out! endpoint %s: %s\n", s, err.msg);
        exit(1);
    }
    return mk(e);
}

static inline struct graph_build *start(int version)
{
    struct graph_options opt = {.version = version, .no_implicit = true};
    return graph_build_new(&opt, NULL);
}

/* One rule; its line is the number of rules so far, so that a test can tell which one decided. */
static inline void rule_at(struct graph_build *b, unsigned line, bool allow, enum vocab_op op,
                           const struct graph_expr *when)
{
    uint16_t ops[1] = {(uint16_t)op};
    struct bk_err err;
    struct graph_rule r = {.ops = ops,
                           .nops = 1,
                           .allow = allow,
                           .flags = allow ? 0 : VOCAB_FLAG_REPORT,
                           .when = when,
                           .origin = {.file = "t.sb", .line = line, .col = 1}};
    if (graph_build_rule(b, &r, &err) < 0) {
        printf("Bail out! rule %u: %s\n", line, err.msg);
        exit(1);
    }
}

static inline struct graph *finish(struct graph_build *b)
{
    struct bk_err err;
    struct graph *g = graph_freeze(b, &err);
    if (!g) {
        printf("Bail out! freeze: %s\n", err.msg);
        exit(1);
    }
    return g;
}

static inline struct graph_verdict ask(const struct graph *g, enum vocab_op op, const char *path)
{
    struct graph_cache *c = graph_cache_new(g);
    struct graph_fact f = {
        .filter = FILTER_PATH, .str = path, .len = path ? (uint32_t)strlen(path) : 0};
    struct graph_query q = {.op = (uint16_t)op, .facts = &f, .nfacts = path ? 1 : 0};
    struct graph_verdict v = graph_eval(g, c, &q);
    graph_cache_free(c);
    return v;
}

/* The line of the rule that decides, negative when it denies. */
static inline int who(const struct graph *g, enum vocab_op op, const char *path)
{
    struct graph_verdict v = ask(g, op, path);
    int line = (int)graph_rule_at(g, v.rule)->origin.line;
    return v.allow ? line : -line;
}

/* ---- random conditions over a small world: names of one or two of three letters ---- */

static uint64_t maker_state = 88172645463325252u;

static inline unsigned rnd(unsigned n)
{
    maker_state ^= maker_state << 13;
    maker_state ^= maker_state >> 7;
    maker_state ^= maker_state << 17;
    return (unsigned)(maker_state >> 33) % n;
}

static inline char *random_path(bool pattern)
{
    char *s = arena_alloc(&maker_arena, 32);
    size_t n = 0;
    for (unsigned parts = rnd(4) + pattern; parts > 0; parts--) {
        s[n++] = '/';
        for (unsigned k = rnd(2) + 1; k > 0; k--)
            s[n++] = (char)('a' + rnd(3));
    }
    return s;
}

static inline const struct graph_expr *random_test(void)
{
    char *s = random_path(true);
    switch (rnd(7)) {
    case 0:
        return lit(s);
    case 1:
        return pre(s);
    case 2:
    case 3:
        return sub(s);
    case 4:
        s[1] = (char)('a' + rnd(3));
        s[2] = '$';
        s[3] = '\0';
        return rex(s + 1);
    case 5:
        return num(FILTER_VNODE_TYPE, rnd(4));
    default:
        return mk_str(FILTER_EXTENSION, GRAPH_LITERAL, s);
    }
}

static inline const struct graph_expr *random_expr(unsigned depth)
{
    if (depth == 0 || rnd(3) > 0)
        return random_test();
    const struct graph_expr *kids[3];
    unsigned n = rnd(3) + 1;
    for (unsigned i = 0; i < n; i++)
        kids[i] = random_expr(depth - 1);
    unsigned kind = rnd(3);
    if (kind == 2)
        return mk_list(GRAPH_NOT, 1, kids);
    return mk_list(kind ? GRAPH_ANY : GRAPH_ALL, n, kids);
}

#endif
