/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Evaluation: corner cases of strings, the fast walk against a plain one on random graphs, two
 * threads on one graph, and that a decision allocates nothing.
 */

#include <pthread.h>

#include "graph-maker.h"
#include "graph/build.h"
#include "graph/eval.h"
#include "tap.h"

/* ---- counting allocations; with a sanitizer, which owns malloc, nothing is counted ---- */

static volatile unsigned long allocations;

#if !SANITIZED_MALLOC
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
    allocations++;
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    allocations++;
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    allocations++;
    return __libc_realloc(p, n);
}
#endif

/* ---- a reference: each test by its definition ---- */

static bool prefixed(const struct graph_fact *f, const struct graph_test *t)
{
    return f->len >= t->len && memcmp(f->str, t->str, t->len) == 0;
}

static bool test_holds(const struct graph_test *t, const struct graph_fact *f)
{
    if (t->filter != f->filter)
        return false;
    switch (t->how) {
    case GRAPH_LITERAL:
        return f->len == t->len && prefixed(f, t);
    case GRAPH_PREFIX:
        return prefixed(f, t);
    case GRAPH_SUBPATH:
        if (t->len == 1 && t->str[0] == '/')
            return prefixed(f, t);
        return prefixed(f, t) && (f->len == t->len || f->str[t->len] == '/');
    case GRAPH_REGEX: /* the patterns below are all of the form X$ */
        return f->len >= t->len - 1 &&
               memcmp(f->str + f->len - (t->len - 1), t->str, t->len - 1) == 0;
    case GRAPH_INT:
        return f->num == t->num;
    case GRAPH_MODE:
        return (f->num & t->num) != 0;
    case GRAPH_FLAG:
        return f->num != 0;
    default:
        return false;
    }
}

static uint32_t plain_walk(const struct graph *g, const struct graph_query *q)
{
    uint32_t node = graph_entry(g, (enum vocab_op)q->op);
    for (;;) {
        const struct graph_node *n = graph_node_at(g, node);
        if (n->kind == GRAPH_NODE_DECISION)
            return node;
        bool holds = false;
        for (size_t i = 0; i < q->nfacts; i++)
            holds = holds || test_holds(graph_test_at(g, n->test), &q->facts[i]);
        node = holds ? n->match : n->unmatch;
    }
}

/* ---- strings ---- */

static bool takes(const struct graph_expr *when, bool fold, const char *s, size_t len)
{
    struct graph_options opt = {.version = 1, .fold_case = fold, .no_implicit = true};
    struct graph_build *b = graph_build_new(&opt, NULL);
    rule_at(b, 1, true, OP_FILE_READ_DATA, when);
    struct graph *g = finish(b);
    struct graph_cache *c = graph_cache_new(g);
    struct graph_fact f = {.filter = FILTER_PATH, .str = s, .len = (uint32_t)len};
    struct graph_query q = {.op = OP_FILE_READ_DATA, .facts = &f, .nfacts = 1};
    bool allow = graph_eval(g, c, &q).allow;
    graph_cache_free(c);
    graph_free(g);
    return allow;
}

static void strings(void)
{
    static const struct {
        enum graph_how how;
        const char *pattern, *subject;
        bool want;
    } rows[] = {
        {GRAPH_SUBPATH, "/a", "/a", true},
        {GRAPH_SUBPATH, "/a", "/a/b", true},
        {GRAPH_SUBPATH, "/a", "/a/", true},
        {GRAPH_SUBPATH, "/a", "/ab", false},
        {GRAPH_SUBPATH, "/a", "/", false},
        {GRAPH_SUBPATH, "/a", "", false},
        {GRAPH_SUBPATH, "/", "/", true},
        {GRAPH_SUBPATH, "/", "/x", true},
        {GRAPH_SUBPATH, "/", "x", false},
        {GRAPH_SUBPATH, "/", "", false},
        {GRAPH_SUBPATH, "/a/", "/a/b", false},
        {GRAPH_SUBPATH, "/a/", "/a/", true},
        {GRAPH_PREFIX, "/a", "/ab", true},
        {GRAPH_PREFIX, "/a", "/a", true},
        {GRAPH_PREFIX, "/a", "/b", false},
        {GRAPH_PREFIX, "", "", true},
        {GRAPH_PREFIX, "", "x", true},
        {GRAPH_LITERAL, "/a", "/a", true},
        {GRAPH_LITERAL, "/a", "/a/", false},
        {GRAPH_LITERAL, "/a", "/ab", false},
        {GRAPH_LITERAL, "/a", "/A", false},
        {GRAPH_LITERAL, "", "", true},
        {GRAPH_LITERAL, "", "/", false},
        {GRAPH_LITERAL, "/\xff\x80", "/\xff\x80", true},
        {GRAPH_LITERAL, "/\xff\x80", "/\xff\x81", false},
        {GRAPH_SUBPATH, "/\xc3\xa4", "/\xc3\xa4/x", true},
        {GRAPH_REGEX, "b$", "/a/b", true},
        {GRAPH_REGEX, "b$", "/b/a", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        is_int(takes(mk_str(FILTER_PATH, rows[i].how, rows[i].pattern), false, rows[i].subject,
                     strlen(rows[i].subject)),
               rows[i].want, "how %d \"%s\" with \"%s\"", rows[i].how, rows[i].pattern,
               rows[i].subject);
    ok(takes(lit("/A/b"), true, "/a/B", 4) && takes(sub("/A"), true, "/a/x", 4), "case folded");
    ok(!takes(lit("/\xc3\x84"), true, "/\xc3\xa4", 3), "folding is for ASCII only");
    ok(takes(lit("/ab"), false, "/abc", 3), "a subject need not end in NUL");
    ok(!takes(lit("/a"), false, "/a\0b", 4), "nor does a NUL end it");
    ok(!takes(any(lit("/a"), lit("/b")), false, "/\0", 2), "nor is it one of the letters");
    struct graph_options opt = {.version = 1, .fold_case = true, .no_implicit = true};
    struct graph_build *b = graph_build_new(&opt, NULL);
    rule_at(b, 1, true, OP_FILE_READ_DATA, any(lit("/A"), lit("/a")));
    struct graph *g = finish(b);
    is_int(graph_test_count(g), 1, "folded, two spellings are one test");
    graph_free(g);
}

/* One node with 256 children, and others below it. */
static void wide_trie(void)
{
    struct graph_build *b = start(1);
    for (unsigned c = 1; c < 256; c++) {
        char *s = arena_alloc(&maker_arena, 4);
        s[0] = '/';
        s[1] = (char)c;
        rule_at(b, c, true, OP_FILE_READ_DATA, lit(s));
    }
    struct graph *g = finish(b);
    bool right = true;
    for (unsigned c = 1; c < 256; c++) {
        char s[3] = {'/', (char)c, '\0'};
        right = right && who(g, OP_FILE_READ_DATA, s) == (int)c;
    }
    ok(right, "each of 255 siblings is found");
    ok(!ask(g, OP_FILE_READ_DATA, "/").allow && !ask(g, OP_FILE_READ_DATA, "/ab").allow,
       "and nothing else");
    graph_free(g);

    for (int n = 7; n <= 10; n++) {
        b = start(1);
        for (int i = 0; i < n; i++) {
            char *s = arena_alloc(&maker_arena, 4);
            snprintf(s, 4, "/%c", 'a' + i);
            rule_at(b, (unsigned)i + 1, true, OP_FILE_READ_DATA, sub(s));
        }
        g = finish(b);
        right = !ask(g, OP_FILE_READ_DATA, "/z").allow;
        for (int i = 0; i < n; i++) {
            char s[5];
            snprintf(s, sizeof(s), "/%c/x", 'a' + i);
            right = right && who(g, OP_FILE_READ_DATA, s) == i + 1;
        }
        ok(right, "%d siblings", n);
        graph_free(g);
    }
}

/* ---- facts ---- */

static void several_facts(void)
{
    struct graph_build *b = start(1);
    rule_at(b, 1, true, OP_FILE_READ_DATA,
            all(mk_str(FILTER_EXTENSION, GRAPH_LITERAL, "x"),
                mk_str(FILTER_EXTENSION, GRAPH_LITERAL, "y")));
    rule_at(b, 2, true, OP_FILE_WRITE_DATA,
            mk((struct graph_expr){
                .test = {.filter = FILTER_FILE_MODE, .how = GRAPH_MODE, .num = 0022}}));
    rule_at(b, 3, true, OP_FILE_CHROOT,
            mk((struct graph_expr){
                .test = {.filter = FILTER_ROOTLESS_DISK_FILTER, .how = GRAPH_FLAG}}));
    struct graph *g = finish(b);
    struct graph_cache *c = graph_cache_new(g);
    struct graph_fact f[3] = {{.filter = FILTER_EXTENSION, .str = "y", .len = 1},
                              {.filter = FILTER_EXTENSION, .str = "z", .len = 1},
                              {.filter = FILTER_EXTENSION, .str = "x", .len = 1}};
    struct graph_query q = {.op = OP_FILE_READ_DATA, .facts = f, .nfacts = 3};
    ok(graph_eval(g, c, &q).allow, "a process holds several extensions");
    q.nfacts = 2;
    ok(!graph_eval(g, c, &q).allow, "one of two is not both");
    q.nfacts = 0;
    ok(!graph_eval(g, c, &q).allow, "no facts match nothing");
    f[0] = (struct graph_fact){.filter = FILTER_FILE_MODE, .num = 0644};
    q = (struct graph_query){.op = OP_FILE_WRITE_DATA, .facts = f, .nfacts = 1};
    ok(!graph_eval(g, c, &q).allow, "none of the bits");
    f[0].num = 0664;
    ok(graph_eval(g, c, &q).allow, "one of the bits");
    f[0] = (struct graph_fact){.filter = FILTER_ROOTLESS_DISK_FILTER, .num = 1};
    q.op = OP_FILE_CHROOT;
    ok(graph_eval(g, c, &q).allow, "a flag that is set");
    f[0].num = 0;
    ok(!graph_eval(g, c, &q).allow, "a flag that is not");
    f[0] = (struct graph_fact){.filter = FILTER_COUNT, .num = 1};
    ok(!graph_eval(g, c, &q).allow, "a filter that does not exist matches nothing");
    graph_cache_free(c);
    graph_free(g);
}

/* ---- random graphs ---- */

static void count_step(void *arg, uint32_t node, bool matched)
{
    (void)node;
    (void)matched;
    ++*(unsigned *)arg;
}

static unsigned compare_walks(const struct graph *g, unsigned queries)
{
    static const uint16_t ops[] = {OP_FILE_READ_DATA, OP_FILE_READ, OP_FILE, OP_FILE_WRITE_DATA};
    struct graph_cache *c = graph_cache_new(g);
    unsigned wrong = 0;
    for (unsigned i = 0; i < queries; i++) {
        struct graph_fact f[4] = {{.filter = FILTER_PATH},
                                  {.filter = FILTER_VNODE_TYPE},
                                  {.filter = FILTER_EXTENSION},
                                  {.filter = FILTER_EXTENSION}};
        f[0].str = random_path(false);
        f[0].len = (uint32_t)strlen(f[0].str);
        f[1].num = rnd(4);
        for (int k = 2; k < 4; k++) {
            f[k].str = random_path(true);
            f[k].len = (uint32_t)strlen(f[k].str);
        }
        struct graph_query q = {.op = ops[rnd(4)], .facts = f, .nfacts = rnd(5)};
        unsigned steps = 0;
        uint32_t want = plain_walk(g, &q);
        wrong += graph_eval(g, c, &q).node != want;
        wrong += graph_trace(g, c, &q, count_step, &steps).node != want;
        wrong += graph_node_at(g, graph_entry(g, (enum vocab_op)q.op))->kind == GRAPH_NODE_FILTER &&
                 steps == 0;
    }
    graph_cache_free(c);
    return wrong;
}

static void random_graphs(void)
{
    static const uint16_t ops[] = {OP_FILE_READ_DATA, OP_FILE_READ, OP_FILE, OP_DEFAULT};
    unsigned wrong = 0, graphs = 0;
    for (unsigned size = 1; size <= 150; size += 1 + size / 4)
        for (int round = 0; round < 8; round++, graphs++) {
            struct graph_build *b = start(1);
            for (unsigned i = 0; i < size; i++)
                rule_at(b, i + 1, rnd(2), (enum vocab_op)ops[rnd(4)],
                        rnd(10) ? random_expr(3) : NULL);
            struct graph *g = finish(b);
            wrong += compare_walks(g, 60);
            graph_free(g);
            arena_free(&maker_arena);
        }
    is_int(wrong, 0, "the fast walk equals the plain one on %u random graphs", graphs);

    /* More tests hold than the walk looks up one by one. */
    struct graph_build *b = start(1);
    char deep[200] = "";
    for (unsigned i = 1; i <= 60; i++) {
        strcat(deep, "/a");
        rule_at(
            b, i, i % 2, OP_FILE_READ_DATA,
            all(sub(strcpy(arena_alloc(&maker_arena, 200), deep)), num(FILTER_VNODE_TYPE, i % 4)));
    }
    struct graph *g = finish(b);
    struct graph_cache *c = graph_cache_new(g);
    wrong = 0;
    for (int64_t type = -1; type < 5; type++) {
        struct graph_fact f[2] = {{.filter = FILTER_PATH, .str = deep, .len = 120},
                                  {.filter = FILTER_VNODE_TYPE, .num = type}};
        struct graph_query q = {.op = OP_FILE_READ_DATA, .facts = f, .nfacts = 2};
        wrong += graph_eval(g, c, &q).node != plain_walk(g, &q);
    }
    is_int(wrong, 0, "also when sixty tests hold");
    graph_cache_free(c);
    graph_free(g);
}

/* ---- two policies as one ---- */

static struct graph *random_graph(unsigned size)
{
    static const uint16_t ops[] = {OP_FILE_READ_DATA, OP_FILE_READ, OP_FILE, OP_DEFAULT};
    struct graph_build *b = start(1);
    for (unsigned i = 0; i < size; i++)
        rule_at(b, i + 1, rnd(3) > 0, (enum vocab_op)ops[rnd(4)], rnd(10) ? random_expr(3) : NULL);
    return finish(b);
}

/* What the result must say, from what the two say: who denies first, else the second's rule. */
static unsigned compare_both(const struct graph *both, const struct graph *first,
                             const struct graph *second, unsigned queries)
{
    static const uint16_t ops[] = {OP_FILE_READ_DATA, OP_FILE_READ, OP_FILE_WRITE_DATA, OP_SIGNAL};
    unsigned wrong = 0;
    for (unsigned i = 0; i < queries; i++) {
        struct graph_fact f[2] = {{.filter = FILTER_PATH, .str = random_path(false)},
                                  {.filter = FILTER_VNODE_TYPE, .num = rnd(4)}};
        f[0].len = (uint32_t)strlen(f[0].str);
        struct graph_query q = {.op = ops[rnd(4)], .facts = f, .nfacts = rnd(3)};
        const struct graph_node *x = graph_node_at(first, plain_walk(first, &q));
        const struct graph_node *y = graph_node_at(second, plain_walk(second, &q));
        const struct graph_node *z = graph_node_at(both, plain_walk(both, &q));
        wrong += z->allow != (x->allow && y->allow);
        wrong += z->rule != (x->allow ? graph_rule_count(first) + y->rule : x->rule);
    }
    return wrong;
}

static void conjunctions(void)
{
    unsigned wrong = 0, walks = 0;
    for (unsigned size = 1; size <= 100; size += 1 + size / 4) {
        struct bk_err err;
        struct graph *a = random_graph(size), *b = random_graph(1 + rnd(30));
        struct graph *ab = graph_conjoin(a, b, &err);
        struct graph *aab = ab ? graph_conjoin(a, ab, &err) : NULL;
        if (!ok(ab && aab, "two graphs of %u and more rules", size))
            break;
        wrong += compare_both(ab, a, b, 200) + compare_both(aab, a, ab, 200);
        walks += compare_walks(ab, 60) + compare_walks(aab, 60);
        wrong += graph_rule_count(ab) != graph_rule_count(a) + graph_rule_count(b);
        graph_free(a);
        graph_free(b);
        graph_free(ab);
        graph_free(aab);
        arena_free(&maker_arena);
    }
    is_int(wrong, 0, "a conjunction allows what both allow, with the rule of the one that decides");
    is_int(walks, 0, "and the fast walk equals the plain one");
}

/* ---- threads, allocations ---- */

static struct graph *thousand_rules(void)
{
    struct graph_build *b = start(1);
    for (unsigned i = 1; i <= 1000; i++) {
        char *s = arena_alloc(&maker_arena, 40);
        snprintf(s, 40, i % 7 < 5 ? "/srv/part%u/data" : "part%u/[a-z]+\\.log$", i);
        rule_at(b, i, true, OP_FILE_READ_DATA, i % 7 < 5 ? sub(s) : rex(s));
    }
    return finish(b);
}

static unsigned misjudged(const struct graph *g, struct graph_cache *c)
{
    unsigned wrong = 0;
    for (unsigned i = 1; i <= 1000; i++) {
        char path[64];
        snprintf(path, sizeof(path), i % 7 < 5 ? "/srv/part%u/data/x" : "/v/part%u/abc.log", i);
        struct graph_fact f = {.filter = FILTER_PATH, .str = path, .len = (uint32_t)strlen(path)};
        struct graph_query q = {.op = OP_FILE_READ_DATA, .facts = &f, .nfacts = 1};
        struct graph_verdict v = graph_eval(g, c, &q);
        wrong += !v.allow || graph_rule_at(g, v.rule)->origin.line != i;
    }
    return wrong;
}

static void *judge(void *arg)
{
    const struct graph *g = arg;
    struct graph_cache *c = graph_cache_new(g);
    uintptr_t wrong = 0;
    for (int i = 0; i < 10; i++)
        wrong += misjudged(g, c);
    graph_cache_free(c);
    return (void *)wrong;
}

static void threads(const struct graph *g)
{
    pthread_t t[2];
    void *wrong[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++)
        if (pthread_create(&t[i], NULL, judge, (void *)(uintptr_t)g) != 0) {
            ok(false, "a thread starts");
            return;
        }
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], &wrong[i]);
    ok(!wrong[0] && !wrong[1], "two threads read one graph");
}

static void allocation_free(const struct graph *g)
{
    unsigned long before = allocations;
    struct graph_cache *c = graph_cache_new(g);
#if !SANITIZED_MALLOC
    ok(allocations > before, "the counter counts");
#endif
    before = allocations;
    unsigned wrong = misjudged(g, c);
    is_int((intmax_t)(allocations - before), 0, "a thousand first decisions allocate nothing");
    is_int(wrong, 0, "and are right");
    graph_cache_free(c);
}

int main(void)
{
    strings();
    wide_trie();
    several_facts();
    random_graphs();
    conjunctions();
    struct graph *g = thousand_rules();
    threads(g);
    allocation_free(g);
    graph_free(g);
    arena_free(&maker_arena);
    return done_testing();
}
