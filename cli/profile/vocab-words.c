/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Describes an operation, filter, modifier or constant with everything the tables contain. */

#include "cli/profile/vocab-words.h"
#include "vocab/os.h"

#include <stdio.h>
#include <string.h>

static void open_word(struct doc *d, const struct vocab_query *q, const char *kind,
                      const char *name)
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

/* Nearly every operation takes the filters about the process and the system, so they are listed
 * separately from the operation's own. Filters that only descendants take never match the operation
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

void vocab_show_op(struct doc *d, unsigned op, const struct vocab_query *q)
{
    const struct vocab_op_info *info = &vocab_ops[op];
    char text[256];
    enum vocab_filter subject = vocab_op_subject(op);
    open_word(d, q, info->message_filter ? "operation of a message filter" : "operation",
              info->name);
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

const char *const vocab_arg_words[] = {
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

/* A name that occurs twice has the first number. */
static bool named_before(size_t first, size_t row)
{
    for (size_t i = first; i < row; i++)
        if (!strcmp(vocab_constant_name(i), vocab_constant_name(row)))
            return true;
    return false;
}

static void list_constants(struct doc *d, size_t first, size_t n)
{
    doc_list(d, "constants", true);
    for (size_t i = first; i < first + n; i++)
        if (!named_before(first, i))
            doc_pair(d, vocab_constant_name(i), (long long)vocab_constants[i].value);
    doc_list_end(d, true);
}

/* Most filters apply to few operations, some to nearly all: lists the shorter side. */
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

void vocab_show_filter(struct doc *d, unsigned filter, const struct vocab_query *q)
{
    const struct vocab_filter_info *info = &vocab_filters[filter];
    bool taken[OP_COUNT];
    size_t first, n = vocab_filter_constants(filter, &first);
    open_word(d, q, "filter", info->name);
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
    doc_text(d, "argument", vocab_arg_words[info->arg]);
    doc_text(d, "asks about", vocab_category_words(info->category));
    for (unsigned op = 0; op < OP_COUNT; op++)
        taken[op] = vocab_op_takes_filter(op, filter);
    list_takers(d, taken);
    list_constants(d, first, n);
    doc_close(d);
}

const char *const vocab_action_words[] = {"", "deny", "allow", "allow and deny"};
const char *const vocab_mod_arg_words[] = {"", "nothing", "a number or a constant", "a string",
                                           "rules"};

void vocab_show_modifier(struct doc *d, unsigned mod, const struct vocab_query *q)
{
    const struct vocab_modifier_info *info = &vocab_modifiers[mod];
    bool taken[OP_COUNT];
    size_t first, n = vocab_modifier_constants(mod, &first);
    open_word(d, q, "modifier", info->name);
    list_aliases(d, WORD_MODIFIER, mod);
    doc_list(d, "ids", true);
    if (info->id_13_0 >= 0)
        doc_pair(d, vocab_os_name(VOCAB_MACOS_13_0), info->id_13_0);
    doc_list_end(d, true);
    doc_text(d, "stands in", vocab_action_words[info->actions]);
    doc_text(d, "argument", vocab_mod_arg_words[info->arg]);
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
    doc_open(d, "constant", vocab_constant_name(row));
    doc_number(d, "value", (long long)c->value);
    if (c->value < 0)
        doc_text(d, "note", "its value is not public, so it matches nothing");
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

static void show_word(struct doc *d, const struct vocab_word *w, const struct vocab_query *q)
{
    switch (w->kind) {
    case WORD_OP:
        vocab_show_op(d, w->id, q);
        break;
    case WORD_FILTER:
        vocab_show_filter(d, w->id, q);
        break;
    case WORD_MODIFIER:
        vocab_show_modifier(d, w->id, q);
        break;
    case WORD_CONSTANT:
        show_constant(d, w->id);
        break;
    case WORD_NONE:
        break;
    }
}

size_t vocab_show_name(struct doc *d, const char *name, const struct vocab_query *q)
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

size_t vocab_show_id(struct doc *d, int id, const struct vocab_query *q)
{
    enum vocab_os os = q->os == VOCAB_OS_ANY ? VOCAB_NEWEST : q->os;
    size_t found = 0;
    for (unsigned op = 0; op < OP_COUNT; op++)
        if (q->kinds >> WORD_OP & 1 && vocab_ops[op].ids[os] == id && ++found)
            vocab_show_op(d, op, q);
    for (unsigned f = 0; f < FILTER_COUNT; f++)
        if (q->kinds >> WORD_FILTER & 1 && vocab_filter_id_in(f, os) == id && ++found)
            vocab_show_filter(d, f, q);
    for (unsigned m = 0; m < MOD_COUNT; m++)
        if (q->kinds >> WORD_MODIFIER & 1 && vocab_modifier_id_in(m, os) == id && ++found)
            vocab_show_modifier(d, m, q);
    return found;
}
