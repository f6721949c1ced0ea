/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Makes the index of the vocabulary at build time. The .def files are for people: grouped,
 * commented, unsorted. This program expands them, checks what a compiler cannot (colliding names,
 * cyclic parents, scattered constants) and prints C tables for vocab.c: every spelling sorted by
 * name, the spelling of each filter's forms, and what each operation takes through its descendants.
 * The tables hold offsets, not pointers, so they need neither sorting nor relocation at start.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vocab/words.h"

struct name {
    const char *text;
    uint32_t offset;
    uint16_t id;
    uint8_t kind, form, flags;
};

enum { MAX_NAMES = 8192 };

static struct name names[MAX_NAMES];
static size_t name_count;
static const char *spelling[FILTER_COUNT][VOCAB_FORMS];

static const char *const op_name[OP_COUNT] = {
#define OP(id, name, ...) [OP_##id] = name,
#include "vocab/ops.def"
#undef OP
};

static const struct {
    uint16_t parent;
    uint64_t categories;
    uint32_t modifiers;
} op_row[OP_COUNT] = {
#define OP(id, name, parent, tails, where, cats, mods, ids) [OP_##id] = {OP_##parent, cats, mods},
#include "vocab/ops.def"
#undef OP
};

static const struct {
    const char *name;
    uint8_t arg, whose;
} filter_row[FILTER_COUNT] = {
#define FILTER(id, name, cat, arg, cost, id13, id14, whose)                                        \
    [FILTER_##id] = {name, ARG_##arg, whose},
#include "vocab/filters.def"
#undef FILTER
};

static const uint16_t category_primary[CAT_COUNT] = {
#define CATEGORY(id, name, primary, words) [CAT_##id] = FILTER_##primary,
#include "vocab/categories.def"
#undef CATEGORY
};

static struct vocab_range filter_range[FILTER_COUNT], modifier_range[MOD_COUNT];

static _Noreturn void __attribute__((format(printf, 1, 2))) die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("vocab-index: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

/* ---- gathering ---- */

static void add_name(const char *text, int kind, unsigned id, int form, int flags)
{
    if (name_count == MAX_NAMES)
        die("more than %d names", MAX_NAMES);
    if (!*text || strlen(text) >= VOCAB_NAME_MAX)
        die("the length of \"%s\" is out of bounds", text);
    names[name_count++] = (struct name){.text = text,
                                        .id = (uint16_t)id,
                                        .kind = (uint8_t)kind,
                                        .form = (uint8_t)form,
                                        .flags = (uint8_t)flags};
}

static int ours(int whose)
{
    return whose == OURS ? INDEX_EXTENSION : 0;
}

static const char *join(const char *a, const char *b)
{
    size_t n = strlen(a) + strlen(b) + 2;
    char *s = malloc(n);
    if (!s)
        die("out of memory");
    snprintf(s, n, "%s-%s", a, b);
    return s;
}

static void gather_ops(void)
{
#define OP(id, name, parent, tails, where, cats, mods, ids)                                        \
    add_name(name, WORD_OP, OP_##id, FORM_PLAIN, ours(where));
#include "vocab/ops.def"
#undef OP
#define OP_ALIAS(name, op, whose, columns, since)                                                  \
    add_name(name, WORD_OP, OP_##since, FORM_PLAIN, INDEX_ALIAS | ours(whose));
#define FILTER_FORM(name, filter, form, whose)
#define FILTER_ALIAS(name, filter, form, whose)
#define MODIFIER_ALIAS(name, mod, whose)
#include "vocab/aliases.def"
#undef OP_ALIAS
#undef FILTER_FORM
#undef FILTER_ALIAS
#undef MODIFIER_ALIAS
}

/* A filter's own name means its literal form when it takes strings that have forms. */
static int plain_form(int arg)
{
    return arg == ARG_PATH || arg == ARG_STRING ? FORM_LITERAL : FORM_PLAIN;
}

static void imply_form(unsigned filter, int form, const char *suffix)
{
    if (spelling[filter][form])
        return;
    const char *text = join(filter_row[filter].name, suffix);
    spelling[filter][form] = text;
    add_name(text, WORD_FILTER, filter, form, ours(filter_row[filter].whose));
}

static void gather_filter(unsigned filter)
{
    const char *text = filter_row[filter].name;
    int arg = filter_row[filter].arg;
    add_name(text, WORD_FILTER, filter, plain_form(arg), ours(filter_row[filter].whose));
    spelling[filter][FORM_PLAIN] = text;
    if (arg == ARG_STRING || arg == ARG_NAME)
        spelling[filter][FORM_LITERAL] = text;
    if (arg == ARG_PATH)
        imply_form(filter, FORM_LITERAL, "literal");
    if (arg == ARG_PATH)
        imply_form(filter, FORM_SUBPATH, "subpath");
    if (arg == ARG_PATH || arg == ARG_STRING) {
        imply_form(filter, FORM_PREFIX, "prefix");
        imply_form(filter, FORM_REGEX, "regex");
    }
}

static void add_form(const char *text, unsigned filter, int form, int flags)
{
    if (spelling[filter][form])
        die("two spellings of one form: \"%s\" and \"%s\"", spelling[filter][form], text);
    spelling[filter][form] = text;
    add_name(text, WORD_FILTER, filter, form, flags);
}

static void gather_filters(void)
{
#define OP_ALIAS(name, op, whose, columns, since)
#define FILTER_FORM(name, filter, form, whose)                                                     \
    add_form(name, FILTER_##filter, FORM_##form, ours(whose));
#define FILTER_ALIAS(name, filter, form, whose)                                                    \
    add_name(name, WORD_FILTER, FILTER_##filter, FORM_##form, INDEX_ALIAS | ours(whose));
#define MODIFIER_ALIAS(name, mod, whose)                                                           \
    add_name(name, WORD_MODIFIER, MOD_##mod, FORM_PLAIN, INDEX_ALIAS | ours(whose));
#include "vocab/aliases.def"
#undef OP_ALIAS
#undef FILTER_FORM
#undef FILTER_ALIAS
#undef MODIFIER_ALIAS
    for (unsigned f = 0; f < FILTER_COUNT; f++)
        gather_filter(f);
}

static void gather_modifiers(void)
{
#define MODIFIER(id, name, ...) add_name(name, WORD_MODIFIER, MOD_##id, FORM_PLAIN, 0);
#include "vocab/modifiers.def"
#undef MODIFIER
}

/* Adds a row to the owner's range, which must end just before it. */
static void extend(struct vocab_range *range, unsigned row, const char *text)
{
    if (!range->count)
        range->first = (uint16_t)row;
    else if (range->first + range->count != row)
        die("constant \"%s\" is not next to its owner's others", text);
    range->count++;
}

static void gather_constants(void)
{
    unsigned row = 0;
#define CONSTANT(filter, name, value)                                                              \
    extend(&filter_range[FILTER_##filter], row, name);                                             \
    add_name(name, WORD_CONSTANT, row++, FORM_PLAIN, 0);
#define EXTRA_CONSTANT(filter, name, value)                                                        \
    extend(&filter_range[FILTER_##filter], row, name);                                             \
    add_name(name, WORD_CONSTANT, row++, FORM_PLAIN, INDEX_ALIAS | INDEX_EXTENSION);
#define MODIFIER_CONSTANT(mod, name, value)                                                        \
    extend(&modifier_range[MOD_##mod], row, name);                                                 \
    add_name(name, WORD_CONSTANT, row++, FORM_PLAIN, 0);
#define SAME_CONSTANTS(filter, like) filter_range[FILTER_##filter] = filter_range[FILTER_##like];
#define MODIFIER_TAKES(mod, like) modifier_range[MOD_##mod] = filter_range[FILTER_##like];
#include "vocab/constants.def"
#undef CONSTANT
#undef EXTRA_CONSTANT
#undef MODIFIER_CONSTANT
#undef SAME_CONSTANTS
#undef MODIFIER_TAKES
}

/* ---- sorting and checking ---- */

static int by_name(const void *left, const void *right)
{
    const struct name *a = left, *b = right;
    int order = strcmp(a->text, b->text);
    if (order)
        return order;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Constants may share a name (one per owner). An operation and a filter may, because their position
 * in a rule distinguishes them. */
static bool may_share(const struct name *a, const struct name *b)
{
    if (a->kind == WORD_CONSTANT && b->kind == WORD_CONSTANT)
        return true;
    return a->kind == WORD_OP && b->kind == WORD_FILTER;
}

static void sort_names(void)
{
    qsort(names, name_count, sizeof(names[0]), by_name);
    uint32_t offset = 0;
    for (size_t i = 0; i < name_count; i++) {
        if (i && !strcmp(names[i - 1].text, names[i].text) && !may_share(&names[i - 1], &names[i]))
            die("\"%s\" has two meanings", names[i].text);
        if (i && !strcmp(names[i - 1].text, names[i].text)) {
            names[i].offset = names[i - 1].offset;
            continue;
        }
        names[i].offset = offset;
        offset += (uint32_t)strlen(names[i].text) + 1;
    }
}

static void check_parents(void)
{
    for (unsigned op = 0; op < OP_COUNT; op++) {
        unsigned steps = 0;
        for (unsigned up = op; up != OP_NONE; up = op_row[up].parent)
            if (++steps > OP_COUNT)
                die("the parents of \"%s\" form a cycle", op_name[op]);
    }
}

/* ---- what follows from the rows ---- */

static void inherit_up(uint64_t categories[OP_COUNT], uint32_t modifiers[OP_COUNT])
{
    for (unsigned op = 0; op < OP_COUNT; op++)
        for (unsigned up = op; up != OP_NONE; up = op_row[up].parent) {
            categories[up] |= op_row[op].categories;
            modifiers[up] |= op_row[op].modifiers;
        }
}

static uint16_t primary(uint64_t categories)
{
    for (unsigned c = 0; c < CAT_COUNT; c++)
        if (categories >> c & 1 && category_primary[c] != FILTER_NONE)
            return category_primary[c];
    return FILTER_NONE;
}

static bool within(unsigned op, unsigned ancestor)
{
    while (op != OP_NONE && op != ancestor)
        op = op_row[op].parent;
    return op == ancestor;
}

/* Subjects that do not follow from the category: incoming connections are identified by their local
 * end, a MIG call by its routine. Descendants follow. */
static const struct {
    uint16_t op, filter;
} own_subject[] = {
    {OP_NETWORK_INBOUND, FILTER_LOCAL},
    {OP_SYSCALL_MIG, FILTER_KERNEL_MIG_ROUTINE},
};

/* An operation without its own subject (process-info*) has that of its descendants, if they
 * agree. */
static uint16_t subject(unsigned op)
{
    for (size_t i = 0; i < sizeof(own_subject) / sizeof(own_subject[0]); i++)
        if (within(op, own_subject[i].op))
            return own_subject[i].filter;
    uint16_t found = primary(op_row[op].categories);
    if (found != FILTER_NONE)
        return found;
    for (unsigned o = 0; o < OP_COUNT; o++) {
        uint16_t theirs = within(o, op) ? primary(op_row[o].categories) : FILTER_NONE;
        if (theirs == FILTER_NONE || theirs == found)
            continue;
        if (found != FILTER_NONE)
            return FILTER_NONE;
        found = theirs;
    }
    return found;
}

/* ---- printing ---- */

static void print_names(void)
{
    puts("static const char name_pool[] =");
    for (size_t i = 0; i < name_count; i++)
        if (!i || names[i].offset != names[i - 1].offset)
            printf("    \"%s\\0\"\n", names[i].text);
    puts("    ;\n");
    printf("static const struct vocab_index_entry name_index[%zu] = {\n", name_count);
    for (size_t i = 0; i < name_count; i++)
        printf("    { %u, %u, %zu, %u, %u, %u },\n", names[i].offset, names[i].id,
               strlen(names[i].text), names[i].kind, names[i].form, names[i].flags);
    puts("};\n");
}

static uint32_t offset_of(const char *text)
{
    for (size_t i = 0; i < name_count; i++)
        if (!strcmp(names[i].text, text))
            return names[i].offset;
    die("\"%s\" is not in the index", text);
}

static void print_spellings(void)
{
    puts("/* Offset in the pool plus one; 0 when the filter has no such form. */");
    puts("static const uint32_t form_spelling[FILTER_COUNT][VOCAB_FORMS] = {");
    for (unsigned f = 0; f < FILTER_COUNT; f++) {
        fputs("    {", stdout);
        for (unsigned form = 0; form < VOCAB_FORMS; form++)
            printf(" %u,", spelling[f][form] ? offset_of(spelling[f][form]) + 1 : 0);
        puts(" },");
    }
    puts("};\n");
}

static void print_ops(void)
{
    static uint64_t categories[OP_COUNT];
    static uint32_t modifiers[OP_COUNT];
    inherit_up(categories, modifiers);
    puts("static const struct {\n    uint64_t categories;\n    uint32_t modifiers;\n"
         "    uint16_t subject;\n} op_reach[OP_COUNT] = {");
    for (unsigned op = 0; op < OP_COUNT; op++)
        printf("    { UINT64_C(0x%llx), 0x%x, %u },\n", (unsigned long long)categories[op],
               modifiers[op], subject(op));
    puts("};\n");
}

static void print_ranges(const char *name, const char *count, const struct vocab_range *r, size_t n)
{
    printf("static const struct vocab_range %s[%s] = {\n", name, count);
    for (size_t i = 0; i < n; i++)
        printf("    { %u, %u },\n", r[i].first, r[i].count);
    puts("};\n");
}

int main(void)
{
    gather_ops();
    gather_filters();
    gather_modifiers();
    gather_constants();
    sort_names();
    check_parents();
    puts("/* Made by tools/vocab-index.c from the .def files; edit those. */\n"
         "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n");
    print_names();
    print_spellings();
    print_ops();
    print_ranges("filter_constants", "FILTER_COUNT", filter_range, FILTER_COUNT);
    print_ranges("modifier_constants", "MOD_COUNT", modifier_range, MOD_COUNT);
    return fflush(stdout) || ferror(stdout);
}
