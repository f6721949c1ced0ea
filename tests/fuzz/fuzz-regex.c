/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: lines of patterns, an empty line, subjects. The first byte chooses folding and whether
 * patterns are regexes or globs. Every subject is matched with a large cache, with the smallest
 * one, and with each pattern alone: all must agree, and ids must ascend.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph/regex/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATTERNS_MAX = 16, SUBJECT_MAX = 512 };

static const struct regex_limits limits = {.max_nodes = 3000, .max_repeat = 50};

struct subject {
    const char *s;
    size_t n;
};

struct patterns {
    bool fold, glob;
    struct subject text[PATTERNS_MAX];
    size_t n;
};

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool next_line(struct subject *rest, struct subject *line)
{
    if (!rest->n)
        return false;
    const char *end = memchr(rest->s, '\n', rest->n);
    line->s = rest->s;
    line->n = end ? (size_t)(end - rest->s) : rest->n;
    size_t used = line->n + (end ? 1 : 0);
    rest->s += used;
    rest->n -= used;
    return true;
}

/* Adds the pattern if it is valid; checking and adding must agree. */
static bool add(struct arena *arena, struct regex_set *set, struct patterns *p, struct subject text)
{
    char prefix[64];
    bool exact;
    uint32_t id;
    struct bk_err err = {0};
    if (p->glob) {
        char *converted = glob_to_regex(arena, text.s, text.n);
        require(converted != NULL);
        text = (struct subject){converted, strlen(converted)};
    }
    size_t n = regex_literal_prefix(text.s, text.n, prefix, sizeof(prefix), &exact);
    require(n <= sizeof(prefix));
    if (regex_set_add(set, text.s, text.n, &id, &err) < 0) {
        require(err.code == BK_E_LIMIT || err.code == BK_E_INPUT);
        require(err.code == BK_E_LIMIT || (err.col >= 1 && err.col <= text.n));
        return false;
    }
    require(regex_check(text.s, text.n, &err) == 0);
    p->text[p->n++] = text;
    return true;
}

static bool alone(struct patterns *p, size_t i, struct subject s)
{
    struct arena arena;
    arena_init(&arena, 64 << 20);
    struct regex_set *set = regex_set_new(&arena, p->fold, &limits);
    uint32_t id;
    const uint32_t *ids;
    require(regex_set_add(set, p->text[i].s, p->text[i].n, &id, NULL) == 0);
    require(regex_set_freeze(set, NULL) == 0);
    struct regex_cache *cache = regex_cache_new(set, 0);
    bool r = regex_match(set, cache, s.s, s.n, &ids) == 1;
    regex_cache_free(cache);
    arena_free(&arena);
    return r;
}

static void compare(struct patterns *p, const struct regex_set *set, struct regex_cache *large,
                    struct regex_cache *small, struct subject s)
{
    const uint32_t *a, *b;
    size_t na = regex_match(set, large, s.s, s.n, &a);
    size_t nb = regex_match(set, small, s.s, s.n, &b);
    require(na == nb && memcmp(a, b, na * sizeof(*a)) == 0);
    size_t at = 0;
    for (size_t i = 0; i < p->n; i++) {
        bool here = at < na && a[at] == i;
        require(here == alone(p, i, s));
        at += here;
    }
    require(at == na);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct patterns p = {.fold = data[0] & 1, .glob = data[0] & 2};
    struct subject rest = {(const char *)data + 1, size - 1}, line;
    struct arena arena;
    arena_init(&arena, 64 << 20);
    struct regex_set *set = regex_set_new(&arena, p.fold, &limits);
    while (p.n < PATTERNS_MAX && next_line(&rest, &line) && line.n)
        add(&arena, set, &p, line);
    require(regex_set_count(set) == p.n);
    require(regex_set_freeze(set, NULL) == 0);
    struct regex_cache *large = regex_cache_new(set, 1 << 20), *small = regex_cache_new(set, 1);
    for (int i = 0; i < 4 && next_line(&rest, &line); i++) {
        line.n = line.n < SUBJECT_MAX ? line.n : SUBJECT_MAX;
        compare(&p, set, large, small, line);
    }
    regex_cache_free(large);
    regex_cache_free(small);
    arena_free(&arena);
    return 0;
}
