/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Which classes of protected names would have to be allowed for a denied operation to succeed. The
 * answer is tried on the graph: a class whose permission leads to the next denial helps nobody.
 */

#include <string.h>

#include "report/report-int.h"

enum protected_class rule_class(const struct graph *g, uint32_t rule)
{
    return protected_class_of_message(rule_message(g, rule));
}

unsigned group_classes(const struct graph *decided, const struct graph *now,
                       struct graph_cache *cache, const struct group *group)
{
    struct graph_fact facts[1 + PROTECTED_CLASSES] = {
        {.filter = FILTER_PATH, .str = group->path, .len = group->path_len}};
    struct graph_query q = {.op = group->op, .facts = facts};
    unsigned set = 0;
    enum protected_class class = rule_class(decided, group->rule);
    /* each turn adds a class, or is the last */
    while (cache && class != PROTECTED_NO_CLASS && !(set >> class & 1) &&
           !(graph_options_of(now)->kept >> class & 1)) {
        set |= 1u << class;
        q.nfacts = 1 + graph_class_facts(set, facts + 1);
        struct graph_verdict v = graph_eval(now, cache, &q);
        if (v.allow)
            return set;
        class = rule_class(now, v.rule);
    }
    return 0;
}
