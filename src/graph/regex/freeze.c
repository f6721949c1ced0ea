/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What a set computes once all its patterns are added.
 *
 * Hubs with a single exit are bypassed, so that a literal is a chain of byte nodes. Bytes that no
 * node distinguishes share a class, which keeps DFA rows short. The nodes that the root reaches
 * without a `^` are alive at every byte of every subject: they are listed here once and left out of
 * the states.
 */

#include <string.h>

#include "graph/regex/nfa.h"

static uint32_t bypass(const struct regex_set *set, uint32_t node)
{
    const struct nfa_node *n = &set->nodes[node];
    return node && n->kind == NFA_SPLIT && !n->b ? n->a : node;
}

/* Items are never empty, so a hub reaches another hub only through its own nodes: one step of
 * bypassing is enough. */
static void bypass_all(struct regex_set *set)
{
    for (uint32_t i = 1; i < set->nnodes; i++) {
        struct nfa_node *n = &set->nodes[i];
        if (n->kind == NFA_MATCH)
            continue;
        n->a = bypass(set, n->a);
        if (n->kind == NFA_SPLIT)
            n->b = bypass(set, n->b);
    }
}

/* Splits every class into the bytes inside and outside the set. */
static uint32_t refine(uint8_t *classes, const struct byteset *s)
{
    uint16_t renamed[256][2];
    memset(renamed, 0xff, sizeof(renamed));
    uint32_t n = 0;
    for (unsigned b = 0; b < 256; b++) {
        uint16_t *r = &renamed[classes[b]][byteset_has(s, b)];
        if (*r == 0xffff)
            *r = (uint16_t)n++;
        classes[b] = (uint8_t)*r;
    }
    return n;
}

/* Gives every byte that occurs on its own a separate class, all at once. */
static uint32_t isolate(const struct regex_set *set, uint8_t *classes)
{
    struct byteset alone = {{0}};
    for (uint32_t i = 1; i < set->nnodes; i++)
        if (set->nodes[i].kind == NFA_BYTE)
            byteset_add(&alone, set->nodes[i].b);
    uint16_t renamed[256];
    memset(renamed, 0xff, sizeof(renamed));
    uint32_t n = 0;
    for (unsigned b = 0; b < 256; b++) {
        if (byteset_has(&alone, b)) {
            classes[b] = (uint8_t)n++;
            continue;
        }
        uint16_t *r = &renamed[classes[b]];
        if (*r == 0xffff)
            *r = (uint16_t)n++;
        classes[b] = (uint8_t)*r;
    }
    return n;
}

static void make_classes(struct regex_set *set)
{
    uint8_t classes[256] = {0};
    for (uint32_t i = 0; i < set->pool.n; i++)
        refine(classes, &set->pool.sets[i]);
    set->nclasses = isolate(set, classes);
    /* Lower-case letters come last, so that they become the sample bytes of their classes. */
    for (unsigned b = 0; b < 256; b++) {
        bool folded = set->fold && b >= 'A' && b <= 'Z';
        uint8_t c = classes[folded ? b - 'A' + 'a' : b];
        set->class_off[b] = (uint16_t)(c * sizeof(uint32_t));
        set->sample[c] = (uint8_t)b;
    }
}

/* Found nodes fill an array from the front, nodes left to visit fill it from the back. A node is
 * either found or a split that adds at most one node to visit, so the two never meet. */
static int find_implied(struct regex_set *set)
{
    uint32_t room = set->nnodes + 1, n = 0, todo = room;
    uint32_t *list = arena_array(set->arena, room, sizeof(*list));
    if (!list)
        return -1;
    list[--todo] = set->hubs[0].node;
    while (todo < room) {
        uint32_t i = list[todo++];
        struct nfa_node *node = &set->nodes[i];
        if (!i || node->implied)
            continue;
        node->implied = true;
        if (node->kind == NFA_SPLIT) {
            list[--todo] = node->a;
            list[--todo] = node->b;
        } else if (node->kind <= NFA_END) {
            list[n++] = i;
        }
    }
    set->implied = list;
    set->nimplied = n;
    return 0;
}

int nfa_finish(struct regex_set *set)
{
    bypass_all(set);
    make_classes(set);
    return find_implied(set);
}
