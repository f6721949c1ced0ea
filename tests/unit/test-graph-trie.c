/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Strings against literals, prefixes and subpaths of every length around the trie's word size. Each
 * subject is in memory of exactly its size, so that a sanitizer sees any byte read beyond it.
 * strncmp() is the reference.
 */

#include "graph-maker.h"
#include "graph/build.h"
#include "graph/eval.h"
#include "tap.h"

static const char base[] = "/usr/lib/x86_64-linux-gnu/Perl5/auto/List/Util/Util.so";

enum { BASE = sizeof(base) - 1, KEYS = 48 };

static bool should_hold(enum graph_how how, const char *key, const char *s, size_t n)
{
    size_t len = strlen(key);
    if (n < len || strncmp(s, key, len) != 0)
        return false;
    switch (how) {
    case GRAPH_LITERAL:
        return n == len;
    case GRAPH_SUBPATH:
        return n == len || s[len] == '/' || strcmp(key, "/") == 0;
    default:
        return true;
    }
}

static char *key_of(unsigned len)
{
    char *key = arena_alloc(&maker_arena, len + 1);
    memcpy(key, base, len);
    return key;
}

/* One graph per test, and one with all of them, where labels are the rest of a key. */
static struct graph *one_key(enum graph_how how, const char *key, bool fold)
{
    struct graph_options opt = {.version = 1, .no_implicit = true, .fold_case = fold};
    struct graph_build *b = graph_build_new(&opt, NULL);
    rule_at(b, 1, false, OP_DEFAULT, NULL);
    rule_at(b, 2, true, OP_FILE_READ_DATA, mk_str(FILTER_PATH, how, key));
    return finish(b);
}

/* Copies the subject to memory of exactly its size. */
static struct graph_verdict decide(const struct graph *g, struct graph_cache *c, const char *s,
                                   size_t n)
{
    char *exact = malloc(n ? n : 1);
    if (!exact)
        abort();
    memcpy(exact, s, n);
    struct graph_fact f = {.filter = FILTER_PATH, .str = exact, .len = (uint32_t)n};
    struct graph_query q = {.op = OP_FILE_READ_DATA, .facts = &f, .nfacts = 1};
    struct graph_verdict v = graph_eval(g, c, &q);
    free(exact);
    return v;
}

static unsigned wrong_for(enum graph_how how, unsigned len)
{
    const char *key = key_of(len);
    struct graph *g = one_key(how, key, false);
    struct graph_cache *c = graph_cache_new(g);
    unsigned wrong = 0;
    for (size_t n = 0; n <= BASE; n++) {
        char s[BASE + 1];
        memcpy(s, base, sizeof(s));
        wrong += decide(g, c, s, n).allow != should_hold(how, key, s, n);
        for (size_t at = 0; at < n; at++) { /* every single byte matters */
            s[at] ^= 1;
            wrong += decide(g, c, s, n).allow != should_hold(how, key, s, n);
            s[at] ^= 1;
        }
    }
    graph_cache_free(c);
    graph_free(g);
    return wrong;
}

static void test_single_keys(void)
{
    static const struct {
        enum graph_how how;
        const char *name;
    } kinds[] = {{GRAPH_LITERAL, "literal"}, {GRAPH_PREFIX, "prefix"}, {GRAPH_SUBPATH, "subpath"}};
    for (size_t k = 0; k < 3; k++) {
        unsigned wrong = 0;
        for (unsigned len = 1; len <= KEYS; len++)
            wrong += wrong_for(kinds[k].how, len);
        is_int(wrong, 0, "a %s of 1 to %d bytes holds for what it should", kinds[k].name, KEYS);
    }
}

/* Prefixes of every third length: the longest that matches was written last and decides. */
static void test_nested_keys(void)
{
    struct graph_build *b = start(1);
    rule_at(b, 1, false, OP_DEFAULT, NULL);
    for (unsigned len = 1; len <= KEYS; len += 3)
        rule_at(b, len + 1, len % 2 == 0, OP_FILE_READ_DATA,
                mk_str(FILTER_PATH, GRAPH_PREFIX, key_of(len)));
    struct graph *g = finish(b);
    struct graph_cache *c = graph_cache_new(g);
    unsigned wrong = 0;
    for (size_t n = 0; n <= BASE; n++) {
        unsigned longest = n == 0     ? 0
                           : n > KEYS ? KEYS - (KEYS - 1) % 3
                                      : (unsigned)(n - 1) / 3 * 3 + 1;
        wrong += graph_rule_at(g, decide(g, c, base, n).rule)->origin.line != longest + 1;
    }
    is_int(wrong, 0, "of prefixes within prefixes the longest that fits is found");
    graph_cache_free(c);
    graph_free(g);
}

static void test_folded_keys(void)
{
    unsigned wrong = 0;
    for (unsigned len = 1; len <= KEYS; len++) {
        struct graph *g = one_key(GRAPH_PREFIX, key_of(len), true);
        struct graph_cache *c = graph_cache_new(g);
        char s[BASE + 1];
        for (size_t i = 0; i <= BASE; i++)
            s[i] = (char)(base[i] >= 'a' && base[i] <= 'z' ? base[i] - 'a' + 'A' : base[i]);
        for (size_t n = 0; n <= BASE; n++)
            wrong += decide(g, c, s, n).allow != (n >= len);
        graph_cache_free(c);
        graph_free(g);
    }
    is_int(wrong, 0, "letters of either case fit where case is folded");
}

int main(void)
{
    test_single_keys();
    test_nested_keys();
    test_folded_keys();
    return done_testing();
}
