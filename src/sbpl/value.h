/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SBPL_VALUE_H
#define BK_SBPL_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/source.h"
#include "graph/build.h"
#include "graph/graph.h"

/*
 * Data of the Scheme subset. Every datum is in the unit's arena and freed with it; the byte budget
 * replaces a garbage collector. A pair made by the reader records where its *car* was written, so
 * the pair that holds a datum knows its position.
 */
enum val_type {
    V_NIL,
    V_BOOL,
    V_VOID, /* the value of define, for-each, allow… */
    V_EOF,
    V_INT,
    V_REAL,
    V_CHAR,
    V_STRING,
    V_SYMBOL,
    V_PAIR,
    V_CLOSURE,
    V_MACRO,    /* a closure applied to the unevaluated form */
    V_PRIM,     /* built-in procedure */
    V_SYNTAX,   /* built-in special form */
    V_OP,       /* operation */
    V_MAKER,    /* filter name: applied to arguments, it makes a filter */
    V_MODNAME,  /* modifier name, for (with name …) */
    V_FILTER,   /* a condition */
    V_MODIFIER, /* (with …) or an (apply-message-filter …) */
    V_PORT,     /* open-input-string */
    V_UNREAD,   /* a definition in a precompiled text, not read yet: only in symbol.global
                 * (precompiled.h) */
};

struct env;
struct machine;
struct val;
struct prim;
struct syntax;

struct port {
    const char *s;
    size_t n, at;
    src_pos base; /* position to report: the open-input-string call */
};

struct val {
    uint8_t type; /* enum val_type */
    uint8_t form; /* V_MAKER: enum vocab_form */
    uint16_t id;  /* V_OP, V_MAKER, V_MODNAME: vocabulary id; V_STRING: see string_of_param() */
    src_pos pos;  /* V_PAIR: where the car was written, 0 when computed */
    union {
        struct {
            struct val *car, *cdr;
        };
        int64_t num; /* V_INT, V_CHAR, V_BOOL */
        double real;
        struct {
            const char *s;
            size_t n;
        };
        struct {
            struct val *lambda; /* (parameters . body) */
            struct env *env;
        };
        const struct prim *prim;
        const struct syntax *syntax;
        const struct graph_expr *expr;
        const struct graph_mod *mod;
        struct port *port;
        struct { /* V_UNREAD: a position in a text */
            const struct source *text;
            size_t at;
        };
    };
};

struct symbol {
    struct val v; /* V_SYMBOL; s and n are its name */
    struct val *global;
    struct symbol *next;
    uint32_t hash;
};

extern struct val val_nil, val_true, val_false, val_void, val_eof;

struct symtab {
    struct arena *arena;
    struct symbol **buckets;
    uint32_t mask, count;
};

/* All constructors return NULL when the arena's budget is exhausted. */
int symtab_init(struct symtab *t, struct arena *arena);
struct symbol *symbol_intern(struct symtab *t, const char *s, size_t n);

struct val *val_int(struct arena *a, int64_t n);
struct val *val_real(struct arena *a, double d);
struct val *val_char(struct arena *a, int64_t c);
struct val *val_string(struct arena *a, const char *s, size_t n); /* copies */
struct val *val_string_take(struct arena *a, const char *s, size_t n);
struct val *val_cons(struct arena *a, struct val *car, struct val *cdr, src_pos pos);

static inline struct val *val_bool(bool b)
{
    return b ? &val_true : &val_false;
}

static inline bool val_is(const struct val *v, enum val_type type)
{
    return v->type == type;
}

/* Everything except #f is true. */
static inline bool val_truth(const struct val *v)
{
    return v != &val_false;
}

static inline struct symbol *val_symbol(struct val *v)
{
    return v->type == V_SYMBOL ? (struct symbol *)v : NULL;
}

/* Length of a proper list; -1 if it is improper or circular. */
int64_t val_length(const struct val *list);

/* Same datum, or equal numbers, characters, operations… */
bool val_eqv(const struct val *a, const struct val *b);
/* Structural equality, with an explicit stack in the scratch arena. Each comparison takes one from
 * *budget. Returns -1 when that or the arena is exhausted, as with circular data. */
int val_equal(struct arena *scratch, const struct val *a, const struct val *b, uint64_t *budget);

/* Prints v like `write`, at most `limit` bytes, then "…". */
void val_print(const struct val *v, size_t limit, struct buf *out);
const char *val_type_words(const struct val *v); /* "a string", "the operation file-read*"… */

#endif
