/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Globs. The expected texts result from applying the specification's chain of replacements by hand;
 * the second table checks what the resulting patterns match.
 */

#include "graph/regex/regex.h"
#include "tap.h"

struct conversion {
    const char *glob, *regex;
};

static const struct conversion conversions[] = {
    {"", "^$"},
    {"/a/b", "^/a/b$"},
    {"/a/*.c", "^/a/[^/]*\\.c$"},
    {"/a/?", "^/a/[^/]$"},
    {"/a/**", "^/a/.*$"},
    {"**/x", "^(.*/)?x$"},
    {"/a/**/b", "^/a/(.*/)?b$"},
    {"**/*", "^(.*/)?[^/]*$"},
    {"**/**/a", "^(.*/)?(.*/)?a$"},
    {"a**b", "^a.*b$"},
    /* runs of stars are read two by two from the left, unless a slash makes two of them special */
    {"***", "^.*[^/]*$"},
    {"****", "^.*.*$"},
    {"***/", "^[^/]*(.*/)?$"},
    {"*/", "^[^/]*/$"},
    /* what is special in a pattern is quoted first */
    {".^$+{}()|\\", "^\\.\\^\\$\\+\\{\\}\\(\\)\\|\\\\$"},
    {"a.b", "^a\\.b$"},
    {"{a,b}", "^\\{a,b\\}$"},
    {"\\*", "^\\\\[^/]*$"},
    {"$&", "^\\$&$"},
    {"$1[", "^\\$1\\[$"},
    /* closed brackets pass through, with what was quoted inside them */
    {"[ab]", "^[ab]$"},
    {"[a-z]*", "^[a-z][^/]*$"},
    {"[!a]", "^[!a]$"},
    {"[^a]", "^[\\^a]$"},
    {"[.]", "^[\\.]$"},
    {"[*]", "^[[^/]*]$"},
    {"[?]", "^[[^/]]$"},
    {"[**]", "^[.*]$"},
    {"[]", "^[]$"},
    {"[]a]", "^[]a]$"},
    {"]", "^]$"},
    /* the first bracket that is never closed is quoted, and only that one */
    {"[", "^\\[$"},
    {"a[b", "^a\\[b$"},
    {"[a]b[c", "^[a]b\\[c$"},
    {"[a[b", "^\\[a[b$"},
    {"[a]]b[", "^[a]]b\\[$"},
    {"[a\nb", "^\\[a\nb$"},
    {"[*", "^\\[[^/]*$"},
    {"[**/", "^\\[(.*/)?$"},
    /* the chain's own placeholders in user input */
    {"__GLOBSTAR__", "^.*$"},
    {"__GLOBSTAR_SLASH__", "^(.*/)?$"},
    {"x__GLOBSTAR__y", "^x.*y$"},
    {"__GLOBSTAR**", "^.*GLOBSTAR__$"},
    {"**GLOBSTAR__", "^.*GLOBSTAR__$"},
    {"**_SLASH__", "^.*_SLASH__$"},
    {"__GLOBSTAR_SLASH**", "^(.*/)?GLOBSTAR__$"},
    {"__GLOB*STAR__", "^__GLOB[^/]*STAR__$"},
};

static void test_conversions(void)
{
    for (size_t i = 0; i < sizeof(conversions) / sizeof(conversions[0]); i++) {
        const struct conversion *c = &conversions[i];
        struct arena arena;
        arena_init(&arena, 1 << 20);
        is_str(glob_to_regex(&arena, c->glob, strlen(c->glob)), c->regex, "glob %s", c->glob);
        arena_free(&arena);
    }
    struct arena arena;
    arena_init(&arena, 1 << 20);
    is_str(glob_to_regex(&arena, "/a\0b", 4), "^[]$", "a NUL makes a glob that matches nothing");
    is_str(glob_to_regex(&arena, "/a/*/b", 4), "^/a/[^/]*$", "only the length given is read");
    arena_free(&arena);
    arena_init(&arena, 4);
    ok(!glob_to_regex(&arena, "/a/b", 4), "an exhausted arena gives NULL");
    arena_free(&arena);
}

struct meaning {
    const char *glob, *path;
    int want; /* -1: the pattern is rejected */
};

static const struct meaning meanings[] = {
    {"/a/*", "/a/b", 1},        {"/a/*", "/a/", 1},         {"/a/*", "/a/b/c", 0},
    {"/a/**", "/a/b/c", 1},     {"/a/**", "/a", 0},         {"/a/**/b", "/a/b", 1},
    {"/a/**/b", "/a/x/y/b", 1}, {"/a/**/b", "/a/xb", 0},    {"**/.env", ".env", 1},
    {"**/.env", "/x/.env", 1},  {"**/.env", "/x/a.env", 0}, {"**/.env", "/x/.env/y", 0},
    {"/a?c", "/abc", 1},        {"/a?c", "/a/c", 0},        {"/a.c", "/abc", 0},
    {"/[ab]", "/b", 1},         {"/[!a]", "/b", 0},         {"/[!a]", "/!", 1},
    {"/[^a]", "/a", 1},         {"/[^a]", "/^", 1},         {"/[^a]", "/b", 0},
    {"/[.]", "/.", 1},          {"/[.]", "/\\", 0},         {"/[\\]", "/\\", 1},
    {"/x[*]", "/x[[]", 1},      {"/x[*]", "/x]", 1},        {"/x[*]", "/x*", 0},
    {"/x[?]", "/x^]", 1},       {"/x[]", "/x", 0},          {"/x[]", "/x]", 0},
    {"/x[]a]", "/xa]", 0},      {"/x[]a]", "/xa", 0},       {"/x]", "/x]", 1},
    {"/x[a", "/x[a", 1},        {"/x[z-a]", "/x", -1},      {"[[a", "[[a", -1},
    {"/a\nb*", "/a\nb\nc", 1},
};

static int glob_matches(const char *glob, const char *path)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    char *text = glob_to_regex(&arena, glob, strlen(glob));
    struct regex_set *set = regex_set_new(&arena, false, NULL);
    uint32_t id;
    int r = -1;
    if (text && regex_set_add(set, text, strlen(text), &id, NULL) == 0) {
        regex_set_freeze(set, NULL);
        struct regex_cache *cache = regex_cache_new(set, 0);
        const uint32_t *ids;
        r = (int)regex_match(set, cache, path, strlen(path), &ids);
        regex_cache_free(cache);
    }
    arena_free(&arena);
    return r;
}

static void test_meanings(void)
{
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
        const struct meaning *m = &meanings[i];
        is_int(glob_matches(m->glob, m->path), m->want, "glob %s on %s", m->glob, m->path);
    }
}

int main(void)
{
    test_conversions();
    test_meanings();
    return done_testing();
}
