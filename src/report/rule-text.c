/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * How a rule appears in reports: its file and line, and its message if it has one. Messages belong
 * to decisions, so finding one means searching the graph's decisions. Denials are few, so that
 * needs no index.
 */

#include <string.h>

#include "report/report-int.h"

const struct graph_rule_info *rule_info(const struct graph *g, uint32_t rule)
{
    return g && rule < graph_rule_count(g) ? graph_rule_at(g, rule) : NULL;
}

const char *rule_message(const struct graph *g, uint32_t rule)
{
    return g ? graph_rule_message(g, rule) : NULL;
}

bool rule_protects(const struct graph *g, uint32_t rule)
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
