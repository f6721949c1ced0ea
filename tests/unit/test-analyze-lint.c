/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Dead rules are found, live ones never reported. Rules are numbered by their line. */

#include "analyze/analyze.h"
#include "graph-maker.h"
#include "graph/build.h"
#include "graph/eval.h"
#include "tap.h"

static const char *const kinds[] = {"shadowed", "replaced", "contradictory", "impossible"};

static void collect(void *arg, const struct graph_lint *l)
{
    struct buf *out = ((void **)arg)[0];
    const struct graph *g = ((void **)arg)[1];
    buf_fmt(out, "%s%s %u", out->n ? ", " : "", kinds[l->kind],
            graph_rule_at(g, l->rule)->origin.line);
    if (l->by != GRAPH_NO_RULE)
        buf_fmt(out, " by %u", graph_rule_at(g, l->by)->origin.line);
    if (!l->why || !*l->why)
        buf_str(out, " without a reason");
}

static void found(struct graph_build *b, const char *want, const char *name)
{
    struct buf out = {0};
    struct graph *g = finish(b);
    void *arg[2] = {&out, g};
    graph_lint(g, collect, arg);
    is_str(out.s ? out.s : "", want, "%s", name);
    buf_free(&out);
    graph_free(g);
}

/* Two rules of one operation, the first with condition `first`, the second with `second`. */
static void two(const struct graph_expr *first, const struct graph_expr *second, const char *want,
                const char *name)
{
    struct graph_build *b = start(1);
    rule_at(b, 1, true, OP_FILE_READ_DATA, first);
    rule_at(b, 2, false, OP_FILE_READ_DATA, second);
    found(b, want, name);
}

static void one(const struct graph_expr *when, const char *want, const char *name)
{
    struct graph_build *b = start(1);
    rule_at(b, 1, true, OP_FILE_READ_DATA, when);
    found(b, want, name);
}

static void shadowed(void)
{
    const char *dead = "shadowed 1 by 2";
    two(sub("/a"), sub("/a"), dead, "the same subpath");
    two(sub("/a/b"), sub("/a"), dead, "a subpath within a subpath");
    two(sub("/a"), sub("/a/b"), "", "a subpath around a subpath");
    two(sub("/ab"), sub("/a"), "", "/ab is not within /a");
    two(lit("/a"), sub("/a"), dead, "a literal that is the subpath");
    two(lit("/a/x"), pre("/a"), dead, "a literal within a prefix");
    two(sub("/ab"), pre("/a"), dead, "a subpath within a prefix");
    two(pre("/a"), sub("/a"), "", "a prefix that reaches beside the subpath");
    two(pre("/a/"), sub("/a"), dead, "a prefix below the subpath");
    two(sub("/a"), lit("/a"), "", "a literal takes only itself");
    two(lit("/a/b.c"), rex("^/a/.*\\.c$"), dead, "a literal that a regex matches");
    two(lit("/a/b.h"), rex("^/a/.*\\.c$"), "", "and one that it does not");
    two(rex("^/a/[0-9]+$"), sub("/a"), dead, "a regex anchored below a subpath");
    two(rex("^/a[0-9]+$"), sub("/a"), "", "a regex anchored beside it");
    two(rex("/a/[0-9]+$"), sub("/a"), "", "a regex that is not anchored");
    two(rex("[0-9]"), rex("[0-9]"), dead, "the same regex");
    two(sub("/a/b"), rex("^/a/"), dead, "a subpath within an anchored regex that is a prefix");
    two(sub("/a/b"), rex("^/a/.*"), dead, "the same with .* behind");
    two(sub("/a/b"), rex("^/a/.*$"), dead, "the same with .*$ behind");
    two(sub("/a/b"), rex("^/a/[a-z]"), "", "a regex with more behind its prefix");
    two(sub("/a/b"), rex("^/a/b\\.*"), "", "escaped dots are no wildcard");
    two(any(sub("/a"), sub("/b")), any(sub("/b"), sub("/c"), sub("/a")), dead,
        "each alternative has its match");
    two(any(sub("/a"), sub("/d")), any(sub("/b"), sub("/a")), "", "one alternative is free");
    two(all(sub("/a"), num(FILTER_VNODE_TYPE, 1)), sub("/a"), dead, "A and B within A");
    two(sub("/a"), all(sub("/a"), num(FILTER_VNODE_TYPE, 1)), "", "A is not within A and B");
    two(all(sub("/a"), num(FILTER_VNODE_TYPE, 1)), all(num(FILTER_VNODE_TYPE, 1), sub("/a")), dead,
        "order within a conjunction does not matter");
    two(all(sub("/a"), not_(sub("/a/b"))), all(sub("/a"), not_(sub("/a/b/c"))), dead,
        "excluding more is within excluding less");
    two(all(sub("/a"), not_(sub("/a/b/c"))), all(sub("/a"), not_(sub("/a/b"))), "",
        "and not the other way round");
    two(sub("/a"), not_(sub("/b")), dead, "what is in /a is not in /b");
    two(sub("/a"), not_(sub("/a/b")), "", "but some of /a is in /a/b");
    two(sub("/a"), always(), dead, "a condition that always holds takes everything");
    two(num(FILTER_VNODE_TYPE, 1), sub("/"), dead, "every file has a path below /");
    two(num(FILTER_VNODE_TYPE, 1), num(FILTER_VNODE_TYPE, 2), "", "different numbers");
}

static void lists(void)
{
    struct graph_build *b = start(1);
    rule_at(b, 1, true, OP_FILE_READ_DATA, sub("/a"));
    rule_at(b, 2, false, OP_FILE_READ, sub("/a"));
    found(b, "", "a parent's rule does not shadow a child's");

    b = start(1);
    rule_at(b, 1, true, OP_FILE_READ, sub("/a"));
    rule_at(b, 2, false, OP_FILE_READ_DATA, sub("/a"));
    found(b, "", "nor the other way round: there are other children");

    b = start(1);
    uint16_t ops[] = {OP_FILE_READ_DATA, OP_FILE_WRITE_DATA};
    struct graph_rule r = {.ops = ops,
                           .nops = 2,
                           .allow = true,
                           .when = sub("/a"),
                           .origin = {.file = "t.sb", .line = 1}};
    ok(graph_build_rule(b, &r, NULL) == 0, "a rule for two operations");
    rule_at(b, 2, false, OP_FILE_READ_DATA, sub("/a"));
    found(b, "", "shadowed in one of two operations is alive");

    b = start(1);
    ok(graph_build_rule(b, &r, NULL) == 0, "the same again");
    rule_at(b, 2, false, OP_FILE_READ_DATA, sub("/a"));
    rule_at(b, 3, false, OP_FILE_WRITE_DATA, sub("/a"));
    found(b, "shadowed 1 by 2", "shadowed in both is dead");

    b = start(1);
    rule_at(b, 1, true, OP_FILE_READ_DATA, NULL);
    rule_at(b, 2, false, OP_FILE_READ_DATA, NULL);
    rule_at(b, 3, true, OP_FILE_READ_DATA, sub("/a"));
    found(b, "replaced 1 by 2", "an unfiltered rule replaced by another");

    b = start(1);
    rule_at(b, 1, true, OP_FILE_READ_DATA, sub("/"));
    rule_at(b, 2, false, OP_FILE_READ_DATA, NULL);
    found(b, "shadowed 2 by 1", "a tail behind (subpath \"/\") in a file operation");

    b = start(1);
    rule_at(b, 1, true, OP_NETWORK_OUTBOUND, sub("/"));
    rule_at(b, 2, false, OP_NETWORK_OUTBOUND, NULL);
    found(b, "", "but not in a network operation");

    b = start(1);
    rule_at(b, 1, false, OP_DEFAULT, NULL);
    rule_at(b, 2, true, OP_FILE_READ_DATA, sub("/a"));
    rule_at(b, 3, true, OP_FILE_READ_DATA, sub("/b"));
    found(b, "", "an ordinary profile is clean");
}

static void contradictory(void)
{
    const char *dead = "contradictory 1";
    one(all(lit("/a"), lit("/b")), dead, "two literals");
    one(all(lit("/a"), sub("/b")), dead, "a literal outside a subpath");
    one(all(lit("/b/a"), sub("/b")), "", "a literal inside it");
    one(all(sub("/a"), sub("/b")), dead, "disjoint subpaths");
    one(all(sub("/a"), sub("/ab")), dead, "neighbours");
    one(all(sub("/a"), sub("/a/b")), "", "nested subpaths");
    one(all(pre("/a"), sub("/ab")), "", "a prefix of a subpath");
    one(all(pre("/ab"), sub("/a")), dead, "a prefix beside a subpath");
    one(all(pre("/a/b"), sub("/a")), "", "a prefix below a subpath");
    one(all(pre("/a"), pre("/b")), dead, "two prefixes");
    one(all(sub("/a"), not_(sub("/a"))), dead, "a test and its negation");
    one(all(lit("/a/b"), not_(sub("/a"))), dead, "a test within what is excluded");
    one(all(sub("/a"), not_(lit("/a/b"))), "", "excluding a part");
    one(all(rex("^/a/.*$"), sub("/b")), dead, "a regex anchored elsewhere");
    one(all(rex("x"), sub("/b")), "", "a regex that is not anchored");
    one(all(lit("/a/b"), rex("c$")), dead, "a literal that the regex does not match");
    one(all(num(FILTER_VNODE_TYPE, 1), num(FILTER_VNODE_TYPE, 2)), dead, "two kinds of file");
    one(all(mk_str(FILTER_EXTENSION, GRAPH_LITERAL, "x"),
            mk_str(FILTER_EXTENSION, GRAPH_LITERAL, "y")),
        "", "a process may hold two extensions");
    one(all(num(FILTER_TARGET, 1), num(FILTER_TARGET, 5)), "", "a target may be several things");
    one(any(all(lit("/a"), lit("/b")), sub("/c")), "", "another alternative is alive");
}

static void impossible(void)
{
    const char *dead = "impossible 1";
    one(sub("a"), dead, "a relative subpath");
    one(lit("a/b"), dead, "a relative literal");
    one(pre("a"), dead, "a relative prefix");
    one(pre(""), "", "the empty prefix");
    one(lit(""), dead, "the empty literal");
    one(lit("/"), "", "the root");
    one(sub("/"), "", "below the root");
    one(sub("/a/"), dead, "a slash at the end");
    one(pre("/a/"), "", "which a prefix may have");
    one(lit("/a//b"), dead, "an empty component");
    one(lit("/a/../b"), dead, "a component ..");
    one(lit("/a/..b"), "", "a name that starts with dots");
    one(lit("/a/."), dead, "a last component .");
    one(pre("/a/."), "", "a prefix of names that start with a dot");
    one(rex("^a"), dead, "a regex anchored to a relative path");
    one(rex("^/a"), "", "to an absolute one");
    one(rex("a"), "", "to none");
    one(nothing(), dead, "any of nothing");
    one(not_(sub("a")), "", "the negation of an impossible filter holds");
    one(any(sub("a"), sub("/b")), "", "one possible alternative is enough");
    one(mk_str(FILTER_XATTR, GRAPH_LITERAL, "a"), "", "names need no slash");

    struct graph_build *b = start(1);
    rule_at(b, 1, true, OP_NETWORK_OUTBOUND, lit("@abstract"));
    found(b, "", "abstract sockets have no slash");
}

static void network(void)
{
    struct graph_build *b = start(1);
    rule_at(b, 1, true, OP_NETWORK_OUTBOUND, net(FILTER_REMOTE, NET_TCP, "localhost:80"));
    rule_at(b, 2, true, OP_NETWORK_OUTBOUND, net(FILTER_REMOTE, NET_TCP, "*:443"));
    rule_at(b, 3, true, OP_NETWORK_OUTBOUND, net(FILTER_REMOTE, NET_UDP, "*:80"));
    rule_at(b, 4, false, OP_NETWORK_OUTBOUND, net(FILTER_REMOTE, NET_TCP, "*:80"));
    found(b, "shadowed 1 by 4", "an endpoint within another, and three that are not");

    b = start(1);
    rule_at(b, 1, true, OP_NETWORK_OUTBOUND,
            all(net(FILTER_REMOTE, NET_TCP, "*:80"), net(FILTER_REMOTE, NET_TCP, "*:443")));
    rule_at(b, 2, true, OP_NETWORK_OUTBOUND,
            all(net(FILTER_REMOTE, NET_TCP, "*:81"), net(FILTER_LOCAL, NET_TCP, "*:443")));
    found(b, "contradictory 1", "two remote ports, but not a remote and a local one");
}

static void large(void)
{
    /* Enough rules to exhaust any quadratic budget: it must still terminate, and report no live
     * rule. */
    struct graph_build *b = start(1);
    for (unsigned i = 0; i < 20000; i++) {
        char *s = arena_alloc(&maker_arena, 16);
        snprintf(s, 16, "/p/%u", i);
        rule_at(b, i + 1, true, OP_FILE_READ_DATA, sub(s));
    }
    found(b, "", "20,000 different subpaths");

    const struct graph_expr *e = always();
    for (int i = 0; i < 200; i++)
        e = all(e, any(lit("/a"), lit("/b")));
    one(e, "", "alternatives that multiply are not judged");
    e = sub("/a");
    for (int i = 0; i < 60001; i++)
        e = not_(e);
    two(all(e, sub("/b")), sub("/b"), "shadowed 1 by 2", "60,001 nested require-not");
}

/* ---- whatever is reported must never decide ---- */

static void mark(void *arg, const struct graph_lint *l)
{
    ((bool *)arg)[l->rule] = true;
}

/* Every operation on a file has one path and one type; there may be many extensions. */
static unsigned decided_by_dead(const struct graph *g, const bool *dead, unsigned queries)
{
    static const uint16_t ops[] = {OP_FILE_READ_DATA, OP_FILE_READ, OP_FILE};
    struct graph_cache *c = graph_cache_new(g);
    unsigned wrong = 0;
    for (unsigned i = 0; i < queries; i++) {
        struct graph_fact f[4] = {{.filter = FILTER_PATH, .str = random_path(true)},
                                  {.filter = FILTER_VNODE_TYPE, .num = rnd(4)},
                                  {.filter = FILTER_EXTENSION, .str = random_path(true)},
                                  {.filter = FILTER_EXTENSION, .str = random_path(true)}};
        for (int k = 0; k < 4; k++)
            f[k].len = f[k].str ? (uint32_t)strlen(f[k].str) : 0;
        struct graph_query q = {.op = ops[rnd(3)], .facts = f, .nfacts = 2 + rnd(3)};
        wrong += dead[graph_eval(g, c, &q).rule];
    }
    graph_cache_free(c);
    return wrong;
}

static void soundness(void)
{
    static const uint16_t ops[] = {OP_FILE_READ_DATA, OP_FILE_READ, OP_FILE, OP_DEFAULT};
    unsigned wrong = 0, reported = 0;
    for (int round = 0; round < 300; round++) {
        bool dead[64] = {false};
        struct graph_build *b = start(1);
        for (unsigned i = 0; i < 40; i++)
            rule_at(b, i + 1, rnd(2), (enum vocab_op)ops[rnd(4)], rnd(10) ? random_expr(2) : NULL);
        struct graph *g = finish(b);
        graph_lint(g, mark, dead);
        for (int i = 0; i < 64; i++)
            reported += dead[i];
        wrong += decided_by_dead(g, dead, 300);
        graph_free(g);
        arena_free(&maker_arena);
    }
    ok(reported > 300, "random profiles have dead rules (%u reported)", reported);
    is_int(wrong, 0, "none of which ever decides");
}

static void excluding(void)
{
    const struct {
        const struct graph_expr *a, *b;
        bool exclude;
    } rows[] = {
        {lit("/a"), lit("/b"), true},
        {lit("/a"), lit("/a"), false},
        {sub("/a"), sub("/ab"), true},
        {sub("/a"), sub("/a/b"), false},
        {sub("/a"), pre("/a"), false},
        {sub("/a/b"), pre("/ac"), true},
        {sub("/"), lit("/x"), false},
        {rex("^/a/[0-9]+$"), sub("/b"), true},
        {rex("^/a/[0-9]+$"), sub("/a"), false},
        {rex("a"), sub("/b"), false},   /* it may be anywhere */
        {rex("^/A"), lit("/b"), false}, /* without a graph, it is unknown whether case counts */
        {num(FILTER_UID, 1), num(FILTER_UID, 2), true},
        {num(FILTER_UID, 1), num(FILTER_GID, 2), false},
        {mk_str(FILTER_EXTENSION, GRAPH_LITERAL, "x"), mk_str(FILTER_EXTENSION, GRAPH_LITERAL, "y"),
         false}, /* a process may hold both */
        {net(FILTER_REMOTE, NET_TCP, "*:80"), net(FILTER_REMOTE, NET_TCP, "*:81"), true},
        {net(FILTER_REMOTE, NET_TCP, "*:80"), net(FILTER_REMOTE, NET_IP, "*:*"), false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        is_int(graph_tests_exclude(&rows[i].a->test, &rows[i].b->test), rows[i].exclude, "row %zu",
               i);
        is_int(graph_tests_exclude(&rows[i].b->test, &rows[i].a->test), rows[i].exclude,
               "row %zu the other way round", i);
    }
}

int main(void)
{
    excluding();
    soundness();
    shadowed();
    lists();
    contradictory();
    impossible();
    network();
    large();
    arena_free(&maker_arena);
    return done_testing();
}
