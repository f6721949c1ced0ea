/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Names the rule that decided, as one line of text or as JSON. */

#include "cli/profile/rule-print.h"

#include <string.h>

static const struct graph_rule_info *info_of(const struct graph *g, uint32_t rule)
{
    return rule < graph_rule_count(g) ? graph_rule_at(g, rule) : NULL;
}

void rule_text(const struct graph *g, uint32_t rule, struct buf *out)
{
    const struct graph_rule_info *r = info_of(g, rule);
    if (!r || r->is_default || (!r->origin.line && !r->implicit && !r->compiled)) {
        buf_str(out, "no rule matches: built-in default");
        return;
    }
    const char *text = r->origin.text ? r->origin.text : "";
    if (r->implicit) {
        buf_str(out, "implicit rule");
    } else {
        const char *file = r->origin.file ? r->origin.file : "";
        buf_safe(out, file, strlen(file));
        if (r->origin.line)
            buf_fmt(out, ":%u", r->origin.line);
    }
    if (*text) {
        buf_str(out, ": ");
        buf_safe(out, text, strlen(text));
    }
}

void rule_json(const struct graph *g, uint32_t rule, struct buf *out)
{
    const struct graph_rule_info *r = info_of(g, rule);
    const char *kind = !r || r->is_default ? "default"
                       : r->implicit       ? "implicit"
                       : r->compiled       ? "compiled"
                                           : "written";
    buf_fmt(out, "{\"kind\": \"%s\"", kind);
    if (r && r->origin.line) {
        const char *file = r->origin.file ? r->origin.file : "";
        buf_str(out, ", \"file\": ");
        buf_json(out, file, strlen(file));
        buf_fmt(out, ", \"line\": %u, \"column\": %u", r->origin.line, r->origin.col);
        if (r->origin.via_line)
            buf_fmt(out, ", \"via_line\": %u", r->origin.via_line);
    }
    if (r && r->origin.text) {
        buf_str(out, ", \"text\": ");
        buf_json(out, r->origin.text, strlen(r->origin.text));
    }
    buf_chr(out, '}');
}
