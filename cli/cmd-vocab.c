/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle vocab`: the words of SBPL. Three questions: what is there (tables), what is this word
 * (everything known about it), what changed between two versions. Descriptions are written once,
 * as labelled fields and lists, and the writer of doc.h puts them out as text or as JSON.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "base/own.h"
#include "doc.h"
#include "versions.h"

static const struct cli_option options[] = {
    {"os", 0, "VERSION", "the words of one version: 14.4.1, 13, 10.15, ios9…", "os"},
    {"ops", 0, NULL, "operations only", NULL},
    {"filters", 0, NULL, "filters only", NULL},
    {"modifiers", 0, NULL, "modifiers only", NULL},
    {"changes", 0, "A..B", "what changed from version A to version B", NULL},
    {"json", 'j', NULL, "print one JSON document", NULL},
    {0},
};

/* What was asked for. */
struct query {
    enum vocab_os os; /* VOCAB_OS_ANY: not said */
    unsigned kinds;   /* 1 << enum vocab_kind */
    bool json;
    const char *asked; /* the name as it was given; NULL when there is none */
};

static const enum vocab_os newest = VOCAB_MACOS_14_4_1;

/* ---- words in full ---- */

static void begin(struct doc *d, const struct query *q, const char *kind, const char *name)
{
    doc_open(d, kind, name);
    if (q->asked && strcmp(q->asked, name))
        doc_text(d, "asked as", q->asked);
}

static void list_aliases(struct doc *d, enum vocab_kind kind, unsigned id)
{
    doc_list(d, "aliases", false);
    for (size_t i = 0; i < vocab_spelling_count(); i++) {
        struct vocab_word w;
        const char *name = vocab_spelling_at(i, &w);
        if (w.kind == kind && w.id == id && w.alias)
            doc_item(d, name);
    }
    doc_list_end(d, false);
}

static void list_parents(struct doc *d, unsigned op)
{
    doc_list(d, "parents", false);
    for (unsigned up = vocab_ops[op].parent; up != OP_NONE; up = vocab_ops[up].parent)
        doc_item(d, vocab_ops[up].name);
    doc_list_end(d, false);
    doc_list(d, "children", false);
    for (unsigned o = 0; o < OP_COUNT; o++)
        if (vocab_ops[o].parent == op)
            doc_item(d, vocab_ops[o].name);
    doc_list_end(d, false);
}

static void list_ids(struct doc *d, const struct vocab_op_info *op)
{
    doc_list(d, "ids", true);
    for (int os = 0; os < VOCAB_OS_COUNT; os++)
        if (op->ids[os] >= 0)
            doc_pair(d, vocab_os_name(os), op->ids[os]);
    doc_list_end(d, true);
}

/* Filters about the process and the system at large go with nearly everything: told apart, they
 * do not drown the operation's own. Those that only descendants take never match the operation
 * itself. */
enum part { OWN, COMMON, OF_CHILDREN };

static enum part part_of(unsigned op, unsigned filter)
{
    enum vocab_category c = vocab_filters[filter].category;
    if (!(vocab_ops[op].categories >> c & 1))
        return OF_CHILDREN;
    return c == CAT_EXTENSION || c == CAT_PROCESS || c == CAT_SYSTEM || c == CAT_SANDBOX ? COMMON
                                                                                         : OWN;
}

static void list_filters(struct doc *d, unsigned op)
{
    static const char *const labels[] = {"filters", "common", "of children"};
    for (enum part part = OWN; part <= OF_CHILDREN; part++) {
        doc_list(d, labels[part], false);
        for (unsigned f = 0; f < FILTER_COUNT; f++)
            if (vocab_op_takes_filter(op, f) && part_of(op, f) == part)
                doc_item(d, vocab_filters[f].name);
        doc_list_end(d, false);
    }
}

static void list_modifiers(struct doc *d, unsigned op)
{
    doc_list(d, "modifiers", false);
    for (unsigned m = 0; m < MOD_COUNT; m++)
        if (vocab_op_takes_modifier(op, m))
            doc_item(d, vocab_modifiers[m].name);
    doc_list_end(d, false);
}

static void tail_words(unsigned op, int version, char *out, size_t size)
{
    const struct vocab_op_info *info = &vocab_ops[op];
    if (info->tail[version] == TAIL_PARENT)
        snprintf(out, size, "as %s", vocab_ops[info->parent].name);
    else
        snprintf(out, size, "%s", info->tail[version] == TAIL_ALLOW ? "allow" : "deny");
}

static void list_tails(struct doc *d, unsigned op)
{
    const uint8_t *tail = vocab_ops[op].tail;
    bool alike = tail[0] == tail[1] && tail[1] == tail[2];
    char words[128], text[160];
    doc_list(d, "unless ruled", false);
    for (int v = 0; v < VOCAB_PROFILE_VERSIONS; v++) {
        tail_words(op, v, words, sizeof(words));
        snprintf(text, sizeof(text), "%s in version %d", words, v + 1);
        doc_item(d, alike || d->json ? words : text);
        if (alike && !d->json)
            break;
    }
    doc_list_end(d, false);
}

static void show_op(struct doc *d, unsigned op, const struct query *q)
{
    const struct vocab_op_info *info = &vocab_ops[op];
    char text[256];
    enum vocab_filter subject = vocab_op_subject(op);
    begin(d, q, info->message_filter ? "operation of a message filter" : "operation", info->name);
    if (q->os != VOCAB_OS_ANY && info->ids[q->os] < 0) {
        snprintf(text, sizeof(text), "not in %s", vocab_os_name(q->os));
        doc_text(d, "note", text);
    }
    vocab_op_history(op, text, sizeof(text));
    if (*text)
        doc_text(d, "history", text);
    list_aliases(d, WORD_OP, op);
    list_ids(d, info);
    list_parents(d, op);
    list_tails(d, op);
    if (subject != FILTER_NONE)
        doc_text(d, "argument", vocab_filters[subject].name);
    list_filters(d, op);
    list_modifiers(d, op);
    doc_close(d);
}

static const char *const arg_words[] = {
    [ARG_NONE] = "nothing",
    [ARG_BOOL] = "nothing, or a boolean",
    [ARG_PATH] = "a path",
    [ARG_STRING] = "a string",
    [ARG_NAME] = "an exact string",
    [ARG_INT] = "a number or a constant",
    [ARG_MODE] = "a bit mask",
    [ARG_NETWORK] = "a protocol and \"host:port\"",
    [ARG_DOMAIN] = "a host name, or *.name",
};

static void list_forms(struct doc *d, unsigned filter)
{
    doc_list(d, "forms", false);
    for (int form = FORM_LITERAL; form <= FORM_GLOB; form++) {
        const char *name = vocab_filter_spelling(filter, form);
        if (name && vocab_filter_spelling(filter, FORM_PREFIX))
            doc_item(d, name);
    }
    doc_list_end(d, false);
}

/* A name that stands twice means its first number. */
static bool named_before(size_t first, size_t row)
{
    for (size_t i = first; i < row; i++)
        if (!strcmp(vocab_constants[i].name, vocab_constants[row].name))
            return true;
    return false;
}

static void list_constants(struct doc *d, size_t first, size_t n)
{
    doc_list(d, "constants", true);
    for (size_t i = first; i < first + n; i++)
        if (!named_before(first, i))
            doc_pair(d, vocab_constants[i].name, (long long)vocab_constants[i].value);
    doc_list_end(d, true);
}

/* Most filters go with a few operations, some with nearly all: tell the shorter side. */
static void list_takers(struct doc *d, bool taken[OP_COUNT])
{
    size_t takers = 0;
    for (unsigned op = 0; op < OP_COUNT; op++)
        takers += taken[op];
    bool few = takers <= OP_COUNT / 2;
    doc_list(d, few || d->json ? "operations" : "all but", false);
    for (unsigned op = 0; op < OP_COUNT; op++)
        if (taken[op] == (few || d->json))
            doc_item(d, vocab_ops[op].name);
    doc_list_end(d, false);
}

static void show_filter(struct doc *d, unsigned filter, const struct query *q)
{
    const struct vocab_filter_info *info = &vocab_filters[filter];
    bool taken[OP_COUNT];
    size_t first, n = vocab_filter_constants(filter, &first);
    begin(d, q, "filter", info->name);
    if (info->extension)
        doc_text(d, "history", "not Apple's");
    list_aliases(d, WORD_FILTER, filter);
    list_forms(d, filter);
    doc_list(d, "ids", true);
    if (info->id_13_0 >= 0)
        doc_pair(d, vocab_os_name(VOCAB_MACOS_13_0), info->id_13_0);
    if (info->id_14_4_1 >= 0)
        doc_pair(d, vocab_os_name(VOCAB_MACOS_14_4_1), info->id_14_4_1);
    doc_list_end(d, true);
    doc_text(d, "argument", arg_words[info->arg]);
    doc_text(d, "asks about", vocab_category_words(info->category));
    for (unsigned op = 0; op < OP_COUNT; op++)
        taken[op] = vocab_op_takes_filter(op, filter);
    list_takers(d, taken);
    list_constants(d, first, n);
    doc_close(d);
}

static const char *const action_words[] = {"", "deny", "allow", "allow and deny"};
static const char *const mod_arg_words[] = {"", "nothing", "a number or a constant", "a string",
                                            "rules"};

static void show_modifier(struct doc *d, unsigned mod, const struct query *q)
{
    const struct vocab_modifier_info *info = &vocab_modifiers[mod];
    bool taken[OP_COUNT];
    size_t first, n = vocab_modifier_constants(mod, &first);
    begin(d, q, "modifier", info->name);
    list_aliases(d, WORD_MODIFIER, mod);
    doc_list(d, "ids", true);
    if (info->id_13_0 >= 0)
        doc_pair(d, vocab_os_name(VOCAB_MACOS_13_0), info->id_13_0);
    doc_list_end(d, true);
    doc_text(d, "stands in", action_words[info->actions]);
    doc_text(d, "argument", mod_arg_words[info->arg]);
    if (info->mask) {
        char text[64];
        snprintf(text, sizeof(text), "%s 0x%x", info->flag ? "sets" : "clears", info->mask);
        doc_text(d, "flags", text);
    }
    for (unsigned op = 0; op < OP_COUNT; op++)
        taken[op] = vocab_op_takes_modifier(op, mod);
    list_takers(d, taken);
    list_constants(d, first, n);
    doc_close(d);
}

static void show_constant(struct doc *d, size_t row)
{
    const struct vocab_constant *c = &vocab_constants[row];
    size_t first, n;
    doc_open(d, "constant", c->name);
    doc_number(d, "value", (long long)c->value);
    if (c->value < 0)
        doc_text(d, "note", "its number is not public: it matches nothing");
    doc_list(d, "of", false);
    for (unsigned f = 0; f < FILTER_COUNT; f++)
        if (n = vocab_filter_constants(f, &first), row - first < n)
            doc_item(d, vocab_filters[f].name);
    for (unsigned m = 0; m < MOD_COUNT; m++)
        if (n = vocab_modifier_constants(m, &first), row - first < n)
            doc_item(d, vocab_modifiers[m].name);
    doc_list_end(d, false);
    doc_close(d);
}

static void show_word(struct doc *d, const struct vocab_word *w, const struct query *q)
{
    switch (w->kind) {
    case WORD_OP:
        show_op(d, w->id, q);
        break;
    case WORD_FILTER:
        show_filter(d, w->id, q);
        break;
    case WORD_MODIFIER:
        show_modifier(d, w->id, q);
        break;
    case WORD_CONSTANT:
        show_constant(d, w->id);
        break;
    case WORD_NONE:
        break;
    }
}

static size_t show_name(struct doc *d, const char *name, const struct query *q)
{
    size_t found = 0;
    for (size_t i = 0; i < vocab_spelling_count(); i++) {
        struct vocab_word w;
        if (strcmp(vocab_spelling_at(i, &w), name) || !(q->kinds >> w.kind & 1))
            continue;
        show_word(d, &w, q);
        found++;
    }
    return found;
}

static size_t show_id(struct doc *d, int id, const struct query *q)
{
    enum vocab_os os = q->os == VOCAB_OS_ANY ? newest : q->os;
    size_t found = 0;
    for (unsigned op = 0; op < OP_COUNT; op++)
        if (q->kinds >> WORD_OP & 1 && vocab_ops[op].ids[os] == id && ++found)
            show_op(d, op, q);
    for (unsigned f = 0; f < FILTER_COUNT; f++)
        if (q->kinds >> WORD_FILTER & 1 && vocab_filter_id_in(f, os) == id && ++found)
            show_filter(d, f, q);
    for (unsigned m = 0; m < MOD_COUNT; m++)
        if (q->kinds >> WORD_MODIFIER & 1 && vocab_modifier_id_in(m, os) == id && ++found)
            show_modifier(d, m, q);
    return found;
}

/* ---- tables ---- */

static void id_cell(struct buf *out, int id)
{
    if (id < 0)
        buf_str(out, "   - ");
    else
        buf_fmt(out, "%4d ", id);
}

static void table_op(struct buf *out, const struct query *q, unsigned op)
{
    enum vocab_os os = q->os == VOCAB_OS_ANY ? newest : q->os;
    unsigned parent = vocab_ops[op].parent;
    char when[128];
    vocab_op_history(op, when, sizeof(when));
    id_cell(out, vocab_ops[op].ids[os]);
    buf_fmt(out, "%-34s %s%s%s%s\n", vocab_op_name_in(op, q->os), parent == OP_NONE ? "" : "in ",
            parent == OP_NONE ? "a root" : vocab_op_name_in(parent, q->os), *when ? "; " : "",
            when);
}

/* One version's operations go by id, all of them by family. */
static void table_ops(struct buf *out, const struct query *q)
{
    buf_fmt(out, "Operations; ids of %s\n", vocab_os_name(q->os == VOCAB_OS_ANY ? newest : q->os));
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

static void table_filters(struct buf *out, const struct query *q)
{
    buf_fmt(out, "%sFilters; ids of %s\n", out->n ? "\n" : "",
            vocab_os_name(q->os == VOCAB_OS_ANY ? newest : q->os));
    for (unsigned f = 0; f < FILTER_COUNT; f++) {
        const struct vocab_filter_info *info = &vocab_filters[f];
        int id = vocab_filter_id_in(f, q->os);
        if (q->os != VOCAB_OS_ANY && id < 0)
            continue;
        id_cell(out, id);
        buf_fmt(out, "%-34s %s, about %s%s\n", info->name, arg_words[info->arg],
                vocab_category_words(info->category), info->extension ? "; not Apple's" : "");
    }
}

static void table_modifiers(struct buf *out, const struct query *q)
{
    buf_fmt(out, "%sModifiers; ids of 13.0\n", out->n ? "\n" : "");
    for (unsigned m = 0; m < MOD_COUNT; m++) {
        const struct vocab_modifier_info *info = &vocab_modifiers[m];
        id_cell(out, vocab_modifier_id_in(m, q->os));
        buf_fmt(out, "%-34s in %s, takes %s\n", info->name, action_words[info->actions],
                mod_arg_words[info->arg]);
    }
}

/* Before 13.0 neither the filters' nor the modifiers' ids are known, so only operations can be
 * told apart by version. */
static bool only_ops_known(const struct query *q)
{
    return q->os < VOCAB_MACOS_13_0;
}

static void list_text(struct buf *out, const struct query *q)
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

static void list_json(struct doc *d, const struct query *q)
{
    for (unsigned op = 0; op < OP_COUNT; op++)
        if (q->kinds >> WORD_OP & 1 && (q->os == VOCAB_OS_ANY || vocab_ops[op].ids[q->os] >= 0))
            show_op(d, op, q);
    for (unsigned f = 0; f < FILTER_COUNT; f++)
        if (q->kinds >> WORD_FILTER & 1 &&
            (q->os == VOCAB_OS_ANY || vocab_filter_id_in(f, q->os) >= 0))
            show_filter(d, f, q);
    for (unsigned m = 0; m < MOD_COUNT; m++)
        if (q->kinds >> WORD_MODIFIER & 1 && !only_ops_known(q))
            show_modifier(d, m, q);
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

static void changes(struct doc *d, const struct query *q, enum vocab_os a, enum vocab_os b)
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

static int parse_query(const struct cli_args *args, struct query *q, struct bk_err *err)
{
    *q = (struct query){.json = args_has(args, "json")};
    if (versions_os(args, &q->os, err) < 0)
        return -1;
    q->kinds = (args_has(args, "ops") ? 1u << WORD_OP : 0) |
               (args_has(args, "filters") ? 1u << WORD_FILTER : 0) |
               (args_has(args, "modifiers") ? 1u << WORD_MODIFIER : 0);
    if (!q->kinds)
        q->kinds = ~0u;
    return 0;
}

static int unknown_word(const char *name, const struct query *q)
{
    struct bk_err err;
    const char *near = vocab_suggest(name, strlen(name), q->kinds);
    err_set(&err, BK_E_INPUT, "no operation, filter, modifier or constant is called \"%s\"", name);
    if (near)
        err_hint(&err, "did you mean %s?", near);
    return cli_fail(&err);
}

static bool is_number(const char *s)
{
    return *s && strlen(s) < 6 && s[strspn(s, "0123456789")] == '\0';
}

/* Everything asked for, in one array when it is JSON. False when the name means nothing. */
static bool answer(struct doc *d, struct query *q, const char *name)
{
    if (name && is_number(name))
        return show_id(d, atoi(name), q);
    q->asked = name;
    if (name)
        return show_name(d, name, q);
    if (q->json)
        list_json(d, q);
    else
        list_text(d->out, q);
    return true;
}

static int run(struct cli_args *args)
{
    struct bk_err err;
    struct query q;
    enum vocab_os a = newest, b = newest;
    const char *span = args_value(args, "changes"), *name = args->npos ? args->pos[0] : NULL;
    if (args->npos > 1)
        return cli_usage(args, "one name or id at a time");
    if (span && (name || args_has(args, "os")))
        return cli_usage(args, "--changes goes with neither a name nor --os");
    if (parse_query(args, &q, &err) < 0 || (span && versions_span(span, &a, &b, &err) < 0))
        return cli_fail(&err);

    OWN(buf) struct buf out = {0};
    struct doc d = {.out = &out, .json = q.json};
    if (q.json)
        buf_chr(&out, '[');
    if (span)
        changes(&d, &q, a, b);
    else if (!answer(&d, &q, name))
        return unknown_word(name, &q);
    if (q.json)
        buf_str(&out, "]\n");
    return cli_emit(&out, CLI_OK);
}

const struct cli_command cmd_vocab = {
    .name = "vocab",
    .usage = "[OPTION…] [NAME|ID]",
    .brief = "list and describe operations, filters and modifiers",
    .about = "Without NAME, lists the words of the language with their ids. With NAME, tells all\n"
             "that is known about one word: its other spellings, its id in each version, where an\n"
             "operation stands in the tree and what happens to it when no rule speaks of it, what\n"
             "filters, modifiers and constants go with it. With a number, the words that have it\n"
             "as their id (in the newest version, or in --os).\n"
             "\n"
             "Versions: ios4 ios8.4.1 ios9.3 ios13.0 10.12 10.13 10.14 10.15 12.5 13.0 14.4.1;\n"
             "what does not tell them apart may be left off, as in 14.",
    .options = options,
    .complete = "name",
    .run = run,
};
