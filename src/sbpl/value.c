/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Constructors, symbols, equality and printing of data. Walks use an explicit stack, so that no
 * nesting in a profile reaches the C stack. */

#include "sbpl/value.h"

#include <inttypes.h>
#include <string.h>

struct val val_nil = {.type = V_NIL};
struct val val_true = {.type = V_BOOL, .num = 1};
struct val val_false = {.type = V_BOOL, .num = 0};
struct val val_void = {.type = V_VOID};
struct val val_eof = {.type = V_EOF};

enum { SYMTAB_START = 256 };

int symtab_init(struct symtab *t, struct arena *arena)
{
    t->arena = arena;
    t->mask = SYMTAB_START - 1;
    t->count = 0;
    t->buckets = arena_array(arena, SYMTAB_START, sizeof(*t->buckets));
    return t->buckets ? 0 : -1;
}

static uint32_t hash_bytes(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h;
}

/* Doubling keeps chains short; on failure they just stay longer. */
static void symtab_grow(struct symtab *t)
{
    uint32_t size = (t->mask + 1) * 2;
    struct symbol **buckets = arena_array(t->arena, size, sizeof(*buckets));
    if (!buckets)
        return;
    for (uint32_t i = 0; i <= t->mask; i++)
        for (struct symbol *s = t->buckets[i], *next; s; s = next) {
            next = s->next;
            s->next = buckets[s->hash & (size - 1)];
            buckets[s->hash & (size - 1)] = s;
        }
    t->buckets = buckets;
    t->mask = size - 1;
}

struct symbol *symbol_intern(struct symtab *t, const char *s, size_t n)
{
    uint32_t h = hash_bytes(s, n);
    for (struct symbol *y = t->buckets[h & t->mask]; y; y = y->next)
        if (y->hash == h && y->v.n == n && memcmp(y->v.s, s, n) == 0)
            return y;
    if (t->count > t->mask)
        symtab_grow(t);
    struct symbol *y = arena_new(t->arena, struct symbol);
    char *name = arena_strndup(t->arena, s, n);
    if (!y || !name)
        return NULL;
    y->v.type = V_SYMBOL;
    y->v.s = name;
    y->v.n = n;
    y->hash = h;
    y->next = t->buckets[h & t->mask];
    t->buckets[h & t->mask] = y;
    t->count++;
    return y;
}

static struct val *make(struct arena *a, enum val_type type)
{
    struct val *v = arena_new(a, struct val);
    if (v)
        v->type = (uint8_t)type;
    return v;
}

struct val *val_int(struct arena *a, int64_t n)
{
    struct val *v = make(a, V_INT);
    if (v)
        v->num = n;
    return v;
}

struct val *val_real(struct arena *a, double d)
{
    struct val *v = make(a, V_REAL);
    if (v)
        v->real = d;
    return v;
}

struct val *val_char(struct arena *a, int64_t c)
{
    struct val *v = make(a, V_CHAR);
    if (v)
        v->num = c;
    return v;
}

struct val *val_string_take(struct arena *a, const char *s, size_t n)
{
    struct val *v = s ? make(a, V_STRING) : NULL;
    if (v) {
        v->s = s;
        v->n = n;
    }
    return v;
}

struct val *val_string(struct arena *a, const char *s, size_t n)
{
    return val_string_take(a, arena_strndup(a, s, n), n);
}

struct val *val_cons(struct arena *a, struct val *car, struct val *cdr, src_pos pos)
{
    struct val *v = car && cdr ? make(a, V_PAIR) : NULL;
    if (v) {
        v->car = car;
        v->cdr = cdr;
        v->pos = pos;
    }
    return v;
}

int64_t val_length(const struct val *list)
{
    const struct val *slow = list;
    int64_t n = 0;
    while (list->type == V_PAIR) {
        list = list->cdr;
        if (++n % 2 == 0) {
            slow = slow->cdr;
            if (slow == list)
                return -1; /* the hare met the tortoise: a circular list */
        }
    }
    return list->type == V_NIL ? n : -1;
}

bool val_eqv(const struct val *a, const struct val *b)
{
    if (a == b)
        return true;
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case V_INT:
    case V_CHAR:
        return a->num == b->num;
    case V_REAL:
        return a->real == b->real;
    case V_OP:
    case V_MODNAME:
        return a->id == b->id;
    case V_MAKER:
        return a->id == b->id && a->form == b->form;
    case V_PRIM:
        return a->prim == b->prim;
    case V_SYNTAX:
        return a->syntax == b->syntax;
    case V_FILTER:
        return a->expr == b->expr;
    default:
        return false;
    }
}

/* Pairs still to compare, as a list of (a . b) cells in the scratch arena. Walking along a cdr does
 * not grow it. */
int val_equal(struct arena *scratch, const struct val *a, const struct val *b, uint64_t *budget)
{
    struct todo {
        const struct val *a, *b;
        struct todo *next;
    } *stack = NULL, *spare = NULL;
    for (;;) {
        while (a != b && a->type == V_PAIR && b->type == V_PAIR) {
            if (*budget == 0)
                return -1;
            --*budget;
            struct todo *t = spare ? spare : arena_new(scratch, struct todo);
            if (!t)
                return -1;
            spare = spare ? spare->next : NULL;
            *t = (struct todo){a->cdr, b->cdr, stack};
            stack = t;
            a = a->car;
            b = b->car;
        }
        bool same = false;
        if (a->type != V_STRING || b->type != V_STRING)
            same = val_eqv(a, b);
        else if (a->n == b->n) {
            uint64_t work = a->n / 16; /* as machine_charge() counts bytes */
            *budget -= *budget < work ? *budget : work;
            same = memcmp(a->s, b->s, a->n) == 0;
        }
        if (!same)
            return 0;
        if (!stack)
            return 1;
        struct todo *t = stack;
        a = t->a;
        b = t->b;
        stack = t->next;
        t->next = spare;
        spare = t;
    }
}

static void print_char(int64_t c, struct buf *out)
{
    if (c == ' ')
        buf_str(out, "#\\space");
    else if (c == '\n')
        buf_str(out, "#\\newline");
    else if (c > 32 && c < 127)
        buf_fmt(out, "#\\%c", (char)c);
    else
        buf_fmt(out, "#\\x%" PRIx64, c);
}

static void print_atom(const struct val *v, size_t limit, struct buf *out)
{
    size_t n = v->type == V_STRING || v->type == V_SYMBOL ? v->n : 0;
    n = n < limit ? n : limit;
    switch (v->type) {
    case V_NIL:
        buf_str(out, "()");
        break;
    case V_BOOL:
        buf_str(out, v->num ? "#t" : "#f");
        break;
    case V_INT:
        buf_fmt(out, "%" PRId64, v->num);
        break;
    case V_REAL:
        buf_fmt(out, "%g", v->real);
        break;
    case V_CHAR:
        print_char(v->num, out);
        break;
    case V_STRING:
        buf_sbpl(out, v->s, n);
        break;
    case V_SYMBOL:
        buf_safe(out, v->s, n);
        break;
    case V_OP:
        buf_str(out, vocab_ops[v->id].name);
        break;
    case V_MODNAME:
        buf_str(out, vocab_modifiers[v->id].name);
        break;
    default:
        buf_fmt(out, "#<%s>", val_type_words(v));
    }
    if ((v->type == V_STRING || v->type == V_SYMBOL) && n < v->n)
        buf_str(out, "…");
}

void val_print(const struct val *v, size_t limit, struct buf *out)
{
    enum { DEEP = 64 };
    const struct val *rest[DEEP]; /* the rest of each open list */
    size_t depth = 0, end = out->n + limit;
    for (;;) {
        if (out->n >= end || depth == DEEP) {
            buf_str(out, "…");
            return;
        }
        if (v->type == V_PAIR) {
            buf_chr(out, '(');
            rest[depth++] = v->cdr;
            v = v->car;
            continue;
        }
        print_atom(v, end - out->n, out);
        while (depth && rest[depth - 1]->type == V_NIL) {
            buf_chr(out, ')');
            depth--;
        }
        if (!depth)
            return;
        v = rest[depth - 1];
        buf_str(out, v->type == V_PAIR ? " " : " . ");
        rest[depth - 1] = v->type == V_PAIR ? v->cdr : &val_nil;
        if (v->type == V_PAIR)
            v = v->car;
    }
}

const char *val_type_words(const struct val *v)
{
    static const char *const words[] = {
        [V_NIL] = "an empty list",
        [V_BOOL] = "a boolean",
        [V_VOID] = "no value",
        [V_EOF] = "end of file",
        [V_INT] = "a number",
        [V_REAL] = "a number",
        [V_CHAR] = "a character",
        [V_STRING] = "a string",
        [V_SYMBOL] = "a symbol",
        [V_PAIR] = "a list",
        [V_CLOSURE] = "a procedure",
        [V_MACRO] = "a macro",
        [V_PRIM] = "a procedure",
        [V_SYNTAX] = "a special form",
        [V_OP] = "an operation",
        [V_MAKER] = "the name of a filter",
        [V_MODNAME] = "the name of a modifier",
        [V_FILTER] = "a filter",
        [V_MODIFIER] = "a modifier",
        [V_PORT] = "a port",
    };
    return words[v->type];
}
