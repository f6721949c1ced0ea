/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Samples of strings: kinds of arguments that are found without the automaton of all patterns. For
 * each test there are strings that it accepts, and for paths also what names accept below folders
 * that others accept. They prove nothing, but most differences show in them, much sooner than in
 * all kinds; and some policies have too many kinds to try them all.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/diff-int.h"
#include "base/own.h"
#include "graph/words.h"

enum {
    MAX_SAMPLES = 6000,
    MAX_FOLDERS = 64, /* whose names are tried */
    MAX_NAMES = 64,
    PATTERN_STATES = 4000,
};

struct sampler {
    struct diff_tests *t;
    struct dimension *d;
    uint16_t filter;
    uint64_t *set;
    struct regex_set *all;
    struct regex_cache *cache;
    uint32_t n;
    bool failed;
};

static void add_sample(struct sampler *s, const char *text, size_t len)
{
    const uint32_t *ids;
    struct kind k = {.fact = {.filter = s->filter, .str = text, .len = (uint32_t)len}};
    if (s->failed || s->n++ >= MAX_SAMPLES)
        return;
    size_t n = regex_match(s->all, s->cache, text, len, &ids);
    s->failed = !diff_add_kind(s->t, s->d, ids, n, s->set, &k);
}

/* ---- one pattern ---- */

struct found {
    struct arena *arena;
    const char *s;
    size_t len;
};

static bool first_match(void *arg, const uint32_t *ids, size_t n, const char *s, size_t len)
{
    struct found *f = arg;
    (void)ids;
    if (n == 0)
        return true;
    f->s = arena_strndup(f->arena, s, len);
    f->len = len;
    return false; /* one is enough */
}

/* A shortest string that a pattern accepts. */
static bool match_of(const struct sampler *s, const struct graph_test *t, struct found *out)
{
    OWN(buf) struct buf pattern = {0};
    OWN(arena) struct arena scratch;
    bool fold = s->t->fold && vocab_filter_is_path(s->filter);
    uint32_t id;
    arena_init(&scratch, 8 << 20);
    graph_test_regex(t, &pattern);
    struct regex_set *one = regex_set_new(&scratch, fold, NULL);
    if (!one || !buf_ok(&pattern) || regex_set_add(one, pattern.s, pattern.n, &id, NULL) < 0 ||
        regex_set_freeze(one, NULL) < 0)
        return false;
    regex_explore(one, PATTERN_STATES, first_match, out);
    return out->s != NULL;
}

static bool accepted(const struct sampler *s, const struct graph_test *t, struct found *out)
{
    *out = (struct found){.arena = s->t->arena};
    if (t->how == GRAPH_REGEX)
        return match_of(s, t, out);
    out->s = t->str;
    out->len = t->len;
    return true;
}

static void add_joined(struct sampler *s, const struct found *a, const char *b, size_t n)
{
    char text[1024];
    size_t len = a->len;
    bool path = vocab_filter_is_path(s->filter), slash = path && n && b[0] != '/';
    while (path && len && a->s[len - 1] == '/')
        len--;
    if (len + slash + n > sizeof(text))
        return;
    memcpy(text, a->s, len);
    if (slash)
        text[len++] = '/';
    memcpy(text + len, b, n);
    add_sample(s, text, len + n);
}

/* ---- all of them ---- */

static bool is_folder(const struct graph_test *t)
{
    return t->how == GRAPH_SUBPATH || t->how == GRAPH_PREFIX;
}

static void sample_tests(struct sampler *s)
{
    struct found *folders = arena_array(s->t->arena, MAX_FOLDERS, sizeof(*folders));
    struct found *names = arena_array(s->t->arena, MAX_NAMES, sizeof(*names));
    uint32_t nfolders = 0, nnames = 0;
    bool path = vocab_filter_is_path(s->filter);
    s->failed = !folders || !names;
    add_sample(s, path ? "/x" : "x", path ? 2 : 1);
    for (uint32_t i = 0; i < s->d->ntests && !s->failed; i++) {
        const struct graph_test *t = s->t->at[s->d->tests[i]];
        struct found f;
        if (!accepted(s, t, &f))
            continue;
        add_sample(s, f.s, f.len);
        add_joined(s, &f, path ? "/x" : "x", path ? 2 : 1);
        if (is_folder(t) && nfolders < MAX_FOLDERS)
            folders[nfolders++] = f;
        if (t->how == GRAPH_REGEX && f.len && nnames < MAX_NAMES)
            names[nnames++] = f;
    }
    for (uint32_t i = 0; i < nfolders && path; i++)
        for (uint32_t k = 0; k < nnames; k++)
            add_joined(s, &folders[i], names[k].s, names[k].len);
}

bool diff_sample_strings(struct diff_tests *t, struct dimension *d, uint16_t filter, uint64_t *set)
{
    struct sampler s = {.t = t, .d = d, .filter = filter, .set = set};
    s.all = diff_strings(t, d, filter);
    s.cache = s.all ? regex_cache_new(s.all, 0) : NULL;
    d->partial = true;
    if (s.cache)
        sample_tests(&s);
    regex_cache_free(s.cache);
    return s.cache && !s.failed;
}
