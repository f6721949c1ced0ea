/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * How a deciding rule is told to a person: where it was written and, when its author left one, the
 * reason in words. A message is kept with the rule's decision, so it is found by looking through
 * the graph's decisions; denials are few, and nothing has to be kept beside the graph.
 */

#include <string.h>

#include "report/report-int.h"

const struct graph_rule_info *rule_info(const struct graph *g, uint32_t rule)
{
    return g && rule < graph_rule_count(g) ? graph_rule_at(g, rule) : NULL;
}

const char *rule_message(const struct graph *g, uint32_t rule)
{
    uint32_t n = rule_info(g, rule) ? graph_node_count(g) : 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct graph_node *node = graph_node_at(g, i);
        if (node->kind != GRAPH_NODE_DECISION || node->rule != rule)
            continue;
        for (uint32_t k = 0; k < node->nmods; k++) {
            const struct graph_mod *mod = graph_mod_at(g, node->mods + k);
            if (mod->id == MOD_MESSAGE && mod->str)
                return mod->str;
        }
    }
    return NULL;
}

bool rule_guards(const struct graph *g, uint32_t rule)
{
    const struct graph_rule_info *info = rule_info(g, rule);
    return info && info->filtered && !info->allow && rule_message(g, rule);
}

void rule_place(const struct graph *g, uint32_t rule, struct buf *out)
{
    const struct graph_rule_info *info = rule_info(g, rule);
    if (!info || info->is_default || (!info->origin.line && !info->implicit)) {
        buf_str(out, "no rule allows it");
        return;
    }
    if (info->implicit) {
        buf_str(out, "implicit rule");
        return;
    }
    const char *file = info->origin.file ? info->origin.file : "";
    const char *slash = strrchr(file, '/');
    file = slash && slash[1] ? slash + 1 : file;
    buf_safe(out, file, strlen(file));
    buf_fmt(out, ":%u", info->origin.line);
}
