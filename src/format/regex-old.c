/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Regexes of versions 1 and 2: nodes of an automaton that name their successors.
 *
 *   version 1  six big-endian words (1, nodes, start, accept, classes, captures), nodes of three
 *              words (kind, next, argument), then each class: how many words, and pairs of them
 *   version 2  a big-endian 2, then little-endian words (a mark, nodes, start, accept, classes),
 *              nodes of eight bytes (u8 kind, u16 next, u8 0, u32 argument), then for all classes a
 *              mark, their size, where each begins (u32), how long each is (u8), and pairs of bytes
 *
 * An argument is a byte, the other successor, or a class.
 */

#include <string.h>

#include "format/format-int.h"

enum { HEADER = 24, V1_NODE = 12, V2_NODE = 8, CLASSES_MAX = 4096 };

enum kind {
    KIND_CHAR = 0x10,
    KIND_ACCEPT = 0x22,
    KIND_PAREN_CLOSE = 0x23,
    KIND_PAREN_OPEN = 0x24,
    KIND_SPLIT = 0x25,
    KIND_SPLIT_LAST = 0x28, /* version 2 has four variants */
    KIND_DOT = 0x30,
    KIND_EPSILON = 0x31,
    KIND_CARET = 0x32,
    KIND_DOLLAR = 0x33,
    KIND_CLASS = 0x34,
    KIND_NOT_CLASS = 0x35,
};

struct old {
    struct budget *g;
    struct span s;
    uint32_t n, start, accept, nclasses;
    size_t node; /* bytes per node */
    uint8_t (*classes)[32];
};

struct old_node {
    uint32_t kind, next, arg;
    size_t at;
};

static int refuse(const struct old *o, size_t at, const char *why, struct bk_err *err)
{
    return err_set(err, BK_E_INPUT, "offset 0x%zx: %s", o->s.offset + at, why);
}

static struct old_node node_at(const struct old *o, uint32_t i)
{
    const uint8_t *p = o->s.p + HEADER + (size_t)i * o->node;
    size_t at = HEADER + (size_t)i * o->node;
    if (o->node == V1_NODE)
        return (struct old_node){get32_big(p), get32_big(p + 4), get32_big(p + 8), at};
    /* a nonzero unused byte makes the kind unknown */
    uint32_t kind = p[0] == KIND_ACCEPT ? p[0] : (uint32_t)p[3] << 8 | p[0];
    return (struct old_node){kind, get16(p + 1), get32(p + 4), at};
}

/* ---- classes ---- */

static void add_range(uint8_t set[32], unsigned from, unsigned to)
{
    for (unsigned c = from; c <= to; c++)
        set[c / 8] |= (uint8_t)(1 << c % 8);
}

static int room_for_classes(struct old *o, struct bk_err *err)
{
    if (o->nclasses > CLASSES_MAX)
        return refuse(o, 0, "a regex has too many classes", err);
    o->classes = arena_array(&o->g->arena, o->nclasses + 1u, sizeof(*o->classes));
    if (!o->classes)
        return budget_exhausted(o->s.offset, err);
    memset(o->classes, 0, (o->nclasses + 1u) * sizeof(*o->classes));
    return 0;
}

static int v1_classes(struct old *o, struct bk_err *err)
{
    size_t at = HEADER + (size_t)o->n * V1_NODE;
    if (room_for_classes(o, err) < 0)
        return -1;
    for (uint32_t i = 0; i < o->nclasses; i++) {
        if (o->s.n - at < 4 || get32_big(o->s.p + at) > (o->s.n - at - 4) / 4)
            return refuse(o, at, "a class exceeds its regex", err);
        uint32_t words = get32_big(o->s.p + at);
        if (words % 2)
            return refuse(o, at, "a regex's class has an odd number of bounds", err);
        at += 4;
        for (uint32_t k = 0; k < words; k += 2, at += 8) {
            uint32_t from = get32_big(o->s.p + at), to = get32_big(o->s.p + at + 4);
            if (from > to || to > 255)
                return refuse(o, at, "a range in a regex's class exceeds a byte", err);
            add_range(o->classes[i], from, to);
        }
    }
    return at == o->s.n ? 0 : refuse(o, at, "extra bytes after a regex", err);
}

static int v2_classes(struct old *o, struct bk_err *err)
{
    size_t at = HEADER + (size_t)o->n * V2_NODE, n = o->nclasses;
    if (room_for_classes(o, err) < 0)
        return -1;
    if (!n)
        return at == o->s.n ? 0 : refuse(o, at, "extra bytes after a regex", err);
    if (o->s.n - at < 8 + 5 * n || get32(o->s.p + at + 4) != o->s.n - at - 8)
        return refuse(o, at, "a regex's classes do not fit its length", err);
    const uint8_t *starts = o->s.p + at + 8, *lens = starts + 4 * n, *bytes = lens + n;
    size_t room = (size_t)(o->s.p + o->s.n - bytes);
    for (size_t i = 0; i < n; i++) {
        uint32_t from = get32(starts + 4 * i);
        if (from > room || lens[i] > room - from || lens[i] % 2)
            return refuse(o, at + 8 + 4 * i, "a class exceeds its regex", err);
        for (unsigned k = 0; k < lens[i]; k += 2)
            add_range(o->classes[i], bytes[from + k], bytes[from + k + 1]);
    }
    return 0;
}

/* ---- nodes ---- */

static int add_class(struct automaton *a, const struct old *o, uint32_t i, const struct old_node *x,
                     struct bk_err *err)
{
    uint8_t set[32];
    if (x->arg >= o->nclasses)
        return refuse(o, x->at, "a regex's node refers to a missing class", err);
    for (unsigned k = 0; k < sizeof(set); k++)
        set[k] = (uint8_t)(x->kind == KIND_CLASS ? o->classes[x->arg][k] : ~o->classes[x->arg][k]);
    return automaton_bytes(a, i, x->next, set) < 0 ? budget_exhausted(o->s.offset + x->at, err) : 0;
}

static bool is_split(const struct old *o, uint32_t kind)
{
    return kind == KIND_SPLIT ||
           (o->node == V2_NODE && kind > KIND_SPLIT && kind <= KIND_SPLIT_LAST);
}

static int add_node(struct automaton *a, const struct old *o, uint32_t i, struct bk_err *err)
{
    struct old_node x = node_at(o, i);
    int r;
    if (x.kind == KIND_ACCEPT)
        return 0;
    if (x.next >= o->n || (is_split(o, x.kind) && x.arg >= o->n))
        return refuse(o, x.at, "a regex's node refers to a missing node", err);
    if (is_split(o, x.kind)) {
        r = automaton_empty(a, i, x.next) < 0 ? -1 : automaton_empty(a, i, x.arg);
        return r < 0 ? budget_exhausted(o->s.offset + x.at, err) : 0;
    }
    switch (x.kind) {
    case KIND_CHAR:
        if (!(x.arg & 0xff))
            return refuse(o, x.at, "a regex contains a NUL byte", err);
        r = regex_add_byte(a, i, x.next, (uint8_t)x.arg);
        break;
    case KIND_DOT:
        r = automaton_bytes(a, i, x.next, regex_every_byte);
        break;
    case KIND_CARET:
    case KIND_DOLLAR:
        r = automaton_anchor(a, i, x.next, x.kind == KIND_CARET ? '^' : '$');
        break;
    case KIND_PAREN_CLOSE:
    case KIND_PAREN_OPEN:
    case KIND_EPSILON:
        r = automaton_empty(a, i, x.next);
        break;
    case KIND_CLASS:
    case KIND_NOT_CLASS:
        return add_class(a, o, i, &x, err);
    default:
        return err_set(err, BK_E_INPUT, "offset 0x%zx: unknown kind 0x%x of a regex's node",
                       o->s.offset + x.at, x.kind);
    }
    return r < 0 ? budget_exhausted(o->s.offset + x.at, err) : 0;
}

static int text(struct old *o, struct graph_test *out, struct bk_err *err)
{
    if (o->n > AUTOMATON_STATES_MAX)
        return regex_too_large(o->s.offset, err);
    if (node_at(o, o->accept).kind != KIND_ACCEPT)
        return refuse(o, 0, "a regex's last node does not accept", err);
    struct automaton *a = automaton_new(o->g, o->n);
    if (!a)
        return budget_exhausted(o->s.offset, err);
    for (uint32_t i = 0; i < o->n; i++)
        if (add_node(a, o, i, err) < 0)
            return -1;
    return regex_finish(a, o->start, o->accept, o->s.offset, out, err);
}

static int check_size(const struct old *o, struct bk_err *err)
{
    if (o->n > (o->s.n - HEADER) / o->node || o->start >= o->n || o->accept >= o->n)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: a regex's %u nodes do not fit its length",
                       o->s.offset, o->n);
    return 0;
}

int regex_v1_text(struct budget *g, struct span s, struct graph_test *out, struct bk_err *err)
{
    struct old o = {.g = g, .s = s, .node = V1_NODE};
    if (s.n < HEADER)
        return refuse(&o, 0, "not a regex of version 1", err);
    o.n = get32_big(s.p + 4);
    o.start = get32_big(s.p + 8);
    o.accept = get32_big(s.p + 12);
    o.nclasses = get32_big(s.p + 16);
    return check_size(&o, err) < 0 || v1_classes(&o, err) < 0 ? -1 : text(&o, out, err);
}

int regex_v2_text(struct budget *g, struct span s, struct graph_test *out, struct bk_err *err)
{
    struct old o = {.g = g, .s = s, .node = V2_NODE};
    if (s.n < HEADER)
        return refuse(&o, 0, "not a regex of version 2", err);
    o.n = get32(s.p + 8);
    o.start = get32(s.p + 12);
    o.accept = get32(s.p + 16);
    o.nclasses = get32(s.p + 20);
    return check_size(&o, err) < 0 || v2_classes(&o, err) < 0 ? -1 : text(&o, out, err);
}
