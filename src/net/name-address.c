/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A hash table from names to numbers and an array back. Number n stands for base + n in both
 * families. Everything is in one arena, freed when the gate ends.
 */

#include "net/name-address.h"

#include <string.h>

/* 198.18.0.x belongs to the sandbox itself, so names start at 198.18.1.0. */
static const uint8_t base_v4[16] = {[10] = 0xff, [11] = 0xff, [12] = 198, [13] = 18, [14] = 1};
/* A unique local prefix with a fixed random part. */
static const uint8_t base_v6[16] = {0xfd, 0x62, 0x75, 0x63, 0x6b, 0x6c, [13] = 1};

enum { FIRST_SLOTS = 256, FIRST_NAMES = 128 };

static uint32_t hash_name(const struct peer *h)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < h->len; i++)
        hash = (hash ^ (uint8_t)h->name[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(hash ^ hash >> 32);
}

int name_address_init(struct name_addresses *t)
{
    memset(t, 0, sizeof(*t));
    arena_init(&t->arena, NAMES_BYTES);
    t->nslots = FIRST_SLOTS;
    t->slots = arena_array(&t->arena, FIRST_SLOTS, sizeof(*t->slots));
    t->by_number = arena_array(&t->arena, FIRST_NAMES, sizeof(*t->by_number));
    if (!t->slots || !t->by_number)
        return -1;
    memset(t->slots, 0, FIRST_SLOTS * sizeof(*t->slots));
    return 0;
}

void name_address_free(struct name_addresses *t)
{
    arena_free(&t->arena);
    memset(t, 0, sizeof(*t));
}

static uint32_t slot_of(const struct name_addresses *t, const struct peer *name)
{
    uint32_t at = hash_name(name) & (t->nslots - 1);
    while (t->slots[at] && !peer_equal(t->by_number[t->slots[at] - 1], name))
        at = (at + 1) & (t->nslots - 1);
    return at;
}

/* Doubles both tables. The old ones stay in the arena, which at most doubles its size. */
static int grow_tables(struct name_addresses *t)
{
    uint32_t nslots = t->nslots * 2;
    uint32_t *slots = arena_array(&t->arena, nslots, sizeof(*slots));
    struct peer **list = arena_array(&t->arena, nslots / 2, sizeof(*list));
    if (!slots || !list)
        return -1;
    memset(slots, 0, nslots * sizeof(*slots));
    memcpy(list, t->by_number, t->n * sizeof(*list));
    t->slots = slots;
    t->nslots = nslots;
    t->by_number = list;
    for (uint32_t i = 0; i < t->n; i++)
        t->slots[slot_of(t, t->by_number[i])] = i + 1;
    return 0;
}

/* Copies only the used part of the name: most names are short. */
static struct peer *copy_name(struct name_addresses *t, const struct peer *name)
{
    return arena_dup(&t->arena, name, offsetof(struct peer, name) + name->len + 1);
}

bool name_address_knows(const struct name_addresses *t, const struct peer *name)
{
    return t->slots[slot_of(t, name)] != 0;
}

int64_t name_address_number(struct name_addresses *t, const struct peer *name)
{
    uint32_t at = slot_of(t, name);
    if (t->slots[at])
        return t->slots[at] - 1;
    if (t->n == NAMES_MAX || (t->n == t->nslots / 2 && grow_tables(t) < 0))
        return -1;
    struct peer *copy = copy_name(t, name);
    if (!copy)
        return -1;
    at = slot_of(t, name);
    t->by_number[t->n] = copy;
    t->slots[at] = ++t->n;
    return t->n - 1;
}

static void add_number(uint8_t *low, uint32_t number)
{
    /* cannot overflow: both bases leave the upper bits clear */
    uint32_t v = (uint32_t)low[0] << 16 | (uint32_t)low[1] << 8 | low[2];
    v += number;
    low[0] = (uint8_t)(v >> 16);
    low[1] = (uint8_t)(v >> 8);
    low[2] = (uint8_t)v;
}

void name_address_get(uint32_t number, bool v6, uint8_t addr[16])
{
    memcpy(addr, v6 ? base_v6 : base_v4, 16);
    add_number(addr + 13, number);
}

bool name_address_covers(const uint8_t addr[16])
{
    static const size_t whole = 13;
    if (memcmp(addr, base_v6, whole) == 0)
        return true;
    return memcmp(addr, base_v4, whole) == 0 && (addr[13] & 0xfe) == 18;
}

const struct peer *name_address_find(const struct name_addresses *t, const uint8_t addr[16])
{
    if (!name_address_covers(addr))
        return NULL;
    const uint8_t *base = addr_is_v4(addr) ? base_v4 : base_v6;
    uint32_t first = (uint32_t)base[13] << 16 | (uint32_t)base[14] << 8 | base[15];
    uint32_t number = ((uint32_t)addr[13] << 16 | (uint32_t)addr[14] << 8 | addr[15]) - first;
    return number < t->n ? t->by_number[number] : NULL;
}
