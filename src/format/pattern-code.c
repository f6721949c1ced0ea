/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Strings → pattern bytecode (docs/formats.md, "Patterns"). A trie of all strings is written node
 * by node: a failed test skips the code below it. Alternatives whose longest string is shorter come
 * first; those of equal length are in the order in which the compiler joins strings, two neighbours
 * at a time, reversing the row with each pass.
 */

#include <string.h>

#include "format/encode-int.h"

enum {
    CODE_END = 0x00,
    CODE_LONG_LITERAL = 0x04,
    CODE_LONG_JUMP = 0x08,
    CODE_ACCEPT = 0x0a,
    CODE_GIVE_UP = 0x0f,
    CODE_LITERAL = 0x40,
    CODE_JUMP = 0x80,
    SHORT_LITERAL_MAX = 64,
    LONG_LITERAL_MAX = 65 + 255,
    SHORT_JUMP_MAX = 128,
    LONG_JUMP_MIN = 129,
    DEPTH_MAX = 200, /* of the trie, which bounds recursion */
};

struct node {
    const char *label; /* bytes leading here */
    uint32_t len;
    bool end;    /* a string ends here */
    bool accept; /* anything may follow */
    uint32_t height;
    struct node *kids, *next; /* in insertion order */
};

struct builder {
    struct arena *arena;
    bool lower;
};

static struct node *new_node(struct builder *b, const char *label, uint32_t len)
{
    struct node *n = arena_new(b->arena, struct node);
    if (n)
        *n = (struct node){.label = label, .len = len};
    return n;
}

/* ---- building ---- */

static struct node *child_for(const struct node *n, char first)
{
    struct node *k = n->kids;
    while (k && k->label[0] != first)
        k = k->next;
    return k;
}

static void append(struct node *n, struct node *kid)
{
    struct node **p = &n->kids;
    while (*p)
        p = &(*p)->next;
    *p = kid;
}

/* Cuts a node's label after `len` bytes; the rest becomes its only child. */
static bool split(struct builder *b, struct node *n, uint32_t len)
{
    struct node *rest = new_node(b, n->label + len, n->len - len);
    if (!rest)
        return false;
    rest->end = n->end;
    rest->accept = n->accept;
    rest->kids = n->kids;
    n->len = len;
    n->end = n->accept = false;
    n->kids = rest;
    return true;
}

static uint32_t common(const struct node *n, const char *s, uint32_t len)
{
    uint32_t i = 0;
    while (i < n->len && i < len && n->label[i] == s[i])
        i++;
    return i;
}

/* Returns NULL when memory is exhausted. An accepting node absorbs everything inserted below it. */
static struct node *insert(struct builder *b, struct node *n, const char *s, uint32_t len)
{
    while (len && !n->accept) {
        struct node *k = child_for(n, s[0]);
        if (!k) {
            k = new_node(b, s, len);
            if (k)
                append(n, k);
            return k;
        }
        uint32_t same = common(k, s, len);
        if (same < k->len && !split(b, k, same))
            return NULL;
        n = k;
        s += same;
        len -= same;
    }
    return n;
}

static void accept_below(struct node *n)
{
    n->accept = true;
    n->end = false;
    n->kids = NULL;
}

/* The string, with room for a subpath's slash at its end. */
static char *text_of(struct builder *b, const struct graph_test *t)
{
    char *s = arena_alloc(b->arena, (size_t)t->len + 2);
    if (!s)
        return NULL;
    for (uint32_t i = 0; i < t->len; i++) {
        bool upper = b->lower && t->str[i] >= 'A' && t->str[i] <= 'Z';
        s[i] = (char)(upper ? t->str[i] + ('a' - 'A') : t->str[i]);
    }
    s[t->len] = '/';
    s[t->len + 1] = '\0';
    return s;
}

static bool add_test(struct builder *b, struct node *root, const struct graph_test *t)
{
    char *s = text_of(b, t);
    bool is_root = t->len == 1 && t->str[0] == '/';
    if (!s || memchr(s, '\0', t->len))
        return false;
    bool prefix = t->how == GRAPH_PREFIX || (t->how == GRAPH_SUBPATH && is_root);
    struct node *n = insert(b, root, s, t->len);
    if (!n)
        return false;
    if (prefix)
        accept_below(n);
    else if (!n->accept)
        n->end = true;
    if (t->how != GRAPH_SUBPATH || is_root)
        return true;
    n = insert(b, root, s, t->len + 1);
    if (n)
        accept_below(n);
    return n != NULL;
}

static bool measure(struct node *n, unsigned depth)
{
    uint32_t most = 0;
    if (depth > DEPTH_MAX)
        return false;
    for (struct node *k = n->kids; k; k = k->next) {
        if (!measure(k, depth + 1))
            return false;
        if (k->height > most)
            most = k->height;
    }
    n->height = n->len + most;
    return true;
}

/* Shorter ones first, stable. */
static struct node *sorted(struct node *kids)
{
    struct node *out = NULL;
    while (kids) {
        struct node *k = kids, **p = &out;
        kids = kids->next;
        while (*p && (*p)->height <= k->height)
            p = &(*p)->next;
        k->next = *p;
        *p = k;
    }
    return out;
}

/* ---- writing ---- */

static void put_failure(struct buf *out, bool last, size_t skip)
{
    if (last) {
        put8(out, CODE_GIVE_UP);
    } else if (skip <= SHORT_JUMP_MAX) {
        put8(out, (unsigned)(CODE_JUMP + skip - 1));
    } else {
        put8(out, CODE_LONG_JUMP);
        put16(out, (unsigned)(skip - LONG_JUMP_MIN));
    }
}

/* As much of the label as one instruction holds. */
static uint32_t put_literal(struct buf *out, const char *s, uint32_t len)
{
    if (len > LONG_LITERAL_MAX)
        len = LONG_LITERAL_MAX;
    if (len > SHORT_LITERAL_MAX) {
        put8(out, CODE_LONG_LITERAL);
        put8(out, len - SHORT_LITERAL_MAX - 1);
    } else {
        put8(out, CODE_LITERAL + len - 1);
    }
    buf_add(out, s, len);
    return len;
}

static void put_below(struct node *n, struct buf *out);

/* Writes what follows the first piece of a label: the other pieces, then the children. */
static void put_rest(struct node *n, uint32_t from, struct buf *out)
{
    while (from < n->len) {
        from += put_literal(out, n->label + from, n->len - from);
        put8(out, CODE_GIVE_UP);
    }
    put_below(n, out);
}

static void put_child(struct node *k, struct buf *out)
{
    struct buf rest = {0};
    uint32_t piece = put_literal(out, k->label, k->len);
    put_rest(k, piece, &rest);
    put_failure(out, !k->next, rest.n);
    if (rest.n)
        buf_add(out, rest.s, rest.n);
    out->failed = out->failed || rest.failed;
    buf_free(&rest);
}

static bool is_subpath(const struct node *n)
{
    return n->end && n->kids && !n->kids->next && n->kids->accept && n->kids->len == 1 &&
           n->kids->label[0] == '/';
}

static void put_below(struct node *n, struct buf *out)
{
    static const char subpath[] = {0x40,     '/',          (char)0x80, CODE_ACCEPT,
                                   CODE_END, CODE_GIVE_UP, CODE_ACCEPT};
    if (n->accept) {
        put8(out, CODE_ACCEPT);
        return;
    }
    if (is_subpath(n)) {
        buf_add(out, subpath, sizeof(subpath));
        return;
    }
    n->kids = sorted(n->kids);
    if (n->end) {
        put8(out, CODE_END);
        put_failure(out, !n->kids, 1);
        put8(out, CODE_ACCEPT);
    }
    for (struct node *k = n->kids; k; k = k->next)
        put_child(k, out);
}

bool pattern_order(struct arena *arena, uint32_t n, uint32_t *order)
{
    /* Runs of adjacent alternatives, back to back in order[]. */
    uint32_t *lens = arena_array(arena, n + 1u, sizeof(*lens));
    uint32_t *next = arena_array(arena, n + 1u, sizeof(*next));
    uint32_t *next_lens = arena_array(arena, n + 1u, sizeof(*next_lens));
    if (!lens || !next || !next_lens)
        return false;
    uint32_t runs = n;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
        lens[i] = 1;
    }
    while (runs > 1) {
        uint32_t pairs = (runs + 1) / 2, from = 0, to = n;
        for (uint32_t p = 0; p < pairs; p++) {
            uint32_t len = lens[2 * p] + (2 * p + 1 < runs ? lens[2 * p + 1] : 0);
            to -= len;
            memcpy(next + to, order + from, len * sizeof(*next));
            next_lens[pairs - 1 - p] = len;
            from += len;
        }
        memcpy(order, next, n * sizeof(*order));
        memcpy(lens, next_lens, pairs * sizeof(*lens));
        runs = pairs;
    }
    return true;
}

bool pattern_code(struct arena *arena, const struct graph_test *const *tests, uint32_t n,
                  bool lower, struct buf *out)
{
    struct builder b = {arena, lower};
    struct node *root = new_node(&b, "", 0);
    uint32_t *order = arena_array(arena, n + 1u, sizeof(*order));
    if (!root || !order || !pattern_order(arena, n, order))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!add_test(&b, root, tests[order[i]]))
            return false;
    if (!measure(root, 0))
        return false;
    struct buf code = {0};
    put_below(root, &code);
    bool fits = buf_ok(&code) && code.n && code.n <= PATTERN_MAX;
    if (fits)
        buf_add(out, code.s, code.n);
    buf_free(&code);
    return fits;
}
