/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The vocabulary's tables and lookups. Rows come from the .def files by macro expansion. What would
 * otherwise be computed at start-up (the sorted name index, the filters an operation inherits from
 * its descendants, each owner's range of constants) comes from the index that tools/vocab-index.c
 * prints during the build. Everything is constant, so nothing here can fail or needs a lock.
 */

#include "vocab/vocab.h"

#include <stddef.h>
#include <string.h>

#include "vocab/implied.h"
#include "vocab/os.h"
#include "vocab/words.h"

#include "vocab-index.inc"

/* ---- rows ---- */

const struct vocab_op_info vocab_ops[OP_COUNT] = {
#define OP(id, text, up, tails, where, cats, mods, numbers)                                        \
    [OP_##id] = {.name = text,                                                                     \
                 .parent = OP_##up,                                                                \
                 .tail = TAILS_##tails,                                                            \
                 .message_filter = (where) == MESSAGE,                                             \
                 .extension = (where) == OURS,                                                     \
                 .categories = cats,                                                               \
                 .modifiers = mods,                                                                \
                 .ids = numbers},
#include "vocab/ops.def"
#undef OP
};

const struct vocab_filter_info vocab_filters[FILTER_COUNT] = {
#define FILTER(id, text, cat, takes, factor, id13, id14, whose)                                    \
    [FILTER_##id] = {.name = text,                                                                 \
                     .category = CAT_##cat,                                                        \
                     .arg = ARG_##takes,                                                           \
                     .cost = factor,                                                               \
                     .id_13_0 = id13,                                                              \
                     .id_14_4_1 = id14,                                                            \
                     .extension = (whose) == OURS},
#include "vocab/filters.def"
#undef FILTER
};

const struct vocab_modifier_info vocab_modifiers[MOD_COUNT] = {
#define MODIFIER(id, text, id13, on, wants, clear, set)                                            \
    [MOD_##id] = {.name = text,                                                                    \
                  .id_13_0 = id13,                                                                 \
                  .actions = ON_##on,                                                              \
                  .arg = WANTS_##wants,                                                            \
                  .mask = clear,                                                                   \
                  .flag = set},
#include "vocab/modifiers.def"
#undef MODIFIER
};

#define OP(id, text, ...) _Static_assert(sizeof(text) <= VOCAB_NAME, text);
#include "vocab/ops.def"
#undef OP
#define FILTER(id, text, ...) _Static_assert(sizeof(text) <= VOCAB_NAME, text);
#include "vocab/filters.def"
#undef FILTER

/* The names of constants, back to back. Rows have unique lines, which makes their identifiers
 * unique. */
#define JOIN(a, b) a##b
#define ON_LINE(line) JOIN(on_, line)
struct constant_names {
#define CONSTANT(owner, text, number) char ON_LINE(__LINE__)[sizeof(text)];
#define EXTRA_CONSTANT CONSTANT
#define MODIFIER_CONSTANT CONSTANT
#define SAME_CONSTANTS(filter, like)
#define MODIFIER_TAKES(mod, like)
#include "vocab/constants.def"
#undef CONSTANT
};
static const struct constant_names constant_names = {
#define CONSTANT(owner, text, number) text,
#include "vocab/constants.def"
#undef CONSTANT
#undef EXTRA_CONSTANT
#undef MODIFIER_CONSTANT
};

const struct vocab_constant vocab_constants[] = {
#define CONSTANT(owner, text, number)                                                              \
    {.name = offsetof(struct constant_names, ON_LINE(__LINE__)),                                   \
     .filter = FILTER_##owner,                                                                     \
     .modifier = MOD_NONE,                                                                         \
     .value = number},
#define EXTRA_CONSTANT CONSTANT
#define MODIFIER_CONSTANT(owner, text, number)                                                     \
    {.name = offsetof(struct constant_names, ON_LINE(__LINE__)),                                   \
     .filter = FILTER_NONE,                                                                        \
     .modifier = MOD_##owner,                                                                      \
     .value = number},
#define SAME_CONSTANTS(filter, like)
#define MODIFIER_TAKES(mod, like)
#include "vocab/constants.def"
#undef CONSTANT
#undef EXTRA_CONSTANT
#undef MODIFIER_CONSTANT
#undef SAME_CONSTANTS
#undef MODIFIER_TAKES
};

const size_t vocab_constant_count = sizeof(vocab_constants) / sizeof(vocab_constants[0]);

const char *vocab_constant_name(size_t row)
{
    return (const char *)&constant_names + vocab_constants[row].name;
}

const struct vocab_implicit vocab_implicit_rules[] = {
#define IMPLICIT(what, test, number, when)                                                         \
    {.op = OP_##what, .filter = FILTER_##test, .value = number, .versions = when},
#include "vocab/implicit.def"
#undef IMPLICIT
    {.op = OP_NONE, .filter = FILTER_NONE},
};

/* Which rules trigger an inferred rule. */
enum { ANY_ALLOW, FILTERED };

const struct vocab_inferred vocab_inferred_rules[] = {
#define INFERRED(from, which, what, test, number, words, when)                                     \
    {.cause = OP_##from,                                                                           \
     .filtered = which == FILTERED,                                                                \
     .op = OP_##what,                                                                              \
     .filter = FILTER_##test,                                                                      \
     .value = number,                                                                              \
     .text = words,                                                                                \
     .versions = when},
#include "vocab/inferred.def"
#undef INFERRED
    {.op = OP_NONE},
};

static const struct {
    const char *name, *words;
    uint16_t primary; /* enum vocab_filter */
} categories[CAT_COUNT] = {
#define CATEGORY(id, text, primary, brief) [CAT_##id] = {text, brief, FILTER_##primary},
#include "vocab/categories.def"
#undef CATEGORY
};

static const struct {
    const char *name;
    uint16_t op;
    uint16_t columns; /* bit set of enum vocab_os */
} old_names[] = {
#define OP_ALIAS(text, target, whose, when, since) {text, OP_##target, when},
#define FILTER_FORM(name, filter, form, whose)
#define FILTER_ALIAS(name, filter, form, whose)
#define MODIFIER_ALIAS(name, mod, whose)
#include "vocab/aliases.def"
#undef OP_ALIAS
#undef FILTER_FORM
#undef FILTER_ALIAS
#undef MODIFIER_ALIAS
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- names ---- */

static int compare(const struct vocab_index_entry *e, const char *name, size_t n)
{
    size_t shorter = e->len < n ? e->len : n;
    int order = memcmp(name_pool + e->name, name, shorter);
    if (order)
        return order;
    return e->len < n ? -1 : e->len > n;
}

/* The first entry that is not less than the name. */
static size_t lower_bound(const char *name, size_t n)
{
    size_t lo = 0, hi = COUNT(name_index);
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare(&name_index[mid], name, n) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool is_name(size_t i, const char *name, size_t n)
{
    return i < COUNT(name_index) && !compare(&name_index[i], name, n);
}

static struct vocab_word word_of(const struct vocab_index_entry *e)
{
    return (struct vocab_word){.kind = e->kind,
                               .id = e->id,
                               .form = e->form,
                               .alias = e->flags & INDEX_ALIAS,
                               .extension = e->flags & INDEX_EXTENSION};
}

struct vocab_word vocab_find(const char *name, size_t n, enum vocab_kind want)
{
    for (size_t i = lower_bound(name, n); is_name(i, name, n); i++)
        if (want == WORD_NONE || name_index[i].kind == want)
            return word_of(&name_index[i]);
    return (struct vocab_word){.kind = WORD_NONE};
}

size_t vocab_spelling_count(void)
{
    return COUNT(name_index);
}

const char *vocab_spelling_at(size_t i, struct vocab_word *word)
{
    if (word)
        *word = word_of(&name_index[i]);
    return name_pool + name_index[i].name;
}

const char *vocab_word_name(const struct vocab_word *word)
{
    switch (word->kind) {
    case WORD_OP:
        return vocab_ops[word->id].name;
    case WORD_FILTER:
        return vocab_filter_spelling(word->id, word->form);
    case WORD_MODIFIER:
        return vocab_modifiers[word->id].name;
    case WORD_CONSTANT: {
        const struct vocab_constant *c = &vocab_constants[word->id];
        return word->alias ? vocab_filter_constant_name(c->filter, c->value)
                           : vocab_constant_name(word->id);
    }
    case WORD_NONE:
        break;
    }
    return NULL;
}

const char *vocab_op_name_in(enum vocab_op op, enum vocab_os os)
{
    if (os < VOCAB_OS_COUNT)
        for (size_t i = 0; i < COUNT(old_names); i++)
            if (old_names[i].op == op && old_names[i].columns >> os & 1)
                return old_names[i].name;
    return vocab_ops[op].name;
}

enum vocab_op vocab_op_meant(const struct vocab_word *word, const char *name, size_t n,
                             enum vocab_os os)
{
    if (word->alias && os < VOCAB_OS_COUNT)
        for (size_t i = 0; i < COUNT(old_names); i++)
            if (old_names[i].columns >> os & 1 && strlen(old_names[i].name) == n &&
                memcmp(old_names[i].name, name, n) == 0)
                return (enum vocab_op)old_names[i].op;
    return (enum vocab_op)word->id;
}

const char *vocab_filter_spelling(enum vocab_filter filter, enum vocab_form form)
{
    if (filter >= FILTER_COUNT || (unsigned)form >= VOCAB_FORMS)
        return NULL;
    uint32_t at = form_spelling[filter][form];
    return at ? name_pool + at - 1 : NULL;
}

/* ---- constants ---- */

static bool range_value(struct vocab_range range, const char *name, size_t n, int64_t *value)
{
    for (size_t i = lower_bound(name, n); is_name(i, name, n); i++) {
        if (name_index[i].kind != WORD_CONSTANT)
            continue;
        if ((unsigned)(name_index[i].id - range.first) < range.count) {
            *value = vocab_constants[name_index[i].id].value;
            return true;
        }
    }
    return false;
}

static const char *range_name(struct vocab_range range, int64_t value)
{
    for (size_t i = range.first; i < (size_t)range.first + range.count; i++)
        if (vocab_constants[i].value == value)
            return vocab_constant_name(i);
    return NULL;
}

bool vocab_filter_constant(enum vocab_filter filter, const char *name, size_t n, int64_t *value)
{
    return filter < FILTER_COUNT && range_value(filter_constants[filter], name, n, value);
}

bool vocab_modifier_constant(enum vocab_modifier mod, const char *name, size_t n, int64_t *value)
{
    return mod < MOD_COUNT && range_value(modifier_constants[mod], name, n, value);
}

const char *vocab_filter_constant_name(enum vocab_filter filter, int64_t value)
{
    return filter < FILTER_COUNT ? range_name(filter_constants[filter], value) : NULL;
}

const char *vocab_modifier_constant_name(enum vocab_modifier mod, int64_t value)
{
    return mod < MOD_COUNT ? range_name(modifier_constants[mod], value) : NULL;
}

size_t vocab_filter_constants(enum vocab_filter filter, size_t *first)
{
    *first = filter_constants[filter].first;
    return filter_constants[filter].count;
}

size_t vocab_modifier_constants(enum vocab_modifier mod, size_t *first)
{
    *first = modifier_constants[mod].first;
    return modifier_constants[mod].count;
}

/* ---- operations ---- */

bool vocab_op_takes_filter(enum vocab_op op, enum vocab_filter filter)
{
    return op < OP_COUNT && filter < FILTER_COUNT &&
           op_reach[op].categories >> vocab_filters[filter].category & 1;
}

bool vocab_op_takes_modifier(enum vocab_op op, enum vocab_modifier mod)
{
    return op < OP_COUNT && mod < MOD_COUNT && op_reach[op].modifiers >> mod & 1;
}

bool vocab_op_is_within(enum vocab_op op, enum vocab_op ancestor)
{
    unsigned at = op;
    while (at < OP_COUNT && at != ancestor)
        at = vocab_ops[at].parent;
    return at < OP_COUNT;
}

enum vocab_filter vocab_op_subject(enum vocab_op op)
{
    return op < OP_COUNT ? op_reach[op].subject : FILTER_NONE;
}

bool vocab_filter_is_subject(enum vocab_filter filter)
{
    return filter < FILTER_COUNT &&
           categories[vocab_filters[filter].category].primary != FILTER_NONE;
}

const char *vocab_category_name(enum vocab_category category)
{
    return category < CAT_COUNT ? categories[category].name : NULL;
}

const char *vocab_category_words(enum vocab_category category)
{
    return category < CAT_COUNT ? categories[category].words : NULL;
}
