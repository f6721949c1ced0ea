/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_FORMAT_ENCODE_INT_H
#define BK_FORMAT_ENCODE_INT_H

#include "base/arena.h"
#include "format/format.h"

/*
 * Private to src/format: from a graph to bytes. encode.c walks the graph and chooses the nodes and
 * their order; an era encodes tests and decisions, and lays out the file. Nodes are numbered in
 * creation order, children first; the file has them in reverse.
 */

enum { NOT_PLACED = 0xffffffffu };

/* What a node's argument refers to. */
enum refers { REFERS_TO_NOTHING, REFERS_TO_RECORD, REFERS_TO_REGEX };

/* A future eight-byte node; a filter's edges are node numbers. */
struct out_node {
    uint8_t bytes[8];
    bool terminal;
    uint8_t refers;
    uint32_t match, unmatch;
};

/* A filter node's test, encoded. */
struct wire {
    uint8_t filter, refers;
    uint16_t arg;
    bool names; /* it names the key whose value the next one tests */
};

struct wires {
    struct wire *at;
    uint32_t n, cap;
};

/* Records at multiples of 8, without duplicates. */
struct pool {
    struct buf bytes;
    uint32_t *slots; /* number of a record + 1, or 0 */
    uint32_t *starts, *ends;
    uint32_t n, cap, mask;
};

struct encoder;

struct encode_era {
    /* Encodes tests of which any leads to the same node, in as few nodes as possible. */
    int (*tests)(struct encoder *e, const struct graph_test *const *tests, uint32_t n,
                 struct wires *out, struct bk_err *err);
    int (*decision)(struct encoder *e, const struct graph_node *n, struct out_node *out,
                    struct bk_err *err);
    int (*write)(struct encoder *e, struct buf *out, struct bk_err *err);
    bool lists; /* can encode sets of numbers */
};

struct policy {
    uint32_t from;  /* the graph's nested policy */
    uint16_t op;    /* id of the one operation that it filters */
    uint32_t entry; /* its entry: canonical node */
};

struct encoder {
    const struct graph *g;
    const struct encode_era *era;
    const struct blob_version *version;
    struct arena arena;
    uint32_t *canon;  /* by node of the graph: the first equal one */
    uint32_t *placed; /* by canonical node: its number, or NOT_PLACED */
    uint32_t *stack;
    uint32_t *asked, row; /* by test: the last row of alternatives that had it */
    struct out_node *nodes;
    uint32_t nnodes, cap_nodes;
    uint32_t ops[256]; /* by id: number of its entry node */
    struct pool pool;
    uint16_t *regexes; /* by index in the table: position in the pool, in units of 8 bytes */
    uint32_t nregexes, cap_regexes;
    struct policy *policies;
    uint32_t npolicies, cap_policies;
    bool frugal; /* leave to parents what they decide, even if that takes another test */
};

/* ---- reading the graph by its canonical nodes ---- */

static inline const struct graph_node *node_of(const struct encoder *e, uint32_t canon)
{
    return graph_node_at(e->g, canon);
}

static inline bool is_filter(const struct encoder *e, uint32_t canon)
{
    return node_of(e, canon)->kind == GRAPH_NODE_FILTER;
}

static inline uint32_t match_of(const struct encoder *e, uint32_t canon)
{
    return e->canon[node_of(e, canon)->match];
}

static inline uint32_t unmatch_of(const struct encoder *e, uint32_t canon)
{
    return e->canon[node_of(e, canon)->unmatch];
}

/* ---- encode-pool.c ---- */

int encode_nomem(const struct encoder *e, struct bk_err *err);
/* Makes room for one more element; NULL when memory is exhausted. */
void *encode_room(struct encoder *e, void *old, uint32_t n, uint32_t *cap, size_t size);
uint32_t encode_hash(const uint8_t *p, size_t n);
int wires_add(struct encoder *e, struct wires *w, unsigned filter, unsigned arg,
              struct bk_err *err);
/* Stores where the bytes are in the pool, in units of 8. */
int pool_add(struct encoder *e, const void *bytes, size_t n, uint16_t *at, struct bk_err *err);
/* The same, preceded by their length as u16. */
int pool_add_counted(struct encoder *e, const void *bytes, size_t n, uint16_t *at,
                     struct bk_err *err);
/* The same for a filter whose argument is the position of a record, or the index of a regex. */
int wires_add_record(struct encoder *e, struct wires *w, unsigned filter, unsigned arg,
                     enum refers refers, struct bk_err *err);
/* Puts the pool's records into the order in which a walk from the operations meets them: a node,
 * what it leads to if it matches, and if not. */
int pool_sort(struct encoder *e, struct bk_err *err);
/* Finds the regex's bytes in the compiled profile that the graph comes from; false when there are
 * none. */
bool encode_kept_regex(const struct encoder *e, const struct graph_test *t, uint32_t version,
                       struct buf *out);
int encode_regex_index(struct encoder *e, uint16_t at, uint16_t *index, struct bk_err *err);

/* ---- encode.c ---- */

/* Makes this node and the nodes it needs. */
int encode_place(struct encoder *e, uint32_t canon, struct bk_err *err);
int encode_new_node(struct encoder *e, const struct out_node *n, uint32_t *number,
                    struct bk_err *err);
int encode_new_filter(struct encoder *e, struct wire w, uint32_t match, uint32_t unmatch,
                      uint32_t *number, struct bk_err *err);
/* Returns the policy of this decision that must be written, or NULL. */
const struct policy *encode_policy(const struct encoder *e, const struct graph_node *n,
                                   uint32_t *index);
bool encode_is_plain_allow(const struct graph_node *n);
/* Writes the graph's nodes, newest first, with edges that count from `first`. */
void encode_nodes(const struct encoder *e, uint32_t first, struct buf *out);

static inline void put8(struct buf *b, unsigned v)
{
    buf_chr(b, (char)(uint8_t)v);
}

static inline void put16(struct buf *b, unsigned v)
{
    put8(b, v);
    put8(b, v >> 8);
}

static inline void put32(struct buf *b, uint32_t v)
{
    put16(b, v & 0xffff);
    put16(b, v >> 16);
}

static inline void put32_big(struct buf *b, uint32_t v)
{
    put8(b, v >> 24);
    put8(b, v >> 16);
    put8(b, v >> 8);
    put8(b, v);
}

static inline void put_padding(struct buf *b, size_t to)
{
    while (!b->failed && b->n % to)
        put8(b, 0);
}

/* encode-numbers.c: places an operation that only numbers decide; *done: whether it is one. */
int encode_numbers(struct encoder *e, uint32_t canon, bool *done, struct bk_err *err);

/* ---- eras ---- */

extern const struct encode_era encode_era_a, encode_era_e;

/* ---- pattern-code.c ---- */

enum { PATTERN_MAX = 65535 };

/* Encodes strings as one pattern. Returns false, with nothing written, when they are too many or
 * too deep; half of them may then work. */
bool pattern_code(struct arena *arena, const struct graph_test *const *tests, uint32_t n,
                  bool lower, struct buf *out);
/* Computes the order in which the compiler inserts n alternatives: order[i] is the ith. */
bool pattern_order(struct arena *arena, uint32_t n, uint32_t *order);

/* ---- regex-code.c ---- */

int regex_code_v3(struct arena *arena, const struct graph_test *t, bool lower, struct buf *out,
                  struct bk_err *err);
int regex_code_v1(struct arena *arena, const struct graph_test *t, struct buf *out,
                  struct bk_err *err);

#endif
