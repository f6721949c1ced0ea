/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Differences between catalogs, and between versions of the vocabulary, as text and JSON. */

#include <string.h>

#include "analyze/catalog-int.h"
#include "graph/eval.h"
#include "vocab/os.h"

/* ---- two policies, as text ---- */

static void print_side(const char *head, const struct catalog_entry *e, struct buf *out)
{
    if (e->nclauses == 0)
        return;
    buf_fmt(out, "    %s\n", head);
    catalog_print_clauses(e, 6, out);
}

static void print_facts(const struct catalog_witness *w, struct buf *out)
{
    for (size_t i = 0; i < w->nfacts; i++) {
        buf_chr(out, ' ');
        graph_fact_print(&w->facts[i], out);
    }
}

static void print_witness(const struct catalog_witness *w, struct buf *out)
{
    if (w->kind == CATALOG_UNDECIDED)
        buf_str(out, "    could not decide whether this makes a difference\n");
    if (w->kind != CATALOG_SHOWN)
        return;
    buf_fmt(out, "    for instance %s", vocab_ops[w->op].name);
    print_facts(w, out);
    buf_str(out, w->allowed ? ": no longer\n" : ": now\n");
}

static void group_changes(const struct catalog_diff *d, uint32_t groups[OP_COUNT])
{
    for (uint32_t op = 0; op < OP_COUNT; op++)
        groups[op] = vocab_ops[op].message_filter ? CATALOG_NONE : d->n; /* d->n: allowed alike */
    for (uint32_t i = 0; i < d->n; i++)
        for (uint32_t k = 0; k < d->changes[i].nops; k++)
            groups[d->changes[i].ops[k]] = i;
}

void catalog_diff_print_text(const struct catalog_diff *d, struct buf *out)
{
    uint32_t groups[OP_COUNT];
    group_changes(d, groups);
    for (uint32_t i = 0; i < d->n; i++) {
        const struct catalog_change *c = &d->changes[i];
        if (i == 0 || c[-1].family != c->family)
            buf_fmt(out, "may %s\n", catalog_family_words(c->family));
        buf_str(out, "  ");
        catalog_print_ops(groups, c->ops, c->nops, 2, out);
        print_side("no longer", &c->gone, out);
        print_side("now", &c->added, out);
        print_witness(&c->witness, out);
    }
}

/* ---- two policies, as JSON ---- */

static void witness_json(const struct catalog_witness *w, struct buf *out)
{
    struct buf words = {0};
    if (w->kind != CATALOG_SHOWN) {
        buf_str(out, "null");
        return;
    }
    print_facts(w, &words);
    buf_fmt(out, "{\"operation\": \"%s\", \"facts\": ", vocab_ops[w->op].name);
    buf_json(out, words.n ? words.s + 1 : "", words.n ? words.n - 1 : 0);
    buf_fmt(out, ", \"verdicts\": [\"%s\", \"%s\"]}", w->allowed ? "allow" : "deny",
            w->allowed ? "deny" : "allow");
    buf_free(&words);
}

static void change_json(const struct catalog_change *c, struct buf *out)
{
    buf_str(out, "      {");
    catalog_ops_json(c->ops, c->nops, out);
    buf_str(out, ", \"gone\": {");
    catalog_clauses_json(&c->gone, out);
    buf_str(out, "}, \"new\": {");
    catalog_clauses_json(&c->added, out);
    buf_str(out, "}, \"witness\": ");
    witness_json(&c->witness, out);
    buf_chr(out, '}');
}

void catalog_diff_print_json(const struct catalog_diff *d, const char *const names[2],
                             struct buf *out)
{
    const char *comma = "";
    buf_str(out, "{\"profiles\": [");
    for (int s = 0; s < 2; s++) {
        buf_str(out, s ? ", " : "");
        buf_json(out, names[s], strlen(names[s]));
    }
    buf_str(out, "], \"families\": [");
    for (uint32_t i = 0; i < d->n; i++) {
        const struct catalog_change *c = &d->changes[i];
        if (i == 0 || c[-1].family != c->family)
            catalog_family_json(c->family, &comma, out);
        change_json(c, out);
        buf_str(out, i + 1 == d->n || c[1].family != c->family ? "]}" : ",\n");
    }
    buf_str(out, "]}");
}

/* ---- two versions of the vocabulary ---- */

static const char *const change_words[] = {
    [VOCAB_ADDED] = "new", [VOCAB_GONE] = "gone", [VOCAB_RENAMED] = "renamed"};

static bool is_change(uint32_t op, uint32_t family, enum vocab_change kind, enum vocab_os from,
                      enum vocab_os to)
{
    return catalog_family_of((enum vocab_op)op) == family &&
           vocab_op_change((enum vocab_op)op, from, to) == kind;
}

/* Calls each for every change in a family; the number counts the earlier ones in that family. */
typedef void change_fn(uint32_t op, enum vocab_change kind, enum vocab_os from, enum vocab_os to,
                       uint32_t number, struct buf *out);

static uint32_t each_change(uint32_t family, enum vocab_os from, enum vocab_os to, change_fn *each,
                            struct buf *out)
{
    uint32_t n = 0;
    for (enum vocab_change kind = VOCAB_ADDED; kind <= VOCAB_RENAMED; kind++)
        for (uint32_t op = 0; op < OP_COUNT; op++)
            if (is_change(op, family, kind, from, to))
                each(op, kind, from, to, n++, out);
    return n;
}

static void change_text(uint32_t op, enum vocab_change kind, enum vocab_os from, enum vocab_os to,
                        uint32_t number, struct buf *out)
{
    if (number == 0)
        buf_fmt(out, "%s\n", catalog_family_words(catalog_family_of((enum vocab_op)op)));
    buf_fmt(out, "  %-8s %s", change_words[kind],
            vocab_op_name_in((enum vocab_op)op, kind == VOCAB_ADDED ? to : from));
    if (kind == VOCAB_RENAMED)
        buf_fmt(out, " to %s", vocab_op_name_in((enum vocab_op)op, to));
    buf_chr(out, '\n');
}

void catalog_versions_print_text(enum vocab_os from, enum vocab_os to, struct buf *out)
{
    for (uint32_t f = 0; f < CATALOG_FAMILIES; f++)
        each_change(f, from, to, change_text, out);
}

static void change_as_json(uint32_t op, enum vocab_change kind, enum vocab_os from,
                           enum vocab_os to, uint32_t number, struct buf *out)
{
    buf_fmt(out,
            "%s      {\"operation\": \"%s\", \"change\": \"%s\", \"was\": ", number ? ",\n" : "",
            vocab_ops[op].name, change_words[kind]);
    if (kind == VOCAB_ADDED)
        buf_str(out, "null");
    else
        buf_fmt(out, "\"%s\"", vocab_op_name_in((enum vocab_op)op, from));
    if (kind == VOCAB_GONE)
        buf_str(out, ", \"is\": null}");
    else
        buf_fmt(out, ", \"is\": \"%s\"}", vocab_op_name_in((enum vocab_op)op, to));
}

void catalog_versions_print_json(enum vocab_os from, enum vocab_os to, struct buf *out)
{
    const char *comma = "";
    buf_fmt(out, "{\"versions\": [\"%s\", \"%s\"], \"families\": [", vocab_os_name(from),
            vocab_os_name(to));
    for (uint32_t f = 0; f < CATALOG_FAMILIES; f++) {
        struct buf entries = {0};
        if (each_change(f, from, to, change_as_json, &entries)) {
            catalog_family_json((enum catalog_family)f, &comma, out);
            buf_add(out, entries.s, entries.n);
            buf_str(out, "]}");
        }
        buf_free(&entries);
    }
    buf_str(out, "]}");
}
