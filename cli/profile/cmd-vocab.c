/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle vocab`: the words of SBPL. Lists them in tables, describes one word in full, or shows
 * what changed between two versions. Descriptions consist of labelled fields and lists, which doc.h
 * writes as text or as JSON.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "cli/args.h"
#include "cli/profile/doc.h"
#include "cli/profile/format-versions.h"
#include "cli/profile/vocab-words.h"
#include "vocab/os.h"

static const struct cli_option options[] = {
    {"os", 0, "VERSION", "only this version: 14.4.1, 13, 10.15, ios9…", "os"},
    {"ops", 0, NULL, "operations only", NULL},
    {"filters", 0, NULL, "filters only", NULL},
    {"modifiers", 0, NULL, "modifiers only", NULL},
    {"changes", 0, "A..B", "show what changed from version A to version B", NULL},
    {"json", 'j', NULL, "print one JSON document", NULL},
    {0},
};

/* ---- tables ---- */

static void id_cell(struct buf *out, int id)
{
    if (id < 0)
        buf_str(out, "   - ");
    else
        buf_fmt(out, "%4d ", id);
}

static void table_op(struct buf *out, const struct vocab_query *q, unsigned op)
{
    enum vocab_os os = q->os == VOCAB_OS_ANY ? VOCAB_NEWEST : q->os;
    unsigned parent = vocab_ops[op].parent;
    char when[128];
    vocab_op_history(op, when, sizeof(when));
    id_cell(out, vocab_ops[op].ids[os]);
    buf_fmt(out, "%-34s %s%s%s%s\n", vocab_op_name_in(op, q->os), parent == OP_NONE ? "" : "in ",
            parent == OP_NONE ? "a root" : vocab_op_name_in(parent, q->os), *when ? "; " : "",
            when);
}

/* Sorts the operations of one version by id, and those of all versions by family. */
static void table_ops(struct buf *out, const struct vocab_query *q)
{
    buf_fmt(out, "Operations; ids of %s\n",
            vocab_os_name(q->os == VOCAB_OS_ANY ? VOCAB_NEWEST : q->os));
    if (q->os == VOCAB_OS_ANY) {
        for (unsigned op = 0; op < OP_COUNT; op++)
            table_op(out, q, op);
        return;
    }
    for (int id = 0; id < OP_COUNT; id++)
        for (unsigned op = 0; op < OP_COUNT; op++)
            if (vocab_ops[op].ids[q->os] == id)
                table_op(out, q, op);
}

static void table_filters(struct buf *out, const struct vocab_query *q)
{
    buf_fmt(out, "%sFilters; ids of %s\n", out->n ? "\n" : "",
            vocab_os_name(q->os == VOCAB_OS_ANY ? VOCAB_NEWEST : q->os));
    for (unsigned f = 0; f < FILTER_COUNT; f++) {
        const struct vocab_filter_info *info = &vocab_filters[f];
        int id = vocab_filter_id_in(f, q->os);
        if (q->os != VOCAB_OS_ANY && id < 0)
            continue;
        id_cell(out, id);
        buf_fmt(out, "%-34s %s, about %s%s\n", info->name, vocab_arg_words[info->arg],
                vocab_category_words(info->category), info->extension ? "; not Apple's" : "");
    }
}

static void table_modifiers(struct buf *out, const struct vocab_query *q)
{
    buf_fmt(out, "%sModifiers; ids of 13.0\n", out->n ? "\n" : "");
    for (unsigned m = 0; m < MOD_COUNT; m++) {
        const struct vocab_modifier_info *info = &vocab_modifiers[m];
        id_cell(out, vocab_modifier_id_in(m, q->os));
        buf_fmt(out, "%-34s in %s, takes %s\n", info->name, vocab_action_words[info->actions],
                vocab_mod_arg_words[info->arg]);
    }
}

/* The ids of filters and modifiers are unknown before 13.0, so that only operations can be listed
 * by version. */
static bool only_ops_known(const struct vocab_query *q)
{
    return q->os < VOCAB_MACOS_13_0;
}

static void list_text(struct buf *out, const struct vocab_query *q)
{
    if (q->kinds >> WORD_OP & 1)
        table_ops(out, q);
    if (only_ops_known(q)) {
        if (q->kinds & (1u << WORD_FILTER | 1u << WORD_MODIFIER))
            buf_fmt(out, "%sFilters and modifiers of %s are not known.\n", out->n ? "\n" : "",
                    vocab_os_name(q->os));
        return;
    }
    if (q->kinds >> WORD_FILTER & 1)
        table_filters(out, q);
    if (q->kinds >> WORD_MODIFIER & 1)
        table_modifiers(out, q);
}

static void list_json(struct doc *d, const struct vocab_query *q)
{
    for (unsigned op = 0; op < OP_COUNT; op++)
        if (q->kinds >> WORD_OP & 1 && (q->os == VOCAB_OS_ANY || vocab_ops[op].ids[q->os] >= 0))
            vocab_show_op(d, op, q);
    for (unsigned f = 0; f < FILTER_COUNT; f++)
        if (q->kinds >> WORD_FILTER & 1 &&
            (q->os == VOCAB_OS_ANY || vocab_filter_id_in(f, q->os) >= 0))
            vocab_show_filter(d, f, q);
    for (unsigned m = 0; m < MOD_COUNT; m++)
        if (q->kinds >> WORD_MODIFIER & 1 && !only_ops_known(q))
            vocab_show_modifier(d, m, q);
}

/* ---- changes ---- */

static void change_item(struct doc *d, unsigned op, enum vocab_change kind, enum vocab_os a,
                        enum vocab_os b)
{
    char text[256];
    const char *was = vocab_op_name_in(op, a), *is = vocab_op_name_in(op, b);
    int from = vocab_ops[op].ids[a], to = vocab_ops[op].ids[b];
    switch (kind) {
    case VOCAB_ADDED:
        doc_pair(d, is, to);
        return;
    case VOCAB_GONE:
        doc_pair(d, was, from);
        return;
    case VOCAB_RENAMED:
        snprintf(text, sizeof(text), "%s %d to %s %d", was, from, is, to);
        break;
    default:
        snprintf(text, sizeof(text), "%s %d to %d", was, from, to);
        break;
    }
    doc_item(d, text);
}

static void op_changes(struct doc *d, enum vocab_os a, enum vocab_os b)
{
    static const char *const labels[] = {"added", "gone", "renamed", "renumbered"};
    for (enum vocab_change kind = VOCAB_ADDED; kind < VOCAB_SAME; kind++) {
        bool pairs = kind == VOCAB_ADDED || kind == VOCAB_GONE;
        doc_list(d, labels[kind], pairs);
        for (unsigned op = 0; op < OP_COUNT; op++)
            if (vocab_op_change(op, a, b) == kind)
                change_item(d, op, kind, a, b);
        doc_list_end(d, pairs);
    }
}

static void filter_changes(struct doc *d, enum vocab_os a, enum vocab_os b)
{
    for (int gone = 0; gone < 2; gone++) {
        enum vocab_os without = gone ? b : a, with = gone ? a : b;
        doc_list(d, gone ? "gone" : "added", true);
        for (unsigned f = 0; f < FILTER_COUNT; f++)
            if (vocab_filter_id_in(f, without) < 0 && vocab_filter_id_in(f, with) >= 0)
                doc_pair(d, vocab_filters[f].name, vocab_filter_id_in(f, with));
        doc_list_end(d, true);
    }
}

static void print_changes(struct doc *d, const struct vocab_query *q, enum vocab_os a,
                          enum vocab_os b)
{
    char title[64];
    snprintf(title, sizeof(title), "%s to %s", vocab_os_name(a), vocab_os_name(b));
    if (q->kinds >> WORD_OP & 1) {
        doc_open(d, "operations", title);
        op_changes(d, a, b);
        doc_close(d);
    }
    if (q->kinds >> WORD_FILTER & 1 && a >= VOCAB_MACOS_13_0 && b >= VOCAB_MACOS_13_0) {
        doc_open(d, "filters", title);
        filter_changes(d, a, b);
        doc_close(d);
    }
}

/* ---- the command ---- */

static int parse_query(const struct cli_args *args, struct vocab_query *q, struct bk_err *err)
{
    *q = (struct vocab_query){.json = args_has(args, "json")};
    if (versions_os(args, &q->os, err) < 0)
        return -1;
    q->kinds = (args_has(args, "ops") ? 1u << WORD_OP : 0) |
               (args_has(args, "filters") ? 1u << WORD_FILTER : 0) |
               (args_has(args, "modifiers") ? 1u << WORD_MODIFIER : 0);
    if (!q->kinds)
        q->kinds = ~0u;
    return 0;
}

static int unknown_word(const char *name, const struct vocab_query *q)
{
    struct bk_err err;
    const char *near = vocab_suggest(name, strlen(name), q->kinds);
    err_set(&err, BK_E_INPUT, "unknown operation, filter, modifier or constant \"%s\"", name);
    if (near)
        err_hint(&err, "did you mean %s?", near);
    return cli_fail(&err);
}

static bool is_number(const char *s)
{
    return *s && strlen(s) < 6 && s[strspn(s, "0123456789")] == '\0';
}

/* Returns false if the name is unknown. */
static bool print_answer(struct doc *d, struct vocab_query *q, const char *name)
{
    if (name && is_number(name))
        return vocab_show_id(d, atoi(name), q);
    q->asked = name;
    if (name)
        return vocab_show_name(d, name, q);
    if (q->json)
        list_json(d, q);
    else
        list_text(d->out, q);
    return true;
}

static int cmd_vocab_run(struct cli_args *args)
{
    struct bk_err err;
    struct vocab_query q;
    enum vocab_os a = VOCAB_NEWEST, b = VOCAB_NEWEST;
    const char *span = args_value(args, "changes"), *name = args->npos ? args->pos[0] : NULL;
    if (args->npos > 1)
        return cli_usage(args, "give at most one name or id");
    if (span && (name || args_has(args, "os")))
        return cli_usage(args, "--changes takes neither a name nor --os");
    if (parse_query(args, &q, &err) < 0 || (span && versions_span(span, &a, &b, &err) < 0))
        return cli_fail(&err);

    OWN(buf) struct buf out = {0};
    struct doc d = {.out = &out, .json = q.json};
    if (q.json)
        buf_chr(&out, '[');
    if (span)
        print_changes(&d, &q, a, b);
    else if (!print_answer(&d, &q, name))
        return unknown_word(name, &q);
    if (q.json)
        buf_str(&out, "]\n");
    return cli_emit(&out, CLI_OK);
}

const struct cli_command cmd_vocab = {
    .name = "vocab",
    .usage = "[OPTION…] [NAME|ID]",
    .brief = "list and describe operations, filters and modifiers",
    .about =
        "Without NAME, lists the words of the language with their ids. With NAME, describes one\n"
        "word: its aliases, its id in each version, an operation's parents and its default when\n"
        "no rule matches, and the filters, modifiers and constants it takes. With a number,\n"
        "describes the words with that id (in the newest version, or in --os).\n"
        "\n"
        "Versions: ios4 ios8.4.1 ios9.3 ios13.0 10.12 10.13 10.14 10.15 12.5 13.0 14.4.1;\n"
        "they can be shortened while unambiguous, as in 14.",
    .options = options,
    .complete = "name",
    .run = cmd_vocab_run,
};
