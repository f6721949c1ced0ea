/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Buckle as a benchmark uses it: text → graph → cache → verdicts, through the library's own
 * functions. */

#include "bench.h"
#include "graph/eval.h"
#include "sbpl/sbpl.h"

struct graph *judge_load(const char *name, const char *text, size_t n,
                         const struct sbpl_param *params, size_t nparams)
{
    struct sbpl_options opt = {.params = params, .nparams = nparams, .os = VOCAB_OS_ANY};
    struct sbpl_unit unit;
    struct bk_err err;
    struct graph *g = NULL;
    sbpl_unit_init(&unit, &opt);
    if (sbpl_add_text(&unit, name, text, n, &err) < 0 || sbpl_compile(&unit, &g, &err) < 0)
        die("%s:%u: %s", name, err.line, err.msg);
    sbpl_unit_free(&unit);
    return g;
}

struct judge judge_new(const char *text, size_t n)
{
    struct judge j = {judge_load("bench.sb", text, n, NULL, 0), NULL};
    j.cache = need(graph_cache_new(j.graph));
    return j;
}

void judge_free(struct judge *j)
{
    graph_cache_free(j->cache);
    graph_free(j->graph);
}

bool judge_allows(const struct judge *j, const struct path *p)
{
    const struct graph_fact fact = {.filter = FILTER_PATH, .str = p->s, .len = p->len};
    const struct graph_query query = {.op = OP_FILE_READ_DATA, .facts = &fact, .nfacts = 1};
    return graph_eval(j->graph, j->cache, &query).allow;
}
