/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The public library: a thin layer over the compiler and the graph. A profile is a frozen graph; a
 * judge is the memory that one thread needs to walk it, and keeps its last verdict.
 */

#include "analyze/analyze.h"
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/stack.h"
#include "api/question.h"
#include "base/own.h"
#include "profile/profile.h"

struct buckle_profile {
    struct graph *graph;
    char *name;
};

/* The profile that it was made for is the last layer; platforms come before it. */
struct buckle_judge {
    struct graph_layer *layers;
    struct graph_extension *extensions;
    struct graph_stack stack;
    size_t decided; /* that decided the last verdict */
    const struct graph_rule_info
        *rule; /* that decided the last verdict; NULL if none was written */
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
    const struct source *first = sbpl_text_at(unit, 0);
    if (!p || !(p->name = strdup(first ? first->name : "")))
        added = err_nomem(err);
    if (added < 0 || profile_compile(unit, &p->graph, NULL, err) < 0) {
        api_error(error, err, unit);
        buckle_profile_free(p);
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
    free(profile->name);
    free(profile);
}

/* Inserts a layer before the last. */
static int add_layer(struct buckle_judge *j, const char *role, const struct buckle_profile *profile)
{
    size_t n = j->stack.nlayers;
    struct graph_layer *layers = realloc(j->layers, (n + 1) * sizeof(*layers));
    if (!layers)
        return -1;
    j->layers = layers;
    j->stack.layers = layers;
    struct graph_cache *cache = graph_cache_new(profile->graph);
    if (!cache)
        return -1;
    if (n)
        layers[n] = layers[n - 1];
    layers[n ? n - 1 : 0] = (struct graph_layer){
        .role = role, .name = profile->name, .graph = profile->graph, .cache = cache};
    j->stack.nlayers++;
    return 0;
}

struct buckle_judge *buckle_judge_new(const struct buckle_profile *profile,
                                      struct buckle_error **error)
{
    struct buckle_judge *j = calloc(1, sizeof(*j));
    if (j && add_layer(j, "profile", profile) == 0)
        return j;
    struct bk_err err;
    err_nomem(&err);
    api_error(error, &err, NULL);
    buckle_judge_free(j);
    return NULL;
}

int buckle_judge_platform(struct buckle_judge *judge, const struct buckle_profile *platform)
{
    return add_layer(judge, "platform", platform);
}

int buckle_judge_extension(struct buckle_judge *judge, const char *kind, const char *value)
{
    size_t n = judge->stack.nextensions;
    struct graph_extension *more = realloc(judge->extensions, (n + 1) * sizeof(*more));
    if (!more)
        return -1;
    judge->extensions = more;
    judge->stack.extensions = more;
    char *kind_copy = strdup(kind), *value_copy = value ? strdup(value) : NULL;
    if (!kind_copy || (value && !value_copy)) {
        free(kind_copy);
        free(value_copy);
        return -1;
    }
    more[n] = (struct graph_extension){.kind = kind_copy, .value = value_copy};
    judge->stack.nextensions++;
    return 0;
}

void buckle_judge_revoke(struct buckle_judge *judge)
{
    for (size_t i = 0; i < judge->stack.nextensions; i++) {
        free((char *)judge->extensions[i].kind);
        free((char *)judge->extensions[i].value);
    }
    judge->stack.nextensions = 0;
}

void buckle_judge_free(struct buckle_judge *judge)
{
    if (!judge)
        return;
    buckle_judge_revoke(judge);
    for (size_t i = 0; i < judge->stack.nlayers; i++)
        graph_cache_free(judge->layers[i].cache);
    free(judge->layers);
    free(judge->extensions);
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
    OWN(mem)
    struct graph_fact *facts =
        calloc(q.query.nfacts + judge->stack.nextensions + 1, sizeof(*facts));
    if (!facts) {
        err_nomem(&err);
        api_error(error, &err, NULL);
        return BUCKLE_FAILED;
    }
    struct graph_query asked = graph_stack_query(&judge->stack, &q.query, facts);
    struct graph_stack_verdict v = graph_stack_eval(&judge->stack, &asked);
    judge->decided = v.layer;
    judge->rule = written_rule(judge->layers[v.layer].graph, v.verdict.rule);
    return v.verdict.allow ? BUCKLE_ALLOW : BUCKLE_DENY;
}

unsigned buckle_rule_layer(const struct buckle_judge *judge)
{
    return judge->decided + 1 == judge->stack.nlayers ? 0 : (unsigned)judge->decided + 1;
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
    if (judge->stack.nlayers == 1 && !judge->stack.nextensions)
        graph_explain_text(judge->layers[0].graph, judge->layers[0].cache, &q.query, &text);
    else
        graph_stack_explain_text(&judge->stack, &q.query, &text);
    if (buf_ok(&text) && text.s)
        return text.s;
    err_nomem(&err);
    api_error(error, &err, NULL);
    buf_free(&text);
    return NULL;
}
