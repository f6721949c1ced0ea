/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The public library: a thin skin over the compiler and the graph. A profile is a frozen graph; a
 * judge is the memory that one thread needs to walk it, and remembers its last verdict.
 */

#include "api/api.h"

#include <stdlib.h>

#include "api/question.h"
#include "base/own.h"

struct buckle_profile {
    struct graph *graph;
};

struct buckle_judge {
    const struct graph *graph;
    struct graph_cache *cache;
    const struct graph_rule_info *rule; /* behind the last verdict; NULL when none was written */
};

const char *buckle_version(void)
{
    return BK_VERSION;
}

static struct sbpl_options sbpl_options_of(const struct buckle_options *o)
{
    if (!o)
        return (struct sbpl_options){.os = VOCAB_OS_ANY};
    return (struct sbpl_options){
        .params = o->params,
        .nparams = o->nparams,
        .import_dirs = o->dirs,
        .nimport_dirs = o->ndirs,
        .entitlements = o->entitlements,
        .os = VOCAB_OS_ANY,
        .fold_case = o->fold_case,
    };
}

/* Compiles what was added to the unit, unless adding it failed already. */
static struct buckle_profile *finish(struct sbpl_unit *unit, int added, struct bk_err *err,
                                     struct buckle_error **error)
{
    struct buckle_profile *p = calloc(1, sizeof(*p));
    if (!p)
        added = err_nomem(err);
    if (added < 0 || sbpl_compile(unit, &p->graph, err) < 0) {
        api_error(error, err, unit);
        free(p);
        return NULL;
    }
    return p;
}

struct buckle_profile *buckle_load_file(const char *path, const struct buckle_options *options,
                                        struct buckle_error **error)
{
    struct sbpl_options opt = sbpl_options_of(options);
    struct bk_err err;
    OWN(sbpl_unit) struct sbpl_unit unit;
    sbpl_unit_init(&unit, &opt);
    return finish(&unit, sbpl_add_file(&unit, path, &err), &err, error);
}

struct buckle_profile *buckle_load_text(const char *name, const char *text, size_t len,
                                        const struct buckle_options *options,
                                        struct buckle_error **error)
{
    struct sbpl_options opt = sbpl_options_of(options);
    struct bk_err err;
    OWN(sbpl_unit) struct sbpl_unit unit;
    sbpl_unit_init(&unit, &opt);
    return finish(&unit, sbpl_add_text(&unit, name, text, len, &err), &err, error);
}

void buckle_profile_free(struct buckle_profile *profile)
{
    if (!profile)
        return;
    graph_free(profile->graph);
    free(profile);
}

struct buckle_judge *buckle_judge_new(const struct buckle_profile *profile,
                                      struct buckle_error **error)
{
    struct buckle_judge *j = calloc(1, sizeof(*j));
    struct graph_cache *cache = j ? graph_cache_new(profile->graph) : NULL;
    if (!cache) {
        struct bk_err err;
        err_nomem(&err);
        api_error(error, &err, NULL);
        free(j);
        return NULL;
    }
    j->graph = profile->graph;
    j->cache = cache;
    return j;
}

void buckle_judge_free(struct buckle_judge *judge)
{
    if (!judge)
        return;
    graph_cache_free(judge->cache);
    free(judge);
}

static const struct graph_rule_info *written_rule(const struct graph *g, uint32_t rule)
{
    const struct graph_rule_info *r = rule < graph_rule_count(g) ? graph_rule_at(g, rule) : NULL;
    return r && r->origin.line ? r : NULL;
}

enum buckle_verdict buckle_judge(struct buckle_judge *judge, const char *operation,
                                 const char *const *arguments, size_t count,
                                 struct buckle_error **error)
{
    struct bk_err err;
    OWN(question) struct question q;
    judge->rule = NULL;
    if (question_parse(&q, operation, arguments, count, &err) < 0) {
        api_error(error, &err, NULL);
        return BUCKLE_FAILED;
    }
    struct graph_verdict v = graph_eval(judge->graph, judge->cache, &q.query);
    judge->rule = written_rule(judge->graph, v.rule);
    return v.allow ? BUCKLE_ALLOW : BUCKLE_DENY;
}

const char *buckle_rule_file(const struct buckle_judge *judge)
{
    return judge->rule ? judge->rule->origin.file : NULL;
}

unsigned buckle_rule_line(const struct buckle_judge *judge)
{
    return judge->rule ? judge->rule->origin.line : 0;
}

unsigned buckle_rule_column(const struct buckle_judge *judge)
{
    return judge->rule ? judge->rule->origin.col : 0;
}

const char *buckle_rule_text(const struct buckle_judge *judge)
{
    return judge->rule ? judge->rule->origin.text : NULL;
}

char *buckle_explain(struct buckle_judge *judge, const char *operation,
                     const char *const *arguments, size_t count, struct buckle_error **error)
{
    struct bk_err err;
    OWN(question) struct question q;
    if (question_parse(&q, operation, arguments, count, &err) < 0) {
        api_error(error, &err, NULL);
        return NULL;
    }
    struct buf text = {0};
    graph_explain_text(judge->graph, judge->cache, &q.query, &text);
    if (buf_ok(&text) && text.s)
        return text.s;
    err_nomem(&err);
    api_error(error, &err, NULL);
    buf_free(&text);
    return NULL;
}
