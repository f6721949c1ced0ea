/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Policy graph → SBPL, in four steps: merge equal decisions (decompile-dag.c), turn each
 * operation's part into a list of rules (decompile-rules.c), read conditions from pieces of graph
 * (decompile-expr.c), and print (decompile-print.c). Nothing here uses the graph's recorded rules:
 * compiled profiles have none.
 */

#include "analyze/decompile.h"

#include "analyze/decompile-int.h"
#include "base/own.h"

enum { MAX_BYTES = 512 << 20 };

static bool was_compiled(const struct graph *g)
{
    return graph_rule_count(g) && graph_rule_at(g, graph_rule_count(g) - 1)->compiled;
}

/* Writes only message filters that some decision names. */
static int read_nested(struct dc *c, struct dc_rules *nested)
{
    for (uint32_t p = 1; p <= graph_policy_count(c->g); p++)
        if (c->policy_of[p] == p && dc_rules_make(c, p, NULL, &nested[p - 1]) < 0)
            return -1;
    return 0;
}

static int decompile(struct dc *c, const struct decompile_options *opt, struct buf *out)
{
    struct dc_rules profile = {0};
    if (dc_dag_make(c) < 0)
        return -1;
    c->version = graph_options_of(c->g)->version;
    if (was_compiled(c->g) && dc_version_guess(c, opt->ops) < 0)
        return -1;
    struct dc_rules *nested =
        arena_array(&c->arena, graph_policy_count(c->g) + 1u, sizeof(*nested));
    if (!nested)
        return err_nomem(c->err);
    if (read_nested(c, nested) < 0 || dc_rules_make(c, 0, opt->ops, &profile) < 0)
        return -1;
    return dc_print(c, &profile, nested, opt, out);
}

int sbpl_decompile(const struct graph *g, const struct decompile_options *opt, struct buf *out,
                   struct bk_err *err)
{
    static const struct decompile_options nothing;
    struct bk_err unused;
    struct dc c = {.g = g, .err = err ? err : &unused, .op = OP_DEFAULT};
    struct buf text = {0};
    arena_init(&c.arena, MAX_BYTES);
    int r = decompile(&c, opt ? opt : &nothing, &text);
    if (r == 0)
        buf_add(out, text.s, text.n);
    arena_free(&c.arena);
    buf_free(&text);
    return r;
}
