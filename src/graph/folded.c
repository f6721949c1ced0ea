/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The same policy for case-insensitive file systems. It shares rules and decisions with the
 * original graph. Tests of paths ignore case; tests that become equal are merged, because matching
 * finds one test per string.
 */

#include <stdlib.h>
#include <string.h>

#include "graph/eval.h"
#include "graph/graph-int.h"

enum { FOLDED_BYTES = 256 << 20 };

static bool is_folded(const struct graph_test *t)
{
    return vocab_filter_is_path(t->filter) && graph_how_is_string(t->how) && t->how != GRAPH_REGEX;
}

static int lower_tests(struct graph *f)
{
    for (uint32_t i = 0; i < f->ntests; i++) {
        struct graph_test *t = &f->tests[i];
        if (!is_folded(t))
            continue;
        char *s = arena_strndup(&f->arena, t->str, t->len);
        if (!s)
            return -1;
        for (uint32_t k = 0; k < t->len; k++)
            if (s[k] >= 'A' && s[k] <= 'Z')
                s[k] = (char)(s[k] - 'A' + 'a');
        t->str = s;
    }
    return 0;
}

/* Sorts string tests that are now equal next to each other; all other tests differ. */
static int compare_tests(const struct graph_test *a, const struct graph_test *b)
{
    if (a->filter != b->filter || a->how != b->how)
        return a->filter != b->filter ? a->filter - b->filter : a->how - b->how;
    if (!is_folded(a))
        return (a > b) - (a < b);
    int c = memcmp(a->str, b->str, a->len < b->len ? a->len : b->len);
    return c ? c : (a->len > b->len) - (a->len < b->len);
}

static int by_test(const void *a, const void *b)
{
    const struct graph_test *const *x = a, *const *y = b;
    return compare_tests(*x, *y);
}

/* Makes nodes use the first of the tests that are now equal. */
static int join_tests(struct graph *f)
{
    struct graph_test **list = malloc(((size_t)f->ntests + 1) * sizeof(*list));
    uint32_t *first = malloc(((size_t)f->ntests + 1) * sizeof(*first));
    for (uint32_t i = 0; list && i < f->ntests; i++)
        list[i] = &f->tests[i];
    if (list && first)
        qsort(list, f->ntests, sizeof(*list), by_test);
    for (uint32_t i = 0; list && first && i < f->ntests; i++) {
        uint32_t test = (uint32_t)(list[i] - f->tests);
        bool same = i && compare_tests(list[i - 1], list[i]) == 0;
        first[test] = same ? first[list[i - 1] - f->tests] : test;
    }
    for (uint32_t i = 0; list && first && i < f->nnodes; i++)
        if (f->nodes[i].kind == GRAPH_NODE_FILTER)
            f->nodes[i].test = first[f->nodes[i].test];
    /* drop tests that no node uses any more, or matching would find them instead */
    for (uint32_t i = 0; list && first && i < f->ntests; i++)
        if (first[i] != i)
            f->tests[i] = (struct graph_test){.filter = f->tests[i].filter, .how = GRAPH_FLAG};
    int r = list && first ? 0 : -1;
    free(list);
    free(first);
    return r;
}

void graph_folded_free(struct graph *f)
{
    if (!f)
        return;
    pthread_mutex_destroy(&f->lock);
    arena_free(&f->arena);
    free(f);
}

struct graph *graph_folded(const struct graph *g)
{
    struct graph *f = malloc(sizeof(*f));
    if (!f)
        return NULL;
    *f = *g;
    arena_init(&f->arena, FOLDED_BYTES);
    pthread_mutex_init(&f->lock, NULL);
    f->opt.fold_case = true;
    graph_forget_index(f);
    f->nodes = arena_dup(&f->arena, g->nodes, g->nnodes * sizeof(*g->nodes));
    f->tests = arena_dup(&f->arena, g->tests, g->ntests * sizeof(*g->tests));
    if (f->nodes && f->tests && lower_tests(f) == 0 && join_tests(f) == 0)
        return f;
    graph_folded_free(f);
    return NULL;
}
