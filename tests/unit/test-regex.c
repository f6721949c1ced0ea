/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Regular expressions: what each construct means, where errors are, what hostile patterns cost, and
 * that threads can share a frozen set. Random patterns are compared with PCRE2 where it is
 * available.
 */

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "graph/regex/regex.h"
#include "tap.h"

#ifdef HAVE_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#endif

enum { ARENA_MAX = 256 << 20 };

/* A set of patterns with a cache, for as long as a test needs it. */
struct fixture {
    struct arena arena;
    struct regex_set *set;
    struct regex_cache *cache;
    struct bk_err err;
};

static void fixture_init(struct fixture *f, bool fold)
{
    memset(f, 0, sizeof(*f));
    arena_init(&f->arena, ARENA_MAX);
    f->set = regex_set_new(&f->arena, fold, NULL);
}

static int fixture_add(struct fixture *f, const char *pattern)
{
    uint32_t id = 0;
    return regex_set_add(f->set, pattern, strlen(pattern), &id, &f->err) < 0 ? -1 : (int)id;
}

static void fixture_freeze(struct fixture *f, size_t cache_bytes)
{
    regex_set_freeze(f->set, &f->err);
    f->cache = regex_cache_new(f->set, cache_bytes);
}

static void fixture_free(struct fixture *f)
{
    regex_cache_free(f->cache);
    arena_free(&f->arena);
}

static bool fixture_has(struct fixture *f, const char *s, size_t n, uint32_t id)
{
    const uint32_t *ids;
    size_t count = regex_match(f->set, f->cache, s, n, &ids);
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* 1, 0, or -1 when the pattern does not parse. */
static int matches_n(const char *pattern, bool fold, const char *s, size_t n)
{
    struct fixture f;
    fixture_init(&f, fold);
    int r = -1;
    if (fixture_add(&f, pattern) == 0) {
        fixture_freeze(&f, 0);
        r = fixture_has(&f, s, n, 0);
    }
    fixture_free(&f);
    return r;
}

struct row {
    const char *pattern, *subject;
    int want;
};

static const struct row semantics[] = {
    /* a match is anywhere; anchors tie it down */
    {"", "", 1},
    {"", "x", 1},
    {"b", "abc", 1},
    {"^b", "abc", 0},
    {"^a", "abc", 1},
    {"c$", "abc", 1},
    {"b$", "abc", 0},
    {"^abc$", "abc", 1},
    {"^abc$", "abcd", 0},
    {"^$", "", 1},
    {"^$", "a", 0},
    {"$^", "", 1},
    {"$^", "a", 0},
    {"$", "a", 1},
    {"a$", "a\n", 0},
    /* anchors inside a pattern are still anchors */
    {"a^b", "ab", 0},
    {"(^|/)tmp", "tmp", 1},
    {"(^|/)tmp", "/tmp", 1},
    {"(^|/)tmp", "xtmp", 0},
    {"x(/|$)", "x", 1},
    {"x(/|$)", "x/y", 1},
    {"x(/|$)", "xy", 0},
    {"a$b", "ab", 0},
    {"(a$)?b", "ab", 1},
    {"^*a", "ba", 1},
    {"a*^b", "ab", 0},
    {"a*^b", "b", 1},
    {"(a|$)(b|$)$", "a", 1},
    /* one byte */
    {"^.$", "\n", 1},
    {"^.$", "", 0},
    {"^..$", "\xc3\xa9", 1},
    {"\\.", "a", 0},
    {"\\.", "a.b", 1},
    {"\\n", "n", 1},
    {"\\\\", "\\", 1},
    /* brackets */
    {"^[abc]$", "b", 1},
    {"^[abc]$", "d", 0},
    {"^[^abc]$", "d", 1},
    {"^[^abc]$", "a", 0},
    {"^[^/]$", "\n", 1},
    {"^[a-c]$", "b", 1},
    {"^[a-c]$", "-", 0},
    {"^[a-]$", "-", 1},
    {"^[-a]$", "-", 1},
    {"^[^-a]$", "-", 0},
    {"^[\\]]$", "]", 1},
    {"^[\\^a]$", "^", 1},
    {"^[a^]$", "^", 1},
    {"^[\\\\]$", "\\", 1},
    {"^[\\a]$", "\\", 0},
    {"^[.*+?]$", "+", 1},
    {"^[.]$", "x", 0},
    {"^[[]$", "[", 1},
    {"^[[:]$", ":", 1},
    {"^[a\\-c]$", "b", 0},
    {"^[a\\-c]$", "-", 1},
    {"^[+--]$", ",", 1},
    {"]", "]", 1},
    {"[]", "]", 0},
    {"[]", "", 0},
    {"[]a]", "a]", 0},
    {"[^]", "]", 1},
    {"^[^]a]$", "xa]", 1},
    {"a[]|b", "b", 1},
    {"^a[]*b$", "ab", 1},
    {"^[[:digit:]]+$", "0189", 1},
    {"^[[:digit:]]+$", "01a", 0},
    {"^[[:alpha:]_]$", "_", 1},
    {"^[^[:space:]]$", "\t", 0},
    {"^[^[:space:]]$", "x", 1},
    {"^[[:upper:]]$", "a", 0},
    {"^[[:xdigit:][:punct:]]+$", "fF0~", 1},
    {"^[[:word:]]+$", "a_Z9", 1},
    {"^[:alpha:]$", "l", 1},
    /* groups and bars */
    {"^(ab|cd)$", "cd", 1},
    {"^(ab|cd)$", "ad", 0},
    {"^ab|cd$", "abx", 1},
    {"^ab|cd$", "xcd", 1},
    {"^ab|cd$", "xabcdx", 0},
    {"^(|a)$", "", 1},
    {"^(a|)$", "a", 1},
    {"^a()b$", "ab", 1},
    {"^((a)(b))c$", "abc", 1},
    {"^(a(b|c)d|e)f$", "acdf", 1},
    {"^(a(b|c)d|e)f$", "ef", 1},
    {"^(a(b|c)d|e)f$", "af", 0},
    {"||", "x", 1},
    /* repeats */
    {"^a*$", "", 1},
    {"^a*$", "aaa", 1},
    {"^a*$", "ab", 0},
    {"^a+$", "", 0},
    {"^a+$", "aa", 1},
    {"^a?$", "aa", 0},
    {"^(ab)+$", "abab", 1},
    {"^(ab)+$", "aba", 0},
    {"^(a|b)*c$", "abbac", 1},
    {"^a{3}$", "aa", 0},
    {"^a{3}$", "aaa", 1},
    {"^a{3}$", "aaaa", 0},
    {"^a{2,}$", "a", 0},
    {"^a{2,}$", "aaaaa", 1},
    {"^a{0,}$", "", 1},
    {"^a{1,2}$", "", 0},
    {"^a{1,2}$", "aa", 1},
    {"^a{1,2}$", "aaa", 0},
    {"^a{0}b$", "b", 1},
    {"^a{0}b$", "ab", 0},
    {"^a{0,1}b$", "ab", 1},
    {"^(a{2}){2}$", "aaaa", 1},
    {"^(a{2}){2}$", "aaa", 0},
    {"^(a|bc){2,3}$", "abca", 1},
    {"^(a|bc){2,3}$", "bc", 0},
    {"^(a*)*$", "aa", 1},
    {"^(a*)*$", "b", 0},
    {"^(a*)+$", "", 1},
    {"^a**$", "aa", 1},
    {"^a+*$", "", 1},
    {"^a+?$", "", 1},
    {"^a?+$", "aaa", 1},
    {"^a{2}*$", "aaaa", 1},
    {"^a{2}*$", "aaa", 0},
    {"^(){1000}a$", "a", 1},
    {"^x()*a$", "xa", 1},
    {"^x()*a$", "xxa", 0},
    {"a{", "a{", 1},
    {"^a{,2}$", "a{,2}", 1},
    {"a}", "a}", 1},
    {"^{x}$", "{x}", 1},
    /* rows that simplification rewrites */
    {"^/a/.*$", "/a/", 1},
    {"^/a/.*$", "/a", 0},
    {"^/a/.*$", "/a/b\nc", 1},
    {"^.*b$", "ab", 1},
    {"^.*b$", "ba", 0},
    {"^a.*", "a", 1},
    {"^(.*)$", "", 1},
    {"^/a(/.*)?$", "/a", 1},
    {"^/a(/.*)?$", "/a/b", 1},
    {"^/a(/.*)?$", "/ab", 0},
    {"^/a(/.*)?$", "/a/", 1},
    {"^/a(/.*x)?$", "/a/b", 0},
    {"^/a(/.*)*$", "/a/b", 1},
    {"^/a(.*)?$", "/ab", 1},
    {"x*a", "a", 1},
    {"(^x)?a", "ya", 1},
    {"a(b$)?", "ab", 1},
    {"^a.*$|^b$", "bc", 0},
};

static void test_semantics(void)
{
    for (size_t i = 0; i < sizeof(semantics) / sizeof(semantics[0]); i++) {
        const struct row *r = &semantics[i];
        is_int(matches_n(r->pattern, false, r->subject, strlen(r->subject)), r->want,
               "%s on \"%s\"", r->pattern, r->subject);
    }
    is_int(matches_n("^a.b$", false, "a\0b", 3), 1, "a NUL in the subject is a byte");
    is_int(matches_n("^[^a]$", false, "\xff", 1), 1, "the byte 255 is a byte");
    is_int(matches_n("^[[:cntrl:]]$", false, "\0", 1), 1, "NUL is a control character");
}

static const struct row folding[] = {
    {"abc", "xABCx", 1},
    {"ABC", "abc", 1},
    {"^[A-C]+$", "abcABC", 1},
    {"^[^A]$", "a", 0},
    {"^[^a]$", "A", 0},
    {"^[^a]$", "b", 1},
    {"^[[:upper:]]$", "q", 1},
    {"^\xc3\x84$", "\xc3\xa4", 0},
    {"^[Z-a]$", "A", 1},
    {"^[Z-a]$", "z", 1},
    {"^[Z-a]$", "_", 1},
    {"^[Z-a]$", "b", 0},
    {"^@$", "`", 0},
    {"^[[]$", "{", 0},
    {"^K$", "\xe2\x84\xaa", 0},
};

static void test_folding(void)
{
    for (size_t i = 0; i < sizeof(folding) / sizeof(folding[0]); i++) {
        const struct row *r = &folding[i];
        is_int(matches_n(r->pattern, true, r->subject, strlen(r->subject)), r->want,
               "folded: %s on \"%s\"", r->pattern, r->subject);
    }
    is_int(matches_n("abc", false, "ABC", 3), 0, "without folding case counts");
}

struct syntax_error {
    const char *pattern;
    uint32_t col;
    enum bk_code code;
};

static const struct syntax_error syntax_errors[] = {
    {"(", 1, BK_E_INPUT},
    {"ab(c", 3, BK_E_INPUT},
    {"a(b(c)", 2, BK_E_INPUT},
    {")", 1, BK_E_INPUT},
    {"ab)c", 3, BK_E_INPUT},
    {"*a", 1, BK_E_INPUT},
    {"a|*", 3, BK_E_INPUT},
    {"(+)", 2, BK_E_INPUT},
    {"?", 1, BK_E_INPUT},
    {"(?:a)", 1, BK_E_INPUT},
    {"[a", 1, BK_E_INPUT},
    {"ab[^", 3, BK_E_INPUT},
    {"[a\\", 3, BK_E_INPUT},
    {"[b-a]", 2, BK_E_INPUT},
    {"x[a-cz-y]", 6, BK_E_INPUT},
    {"[[:foo:]]", 2, BK_E_INPUT},
    {"[a-[:digit:]]", 4, BK_E_INPUT},
    {"abc\\", 4, BK_E_INPUT},
    {"a{3,2}", 2, BK_E_INPUT},
    {"a{3", 2, BK_E_INPUT},
    {"a{3,x}", 2, BK_E_INPUT},
    {"{3}", 1, BK_E_INPUT},
    {"a{1001}", 2, BK_E_LIMIT},
    {"a{1,1001}", 2, BK_E_LIMIT},
    {"a{99999999999999999999}", 2, BK_E_LIMIT},
    {"((a{1000}){1000}){1000}", 11, BK_E_LIMIT},
};

static void test_errors(void)
{
    for (size_t i = 0; i < sizeof(syntax_errors) / sizeof(syntax_errors[0]); i++) {
        const struct syntax_error *e = &syntax_errors[i];
        struct bk_err err = {0};
        is_int(regex_check(e->pattern, strlen(e->pattern), &err), -1, "%s is refused", e->pattern);
        is_int(err.col, e->col, "%s: column", e->pattern);
        is_int(err.code, e->code, "%s: kind of error", e->pattern);
        ok(err.msg[0] != '\0', "%s: says \"%s\"", e->pattern, err.msg);
    }
    struct bk_err err = {0};
    is_int(regex_check("^/a[b-c]+(d|e){2}$", 18, &err), 0, "a good pattern passes the check");
}

/* A pattern that fails leaves no trace: neither an index, nor a byte set, nor a partial tree. */
static void test_failure_leaves_set(void)
{
    struct fixture f;
    fixture_init(&f, false);
    is_int(fixture_add(&f, "^a[0-9]$"), 0, "first index is 0");
    is_int(fixture_add(&f, "^a[x-z]("), -1, "an open group is refused");
    is_int(fixture_add(&f, "^a[x-z]$"), 1, "the next index is 1");
    is_int(regex_set_count(f.set), 2, "two patterns");
    ok(regex_cache_new(f.set, 0) == NULL, "no cache for a set that is still open");
    fixture_freeze(&f, 0);
    is_int(fixture_add(&f, "b"), -1, "a frozen set takes no more");
    ok(fixture_has(&f, "a5", 2, 0) && !fixture_has(&f, "a5", 2, 1), "a5 is the first");
    ok(fixture_has(&f, "ay", 2, 1) && !fixture_has(&f, "ay", 2, 0), "ay is the second");
    fixture_free(&f);

    const struct regex_limits tight = {.max_nodes = 100, .max_repeat = 5};
    struct arena arena;
    arena_init(&arena, ARENA_MAX);
    struct regex_set *set = regex_set_new(&arena, false, &tight);
    uint32_t id = 77;
    struct bk_err err = {0};
    is_int(regex_set_add(set, "a{6}", 4, &id, &err), -1, "the set's own repeat limit holds");
    is_int(regex_set_add(set, "((ab){5}){5}((ab){5}){5}", 24, &id, &err), -1, "and its node limit");
    is_int(err.code, BK_E_LIMIT, "which is a limit, not bad input");
    is_int(id, 77, "the index is untouched");
    int added = 0;
    while (added < 100 && regex_set_add(set, "abc", 3, &id, &err) == 0)
        added++;
    ok(added > 10, "equal patterns share their nodes");
    arena_free(&arena);
}

/* ---- several patterns in one pass ---- */

static void test_sets(void)
{
    struct fixture f;
    const char *const patterns[] = {"^/home/[^/]+/\\.ssh(/|$)",
                                    "\\.pem$",
                                    "/\\.env",
                                    "^/home",
                                    "^/home",
                                    "x|ssh|y",
                                    "^/home$",
                                    ".*"};
    fixture_init(&f, false);
    for (size_t i = 0; i < 8; i++)
        is_int(fixture_add(&f, patterns[i]), (int)i, "index of %s", patterns[i]);
    fixture_freeze(&f, 0);
    const uint32_t *ids;
    const char *subject = "/home/me/.ssh/.env/key.pem";
    size_t n = regex_match(f.set, f.cache, subject, strlen(subject), &ids);
    const uint32_t want[] = {0, 1, 2, 3, 4, 5, 7};
    ok(n == 7 && memcmp(ids, want, sizeof(want)) == 0, "all matches at once, ascending");
    n = regex_match(f.set, f.cache, "", 0, &ids);
    ok(n == 1 && ids[0] == 7, "the empty subject");
    n = regex_match(f.set, f.cache, "/home", 5, &ids);
    ok(n == 4 && ids[0] == 3 && ids[1] == 4 && ids[2] == 6 && ids[3] == 7, "/home");
    fixture_free(&f);

    fixture_init(&f, false);
    fixture_freeze(&f, 0);
    is_int((intmax_t)regex_match(f.set, f.cache, "abc", 3, &ids), 0,
           "an empty set matches nothing");
    is_int((intmax_t)regex_match(f.set, f.cache, "", 0, &ids), 0, "not even the empty subject");
    fixture_free(&f);
}

/* 1,000 patterns, each of which must be found exactly where it belongs. */
static void test_many(size_t cache_bytes)
{
    struct fixture f;
    char text[64];
    fixture_init(&f, false);
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), i % 2 ? "^/p%d/.*\\.x%d$" : "/q%d/[^/]*%d", i, i / 2);
        fixture_add(&f, text);
    }
    fixture_freeze(&f, cache_bytes);
    int wrong = 0;
    for (int i = 0; i < 1000; i += 7) {
        snprintf(text, sizeof(text), i % 2 ? "/p%d/r0/a.x%d" : "/a/q%d/zz%d", i, i / 2);
        const uint32_t *ids;
        size_t n = regex_match(f.set, f.cache, text, strlen(text), &ids);
        wrong += n != 1 || ids[0] != (uint32_t)i;
    }
    is_int(wrong, 0, "1,000 patterns, cache of %zu bytes", cache_bytes);
    fixture_free(&f);
}

/* ---- hostile patterns ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct hostile {
    const char *pattern;
    char fill; /* 0: a and b at random */
    size_t n;
    const char *tail;
    int want;
};

static const struct hostile hostiles[] = {
    {"(a|a)*b", 'a', 1000000, "", 0},
    {"^(a|a)*b$", 'a', 1000000, "b", 1},
    {"^(a*)*$", 'a', 1000000, "b", 0},
    {"^((a*)*)*b$", 'a', 1000000, "b", 1},
    {"(x+x+)+y", 'x', 1000000, "", 0},
    {"^(x+x+)+y$", 'x', 1000000, "y", 1},
    {"^(a?){1000}a{1000}$", 'a', 2000, "", 1},
    {"^(a?){1000}a{1000}$", 'a', 999, "", 0},
    {"^a{1000}$", 'a', 1000, "", 1},
    {"a.{1000}b", 'a', 20000, "", 0},
    {"(a|b)*a(a|b){100}c", 'a', 100000, "", 0},
    {"^(.*a){100}$", 'a', 10000, "b", 0},
    {"(a|b)*a(a|b){14}c", 0, 200000, "", 0},
    {"^(a|b)*a(a|b){300}$", 0, 20000, "", -2},
    {"(a.*){20}c", 0, 200000, "c", 1},
};

/* -2 in the table: the byte at this distance from the end decides. */
static int want_of(const struct hostile *h, const char *s)
{
    return h->want == -2 ? s[h->n - 301] == 'a' : h->want;
}

static void fill_subject(const struct hostile *h, char *s)
{
    uint32_t x = 12345;
    for (size_t i = 0; i < h->n; i++) {
        x = x * 1664525 + 1013904223;
        s[i] = h->fill ? h->fill : (x >> 24 & 1 ? 'a' : 'b');
    }
    memcpy(s + h->n, h->tail, strlen(h->tail) + 1);
}

static void test_hostile(void)
{
    for (size_t i = 0; i < sizeof(hostiles) / sizeof(hostiles[0]); i++) {
        const struct hostile *h = &hostiles[i];
        size_t tail = strlen(h->tail);
        char *s = malloc(h->n + tail + 1);
        fill_subject(h, s);
        double start = now();
        is_int(matches_n(h->pattern, false, s, h->n + tail), want_of(h, s), "%s on %zu bytes",
               h->pattern, h->n + tail);
        double took = now() - start;
        ok(took < 5.0, "%s ends soon (%.3f s)", h->pattern, took);
        free(s);
    }
}

static void check_flood(const char *unit, size_t times, const char *tail, int want)
{
    size_t n = strlen(unit), t = strlen(tail);
    char *s = malloc(n * times + t + 1);
    for (size_t i = 0; i < times; i++)
        memcpy(s + i * n, unit, n);
    memcpy(s + n * times, tail, t + 1);
    struct bk_err err = {0};
    double start = now();
    is_int(regex_check(s, n * times + t, &err), want, "%zu times %s", times, unit);
    ok(want == 0 || err.msg[0], "%zu times %s: \"%s\"", times, unit, err.msg);
    double took = now() - start;
    ok(took < 5.0, "%zu times %s ends soon (%.3f s)", times, unit, took);
    free(s);
}

static void test_floods(void)
{
    check_flood("(", 1000000, "", -1);
    check_flood("()", 1000000, "", -1);
    check_flood("(a", 400, "", -1);
    check_flood("|", 1000000, "", -1);
    check_flood("[", 1000000, "", -1);
    check_flood("a", 1000000, "", -1);
    check_flood("a", 100000, "", 0);
    check_flood("*", 1000000, "", -1);
    check_flood("a", 1, "*****************************************************", 0);
    check_flood("a{1000}", 1000, "", -1);
    check_flood("\\", 1000001, "", -1);

    /* Branches that all end in one pattern, and an arena too small for it. */
    struct fixture f;
    char *s = malloc(8 * 30000);
    size_t n = 0;
    for (int i = 0; i < 30000; i++)
        n += (size_t)sprintf(s + n, "%d|", i);
    fixture_init(&f, false);
    uint32_t id;
    double start = now();
    is_int(regex_set_add(f.set, s, n - 1, &id, &f.err), 0, "30,000 branches");
    fixture_freeze(&f, 0);
    ok(fixture_has(&f, "x29999", 6, 0) && !fixture_has(&f, "x", 1, 0), "30,000 branches match");
    ok(now() - start < 5.0, "and take little time");
    fixture_free(&f);
    struct arena small;
    arena_init(&small, 64 << 10);
    struct regex_set *set = regex_set_new(&small, false, NULL);
    is_int(regex_set_add(set, s, n - 1, &id, &f.err), -1, "a small arena ends in an error");
    is_int(f.err.code, BK_E_MEMORY, "which says so");
    arena_free(&small);
    free(s);
}

/* ---- prefixes ---- */

struct prefix_row {
    const char *pattern, *want;
    bool exact;
};

static const struct prefix_row prefixes[] = {
    {"^/dev/tty", "/dev/tty", false},
    {"^/dev/null$", "/dev/null", true},
    {"/dev/null$", "", false},
    {"^", "", false},
    {"^$", "", true},
    {"^/a\\.b[.]c$", "/a.b.c", true},
    {"^/a.b", "/a", false},
    {"^/a*b", "/", false},
    {"^/ab+c", "/ab", false},
    {"^/ab{3}c$", "/abbbc", true},
    {"^/ab{2,3}c", "/abb", false},
    {"^/ab?c", "/a", false},
    {"^(/dev)/(null)$", "/dev/null", true},
    {"^/a|^/ab", "/a", false},
    {"^/abc$|^/abd$", "/ab", false},
    {"^/a|/b", "", false},
    {"^/a(b|c)", "/a", false},
    {"^^a", "", false},
    {"a^b", "", false},
    {"^/a$b", "/a", false},
    {"(", "", false},
    {"", "", false},
    {"^/[^/]+", "/", false},
    {"^a.*$", "a", false},
};

static void test_prefixes(void)
{
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        const struct prefix_row *r = &prefixes[i];
        char out[64] = {0};
        bool exact = !r->exact;
        size_t n = regex_literal_prefix(r->pattern, strlen(r->pattern), out, sizeof(out), &exact);
        is_str(out, r->want, "prefix of %s", r->pattern);
        is_int((intmax_t)n, (intmax_t)strlen(r->want), "prefix length of %s", r->pattern);
        is_int(exact, r->exact, "%s is %sexact", r->pattern, r->exact ? "" : "not ");
    }
    char out[4] = {0};
    bool exact = true;
    is_int((intmax_t)regex_literal_prefix("^abcdef$", 8, out, 3, &exact), 3, "a short buffer");
    is_str(out, "abc", "gets the start");
    ok(!exact, "which is not the whole");
    exact = true;
    is_int((intmax_t)regex_literal_prefix("^ab{900}$", 9, out, 3, &exact), 3, "also of a repeat");
    ok(!exact && out[2] == 'b', "and again not the whole");
}

/* ---- threads ---- */

struct judge {
    const struct regex_set *set;
    int wrong;
};

static void *work(void *arg)
{
    struct judge *w = arg;
    struct regex_cache *cache = regex_cache_new(w->set, 4096);
    for (int i = 0; i < 20000; i++) {
        char s[32];
        int n = snprintf(s, sizeof(s), "/t%d/%d.log", i % 10, i);
        const uint32_t *ids;
        size_t count = regex_match(w->set, cache, s, (size_t)n, &ids);
        w->wrong += count != 2 || ids[0] != (uint32_t)(i % 10) || ids[1] != 10;
    }
    regex_cache_free(cache);
    return NULL;
}

static void test_threads(void)
{
    struct fixture f;
    fixture_init(&f, false);
    for (int i = 0; i < 10; i++) {
        char text[32];
        snprintf(text, sizeof(text), "^/t%d/[0-9]+\\.log$", i);
        fixture_add(&f, text);
    }
    fixture_add(&f, "\\.log$");
    fixture_freeze(&f, 0);
    struct judge w[2] = {{f.set, 0}, {f.set, 0}};
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, &w[i]);
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
        is_int(w[i].wrong, 0, "thread %d with its own cache", i);
    }
    fixture_free(&f);
}

/* ---- random patterns, compared with PCRE2 ---- */

#ifdef HAVE_PCRE2
static uint64_t seed = 20240229;

static unsigned random_below(unsigned n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % n;
}

struct text {
    char s[256];
    size_t n;
};

static void put(struct text *t, const char *s)
{
    size_t n = strlen(s);
    if (t->n + n < sizeof(t->s)) {
        memcpy(t->s + t->n, s, n + 1);
        t->n += n;
    }
}

static void random_pattern(struct text *t, int depth);

/* Returns whether a quantifier may follow: PCRE2 accepts none after an anchor and ignores one after
 * []. */
static bool random_atom(struct text *t, int depth)
{
    static const char *const atoms[] = {
        "^",    "$",     "[]", "a", "b",     "c",   "/",  "A", ".", "[ab]",    "[^a]",
        "[^/]", "[a-c]", "a",  "b", "[B-b]", "\\.", "ab", "^", "$", "[^\\]a]", "[[:alpha:]]"};
    enum { ATOMS = sizeof(atoms) / sizeof(atoms[0]) };
    unsigned k = random_below(ATOMS + 4);
    if (k >= ATOMS && depth > 0) {
        put(t, "(");
        random_pattern(t, depth - 1);
        put(t, ")");
        return true;
    }
    const char *atom = atoms[k % ATOMS];
    put(t, atom);
    return strcmp(atom, "^") != 0 && strcmp(atom, "$") != 0 && strcmp(atom, "[]") != 0;
}

static void random_pattern(struct text *t, int depth)
{
    static const char *const repeats[] = {"*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}"};
    unsigned n = random_below(5);
    for (unsigned i = 0; i < n; i++) {
        if (random_below(8) == 0)
            put(t, "|");
        if (random_atom(t, depth) && random_below(3) == 0)
            put(t, repeats[random_below(7)]);
    }
}

static void random_subject(struct text *t)
{
    static const char *const bytes[] = {"a", "b", "c", "/", "A", "B", ".", "\n", "]", "a"};
    t->n = 0;
    t->s[0] = '\0';
    for (unsigned n = random_below(14); n; n--)
        put(t, bytes[random_below(10)]);
}

static pcre2_code *pcre_compile(const char *pattern, bool fold)
{
    int code;
    PCRE2_SIZE at;
    uint32_t options = PCRE2_DOLLAR_ENDONLY | PCRE2_DOTALL | PCRE2_ALLOW_EMPTY_CLASS;
    return pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                         options | (fold ? PCRE2_CASELESS : 0), &code, &at, NULL);
}

enum { ROUND = 6, SUBJECTS = 30 };

/* Matches patterns of one set against subjects; returns the number of differences. */
static int compare_round(bool fold, size_t cache_bytes, int *compared)
{
    struct fixture f;
    struct text text[ROUND];
    pcre2_code *code[ROUND] = {NULL};
    int differ = 0;
    fixture_init(&f, fold);
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    for (int i = 0; i < ROUND; i++) {
        text[i].n = 0;
        text[i].s[0] = '\0';
        random_pattern(&text[i], 2);
        code[i] = pcre_compile(text[i].s, fold);
        if (!code[i] || fixture_add(&f, text[i].s) != i) {
            printf("# pattern refused: %s (pcre2 %s)\n", text[i].s, code[i] ? "takes it" : "too");
            differ++;
            goto out;
        }
    }
    fixture_freeze(&f, cache_bytes);
    for (int k = 0; k < SUBJECTS; k++) {
        struct text s;
        random_subject(&s);
        for (int i = 0; i < ROUND; i++) {
            int rc = pcre2_match(code[i], (PCRE2_SPTR)s.s, s.n, 0, 0, data, NULL);
            if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
                continue;
            bool mine = fixture_has(&f, s.s, s.n, (uint32_t)i);
            ++*compared;
            if (mine != (rc >= 0) && ++differ)
                printf("# %s on \"%s\": %d, PCRE2 %d\n", text[i].s, s.s, mine, rc >= 0);
        }
    }
out:
    for (int i = 0; i < ROUND; i++)
        pcre2_code_free(code[i]);
    pcre2_match_data_free(data);
    fixture_free(&f);
    return differ;
}

static void test_against_pcre2(void)
{
    const char *rounds = getenv("REGEX_ROUNDS");
    int n = rounds ? atoi(rounds) : 400, compared = 0;
    for (int fold = 0; fold < 2; fold++)
        for (int tiny = 0; tiny < 2; tiny++) {
            int differ = 0;
            for (int i = 0; i < n && differ < 10; i++)
                differ += compare_round(fold, tiny ? 1 : 0, &compared);
            is_int(differ, 0, "same answers as PCRE2 (%s, %s cache)", fold ? "folded" : "as is",
                   tiny ? "smallest" : "default");
        }
    ok(compared > n * ROUND * SUBJECTS, "%d answers compared", compared);
}
#else
static void test_against_pcre2(void)
{
    skip("PCRE2 is not available: no comparison of random patterns");
}
#endif

int main(void)
{
    test_semantics();
    test_folding();
    test_errors();
    test_failure_leaves_set();
    test_sets();
    test_many(0);
    test_many(1);
    test_hostile();
    test_floods();
    test_prefixes();
    test_threads();
    test_against_pcre2();
    return done_testing();
}
