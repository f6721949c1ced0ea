/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Families of operations, and which operations of a family are allowed alike. */

#include <string.h>

#include "analyze/catalog-int.h"

/* ---- families ---- */

static const struct {
    const char *name, *words;
} families[] = {
#define FAMILY(id, name, words) {name, words},
#define CAN(family, op)
#include "analyze/catalog.def"
#undef FAMILY
#undef CAN
};

static const uint8_t family_of[OP_COUNT] = {
#define FAMILY(id, name, words)
#define CAN(family, op) [OP_##op] = CATALOG_##family + 1,
#include "analyze/catalog.def"
#undef FAMILY
#undef CAN
};

const char *catalog_family_name(enum catalog_family family)
{
    return families[family].name;
}

const char *catalog_family_words(enum catalog_family family)
{
    return families[family].words;
}

enum catalog_family catalog_family_of(enum vocab_op op)
{
    for (unsigned at = op; at < OP_COUNT; at = vocab_ops[at].parent)
        if (family_of[at])
            return (enum catalog_family)(family_of[at] - 1);
    return CATALOG_OTHER;
}

/* ---- entries ---- */

/* Collects operations of the family that are allowed as op is; none if an earlier one already
 * is. */
static uint32_t allowed_alike(const struct allow_conditions *c, const bool *ops, uint32_t op,
                              uint16_t *out)
{
    uint32_t n = 0;
    enum catalog_family family = catalog_family_of((enum vocab_op)op);
    for (uint32_t other = 0; other < OP_COUNT; other++) {
        if (!ops[other] || catalog_family_of((enum vocab_op)other) != family ||
            memcmp(c->when[other], c->when[op], sizeof(c->when[op])) != 0)
            continue;
        if (other < op)
            return 0;
        out[n++] = (uint16_t)other;
    }
    return n;
}

static int list_entries(struct arena *arena, const struct allow_conditions *c, const bool *ops,
                        struct catalog *out, struct bk_err *err)
{
    struct catalog_entry *entries = arena_array(arena, OP_COUNT, sizeof(*entries));
    uint16_t *list = arena_array(arena, OP_COUNT, sizeof(*list));
    uint32_t n = 0;
    if (!entries || !list)
        return err_nomem(err);
    for (uint32_t f = 0; f < CATALOG_FAMILIES; f++)
        for (uint32_t op = 0; op < OP_COUNT; op++) {
            uint32_t nops = 0;
            if (ops[op] && catalog_family_of((enum vocab_op)op) == f)
                nops = allowed_alike(c, ops, op, list);
            if (nops == 0)
                continue;
            entries[n] =
                (struct catalog_entry){.family = (enum catalog_family)f, .ops = list, .nops = nops};
            list += nops;
            if (catalog_clauses(arena, c->when[op], &entries[n++], err) < 0)
                return -1;
        }
    out->entries = entries;
    out->n = n;
    return 0;
}

int catalog_make(const struct graph *const *layers, size_t nlayers, const bool *ops,
                 struct arena *arena, struct catalog *out, struct bk_err *err)
{
    struct catalog made = {.fold_case = graph_options_of(layers[nlayers - 1])->fold_case};
    struct allow_conditions *c = arena_new(arena, struct allow_conditions);
    bool here[OP_COUNT];
    for (uint32_t op = 0; op < OP_COUNT; op++)
        here[op] = !vocab_ops[op].message_filter && (!ops || ops[op]);
    if (!c)
        return err_nomem(err);
    if (catalog_conditions(layers, nlayers, arena, c, err) < 0 ||
        list_entries(arena, c, here, &made, err) < 0)
        return -1;
    *out = made;
    return 0;
}
