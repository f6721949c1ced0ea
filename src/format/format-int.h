/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_FORMAT_INT_H
#define BK_FORMAT_INT_H

#include "base/arena.h"
#include "format/format.h"

/* Private to src/format. */

/*
 * What decoding may cost, proportional to the file: hostile blobs point ten thousand nodes at one
 * long pattern, or fold a pattern into exponentially many.
 */
struct budget {
    struct arena arena; /* strings and lists */
    uint64_t work;      /* bytes that may still be examined */
};

void budget_init(struct budget *g, const struct blob *b);
void budget_free(struct budget *g);
#define OWN_budget budget_free
int budget_spend(struct budget *g, size_t work, size_t offset, struct bk_err *err);
int budget_exhausted(size_t offset, struct bk_err *err);

/* Tests of which any may hold. */
struct alternatives {
    struct graph_test *tests;
    uint32_t n, cap;
};
int alternatives_add(struct budget *g, struct alternatives *a, const struct graph_test *t,
                     size_t offset, struct bk_err *err);

static inline uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t get32(const uint8_t *p)
{
    return (uint32_t)get16(p) | (uint32_t)get16(p + 2) << 16;
}

static inline uint32_t get32_big(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

enum { BLOB_ENTITLEMENT_LOAD = 0x1e };

/* A range of the file. */
struct span {
    const uint8_t *p;
    size_t n, offset;
};

/* Finds the record at arg × 8: its length (u16 in the pool of eras D and E, else u32), then
 * bytes. */
int blob_record(const struct blob *b, uint16_t arg, struct span *out, struct bk_err *err);
/* The same for a text, without the NUL at its end; it contains no other. */
int blob_text(const struct blob *b, uint16_t arg, struct span *out, struct bk_err *err);

int blob_filter_id_a(enum vocab_filter filter);             /* era A's, or -1 */
enum vocab_os blob_os_of(enum blob_era era, uint32_t nops); /* VOCAB_OS_ANY: not known */

/* open.c: checks that every edge is inside the file. */
int blob_check_edges(const struct blob *b, struct bk_err *err);

/* argument.c: the tests of a filter node. None means that nothing matches. */
int blob_tests(const struct blob *b, struct budget *g, const struct blob_node *node,
               struct alternatives *out, struct bk_err *err);

/* Whether the node is negated: a boolean #f. */
bool blob_is_negated(const struct blob *b, const struct blob_node *n);

/* Whether a filter without a value has the argument 0, rather than 1. */
bool blob_flag_is_zero(const struct blob *b, enum vocab_filter filter);

/* Finds the name of a variable that something at `offset` refers to. */
int blob_variable(const struct blob *b, uint32_t index, size_t offset, struct span *name,
                  struct bk_err *err);

/* Bytes of patterns (docs/formats.md). */
enum {
    OP_END_OF_STRING = 0x00,
    OP_LONG_VARIABLE = 0x01,
    OP_THROUGH = 0x02,     /* to the next c, inclusive */
    OP_THROUGH_ANY = 0x03, /* to some c, inclusive */
    OP_LONG_LITERAL = 0x04,
    OP_RESTORE = 0x05,
    OP_SAVE = 0x06,
    OP_FORGET = 0x07,
    OP_LONG_JUMP = 0x08,
    OP_ACCEPT = 0x0a,
    OP_RANGES = 0x0b,
    OP_GIVE_UP = 0x0f,
    OP_VARIABLE = 0x10,
    OP_VARIABLE_LAST = 0x1f,
    OP_LITERAL = 0x40,
    OP_JUMP = 0x80,
    RANGES_REPEAT = 0x80,
    LONG_LITERAL_MIN = 0x41,
    LONG_JUMP_MIN = 0x81,
};

/* pattern.c: bytecode. filter is the graph's. */
int pattern_tests(const struct blob *b, struct budget *g, struct span code, uint16_t filter,
                  struct alternatives *out, struct bk_err *err);

/* case.c: whether a path is written with upper case. */
bool blob_minds_case(const struct blob *b);

/* regex.c: the bytes of entry `index` of the regex table. */
int regex_span(const struct blob *b, uint16_t index, struct span *s, struct bk_err *err);
/* Writes the key of the note that keeps a regex's bytes. */
void regex_note_key(const struct graph_test *t, uint32_t version, struct buf *out);
/* Entry `index` as text. */
int regex_text(const struct blob *b, struct budget *g, uint16_t index, struct graph_test *out,
               struct bk_err *err);

/* Shared with regex-old.c. */
extern const uint8_t regex_every_byte[32];
struct automaton;
int regex_add_byte(struct automaton *a, uint32_t from, uint32_t to, uint8_t byte);
int regex_too_large(size_t offset, struct bk_err *err);
int regex_finish(struct automaton *a, uint32_t start, uint32_t accept, size_t offset,
                 struct graph_test *out, struct bk_err *err);
int regex_v1_text(struct budget *g, struct span s, struct graph_test *out, struct bk_err *err);
int regex_v2_text(struct budget *g, struct span s, struct graph_test *out, struct bk_err *err);

/* ---- automaton.c: from a compiled regex back to text ---- */

enum { AUTOMATON_STATES_MAX = 2048 };

struct automaton; /* states are 0 … n - 1 */
/* Returns NULL when the budget is exhausted. */
struct automaton *automaton_new(struct budget *g, uint32_t states);
/* An edge that consumes nothing (label NULL), one byte of a set, or an anchor. */
int automaton_empty(struct automaton *a, uint32_t from, uint32_t to);
int automaton_bytes(struct automaton *a, uint32_t from, uint32_t to, const uint8_t set[32]);
int automaton_anchor(struct automaton *a, uint32_t from, uint32_t to, char anchor);
/* A set of bytes as a piece of a regex. */
void automaton_put_set(struct buf *out, const uint8_t set[32]);
/* Returns NULL when the budget is exhausted, and "[]", which matches nothing, when `accept` is
 * unreachable. */
const char *automaton_text(struct automaton *a, uint32_t start, uint32_t accept);

#endif
