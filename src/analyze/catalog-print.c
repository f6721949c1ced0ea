/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Catalogs as text and JSON. */

#include <string.h>

#include "analyze/catalog-int.h"
#include "graph/build.h"
#include "graph/words.h"
#include "vocab/os.h"

enum { WIDTH = 96 };

static const struct {
    const char *name, *words;
} terms[ALLOW_TERMS] = {
    [ALLOW_FREELY] = {"freely", NULL},
    [ALLOW_ASKED] = {"asked", "once the user agrees"},
    [ALLOW_FILTERED] = {"filtered", "some messages only"},
    [ALLOW_OUTSIDE] = {"outside", "outside this sandbox"},
};

/* ---- operations ---- */

static uint32_t entry_of(const struct catalog *c, uint32_t op)
{
    for (uint32_t i = 0; i < c->n; i++)
        for (uint32_t k = 0; k < c->entries[i].nops; k++)
            if (c->entries[i].ops[k] == op)
                return i;
    return CATALOG_NONE;
}

/* Whether all operations below op are allowed as it is, so that its name represents them. */
static bool is_whole(const uint32_t groups[OP_COUNT], uint32_t op)
{
    for (uint32_t below = 0; below < OP_COUNT; below++)
        if (groups[below] != CATALOG_NONE && groups[below] != groups[op] &&
            vocab_op_is_within((enum vocab_op)below, (enum vocab_op)op))
            return false;
    return true;
}

static bool has_star(const char *name)
{
    return name[strlen(name) - 1] == '*';
}

/* Whether it is only a group name. Operations that are checked themselves have, or once had, a name
 * without a star: process-exec* was process-exec. */
static bool is_group(uint32_t op)
{
    for (int os = 0; os < VOCAB_OS_COUNT; os++) {
        const char *name = vocab_op_name_in((enum vocab_op)op, (enum vocab_os)os);
        if (vocab_ops[op].ids[os] >= 0 && !has_star(name))
            return false;
    }
    return has_star(vocab_ops[op].name);
}

static bool is_named(const uint32_t groups[OP_COUNT], uint32_t op)
{
    uint32_t up = vocab_ops[op].parent;
    for (; up < OP_COUNT; up = vocab_ops[up].parent)
        if (groups[up] == groups[op] && has_star(vocab_ops[up].name) && is_whole(groups, up))
            return false;
    return is_whole(groups, op) || !is_group(op);
}

/* A family's head that represents no other operation is named only if it would be alone. */
static bool names_any(const uint32_t groups[OP_COUNT], const uint16_t *ops, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (is_named(groups, ops[i]))
            return true;
    return false;
}

void catalog_print_ops(const uint32_t groups[OP_COUNT], const uint16_t *ops, uint32_t n, size_t col,
                       struct buf *out)
{
    bool any = names_any(groups, ops, n), later = false;
    size_t indent = col;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = vocab_ops[ops[i]].name;
        if (any && !is_named(groups, ops[i]))
            continue;
        if (later)
            buf_chr(out, ',');
        col += strlen(name) + 2;
        if (later && col > WIDTH) {
            buf_fmt(out, "\n%*s", (int)indent, "");
            col = indent + strlen(name) + 2;
        } else if (later) {
            buf_chr(out, ' ');
        }
        buf_str(out, name);
        later = true;
    }
    buf_str(out, any ? "\n" : " itself\n");
}

/* ---- words ---- */

/* "/usr and below" for the operation's subject, "local service name x" for anything else. */
static void print_item(const struct graph_test *t, enum vocab_filter subject, struct buf *out)
{
    bool named = t->filter != subject || t->how == GRAPH_FLAG;
    if (named)
        buf_str(out, graph_filter_noun(t->filter));
    if (named && t->how != GRAPH_FLAG)
        buf_chr(out, ' ');
    graph_test_briefly(t, out);
}

static void print_condition(const struct graph_expr *e, bool outermost, struct buf *out)
{
    if (e->kind == GRAPH_TEST || e->kind == GRAPH_NOT) {
        bool holds = e->kind == GRAPH_TEST;
        graph_test_describe(holds ? &e->test : &e->kids[0]->test, holds, out);
        return;
    }
    if (!outermost)
        buf_chr(out, '(');
    for (uint32_t i = 0; i < e->nkids; i++) {
        if (i)
            buf_str(out, e->kind == GRAPH_ALL ? " and " : " or ");
        print_condition(e->kids[i], false, out);
    }
    if (!outermost)
        buf_chr(out, ')');
}

static void print_conditions(const struct catalog_clause *c, enum vocab_filter subject, int indent,
                             struct buf *out)
{
    for (uint32_t i = 0; i < c->nall; i++) {
        buf_fmt(out, "%*swhen ", indent, "");
        print_condition(c->all[i], true, out);
        buf_chr(out, '\n');
    }
    for (uint32_t i = 0; i < c->nexcept; i++) {
        const struct graph_expr *e = c->except[i];
        buf_fmt(out, "%*sexcept %s", indent, "", e->kind == GRAPH_TEST ? "" : "when ");
        if (e->kind == GRAPH_TEST)
            print_item(&e->test, subject, out);
        else
            print_condition(e, true, out);
        buf_chr(out, '\n');
    }
    if (terms[c->terms].words)
        buf_fmt(out, "%*s%s\n", indent, "", terms[c->terms].words);
}

static void print_clause(const struct catalog_clause *c, enum vocab_filter subject, int indent,
                         struct buf *out)
{
    bool plain = c->nall == 0 && c->nexcept == 0 && !terms[c->terms].words;
    bool block = c->nany > 1 && !plain;
    if (block)
        buf_fmt(out, "%*sany of\n", indent, "");
    for (uint32_t i = 0; i < c->nany; i++) {
        buf_fmt(out, "%*s", indent + (block ? 2 : 0), "");
        print_item(&c->any[i]->test, subject, out);
        buf_chr(out, '\n');
    }
    if (c->nany == 0)
        buf_fmt(out, "%*sanything\n", indent, "");
    print_conditions(c, subject, indent + 2, out);
}

static bool has_extension(const struct catalog_entry *e)
{
    for (uint32_t i = 0; i < e->nclauses; i++)
        if (e->clauses[i].extension)
            return true;
    return false;
}

void catalog_print_clauses(const struct catalog_entry *e, int indent, struct buf *out)
{
    enum vocab_filter subject = vocab_op_subject((enum vocab_op)e->ops[0]);
    for (uint32_t i = 0; i < e->nclauses; i++)
        if (!e->clauses[i].extension)
            print_clause(&e->clauses[i], subject, indent, out);
    if (!has_extension(e))
        return;
    buf_fmt(out, "%*swith an extension\n", indent, "");
    for (uint32_t i = 0; i < e->nclauses; i++)
        if (e->clauses[i].extension)
            print_clause(&e->clauses[i], subject, indent + 2, out);
}

static bool may(const struct catalog *c, uint32_t family)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->entries[i].family == family && c->entries[i].nclauses)
            return true;
    return false;
}

static bool is_listed(const struct catalog *c, uint32_t family)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->entries[i].family == family)
            return true;
    return false;
}

static void print_family(const struct catalog *c, uint32_t family, const uint32_t groups[OP_COUNT],
                         struct buf *out)
{
    buf_fmt(out, "may %s\n", catalog_family_words((enum catalog_family)family));
    for (int allowed = 1; allowed >= 0; allowed--)
        for (uint32_t i = 0; i < c->n; i++) {
            const struct catalog_entry *e = &c->entries[i];
            if (e->family != family || (e->nclauses > 0) != allowed ||
                (!allowed && !names_any(groups, e->ops, e->nops)))
                continue;
            buf_str(out, allowed ? "  " : "  not ");
            catalog_print_ops(groups, e->ops, e->nops, allowed ? 2 : 6, out);
            catalog_print_clauses(e, 4, out);
        }
}

void catalog_print_text(const struct catalog *c, struct buf *out)
{
    uint32_t groups[OP_COUNT];
    const char *head = "may not\n";
    for (uint32_t op = 0; op < OP_COUNT; op++)
        groups[op] = entry_of(c, op);
    for (uint32_t f = 0; f < CATALOG_FAMILIES; f++)
        if (may(c, f))
            print_family(c, f, groups, out);
    for (uint32_t f = 0; f < CATALOG_FAMILIES; f++)
        if (is_listed(c, f) && !may(c, f)) {
            buf_fmt(out, "%s  %s\n", head, catalog_family_words((enum catalog_family)f));
            head = "";
        }
    if (c->fold_case)
        buf_str(out, "Case is ignored in paths.\n");
}

/* ---- JSON ---- */

static void expr_json(const struct graph_expr *e, struct buf *out)
{
    if (e->kind == GRAPH_TEST) {
        graph_test_json(&e->test, out);
        return;
    }
    if (e->kind == GRAPH_NOT) {
        buf_str(out, "{\"not\": ");
        graph_test_json(&e->kids[0]->test, out);
        buf_chr(out, '}');
        return;
    }
    buf_fmt(out, "{\"%s\": [", e->kind == GRAPH_ALL ? "all" : "any");
    for (uint32_t i = 0; i < e->nkids; i++) {
        buf_str(out, i ? ", " : "");
        expr_json(e->kids[i], out);
    }
    buf_str(out, "]}");
}

static void list_json(const char *key, const struct graph_expr *const *list, uint32_t n,
                      struct buf *out)
{
    buf_fmt(out, ", \"%s\": [", key);
    for (uint32_t i = 0; i < n; i++) {
        buf_str(out, i ? ", " : "");
        expr_json(list[i], out);
    }
    buf_chr(out, ']');
}

static void clauses_json(const struct catalog_entry *e, bool extension, struct buf *out)
{
    const char *comma = "";
    for (uint32_t i = 0; i < e->nclauses; i++) {
        const struct catalog_clause *c = &e->clauses[i];
        if (c->extension != extension)
            continue;
        buf_fmt(out, "%s\n        {\"terms\": \"%s\"", comma, terms[c->terms].name);
        list_json("any", c->any, c->nany, out);
        list_json("all", c->all, c->nall, out);
        list_json("except", c->except, c->nexcept, out);
        buf_chr(out, '}');
        comma = ",";
    }
}

void catalog_ops_json(const uint16_t *ops, uint32_t n, struct buf *out)
{
    buf_str(out, "\"operations\": [");
    for (uint32_t i = 0; i < n; i++)
        buf_fmt(out, "%s\"%s\"", i ? ", " : "", vocab_ops[ops[i]].name);
    buf_chr(out, ']');
}

void catalog_clauses_json(const struct catalog_entry *e, struct buf *out)
{
    buf_str(out, "\"allowed\": [");
    clauses_json(e, false, out);
    buf_str(out, "], \"with_extension\": [");
    clauses_json(e, true, out);
    buf_chr(out, ']');
}

void catalog_family_json(enum catalog_family family, const char **comma, struct buf *out)
{
    buf_fmt(out, "%s\n  {\"family\": \"%s\", \"words\": \"may %s\", \"entries\": [\n", *comma,
            catalog_family_name(family), catalog_family_words(family));
    *comma = ",";
}

void catalog_print_json(const struct catalog *c, const char *name, struct buf *out)
{
    const char *comma = "";
    buf_str(out, "{\"profile\": ");
    buf_json(out, name, strlen(name));
    buf_fmt(out, ", \"fold_case\": %s, \"families\": [", c->fold_case ? "true" : "false");
    for (uint32_t i = 0; i < c->n; i++) {
        const struct catalog_entry *e = &c->entries[i];
        if (i == 0 || e[-1].family != e->family)
            catalog_family_json(e->family, &comma, out);
        buf_str(out, "      {");
        catalog_ops_json(e->ops, e->nops, out);
        buf_str(out, ", ");
        catalog_clauses_json(e, out);
        bool last = i + 1 == c->n || e[1].family != e->family;
        buf_str(out, last ? "}]}" : "},\n");
    }
    buf_str(out, "]}");
}
