/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_FORMAT_FORMAT_H
#define BK_FORMAT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "graph/graph.h"

/*
 * Compiled profiles: bytes ⇄ policy graph. docs/formats.md has the layouts. Opening a blob checks
 * every table, count and edge; only then is anything followed. Unknown data is an error with its
 * offset, never skipped.
 */

enum blob_era {
    BLOB_NONE, /* not a known compiled profile */
    BLOB_A,    /* Mac OS X 10.6, iOS 4 */
    BLOB_B,    /* iOS 6 to 9 */
    BLOB_C,    /* iOS 10 to 12 */
    BLOB_D,    /* iOS 13 */
    BLOB_E,    /* macOS 14 */
};
enum { BLOB_ERAS = BLOB_E + 1 };

/* Offsets are in bytes from the start of the file. */
struct blob {
    enum blob_era era;
    bool late;           /* C: the iOS 12 variant; E: the header of iOS 26 */
    enum vocab_os os;    /* names its operations; VOCAB_OS_ANY: unknown */
    const uint8_t *data; /* the caller's */
    size_t size;
    uint16_t flags; /* B to E */
    uint32_t nnodes, nops, nvars, nstates, nprofiles, nregexes, npolicies, nmessages;
    size_t regexes, vars, states, policies, messages; /* tables of u16 */
    size_t rows, row, row_head; /* a collection's profiles: name and other words, operation table */
    size_t ops;                 /* operation table of the profile, or of the chosen one */
    uint32_t chosen;            /* which of them; BLOB_NOT_CHOSEN */
    size_t nodes;               /* 8 bytes each */
    size_t pool;                /* D, E: base of offsets × 8; else 0 */
};

enum {
    BLOB_COLLECTION = 0x8000,
    BLOB_MESSAGE_FILTERS = 0x4000,
    BLOB_NODE_SIZE = 8,
    BLOB_NOT_CHOSEN = 0xffff,
    BLOB_REGEX_FORM = 0x80, /* bit of a filter's id: a regex, or a list of numbers */
};

struct blob_node {
    size_t offset;
    bool terminal;
    uint8_t filter;          /* id in the file */
    uint16_t arg;            /* filter node */
    uint32_t match, unmatch; /* indices of nodes */
    uint32_t flags;          /* terminal: decision bits, without the one for a modifier */
    bool inlined;            /* terminal: a modifier follows */
    uint8_t mod, mod_op;     /* its id, and the byte after it */
    uint16_t mod_arg;
};

/* Text never contains a NUL byte; a compiled profile does, near its start. */
bool blob_is_binary(const void *data, size_t n);

/* Detects the era and checks the tables. *out refers to data. */
int blob_open(struct blob *out, const void *data, size_t n, struct bk_err *err);
/* The same for a known era. BLOB_NONE: unknown. */
int blob_open_as(struct blob *out, const void *data, size_t n, enum blob_era era,
                 struct bk_err *err);
/* Names operations as in the version that has as many. If several do, or to be sure, pass a
 * version; one with a different number is an error. */
int blob_use_names(struct blob *b, enum vocab_os os, struct bk_err *err);
/* "190 operations, named as in 14.4.1". */
void blob_names_words(const struct blob *b, struct buf *out);
enum blob_era blob_era_find(const char *letter); /* "A" … "E"; BLOB_NONE */

/* A collection (or bundle) has nprofiles named profiles; choose one before decoding it. */
bool blob_is_collection(const struct blob *b);
int blob_profile_name(const struct blob *b, uint32_t profile, struct buf *out, struct bk_err *err);
void blob_choose(struct blob *b, uint32_t profile);
/* Chooses by name. The error lists some of the existing names. */
int blob_choose_name(struct blob *b, const char *name, struct bk_err *err);

/* node < nnodes, op < nops */
struct blob_node blob_node_at(const struct blob *b, uint32_t node);
uint32_t blob_op_entry(const struct blob *b, uint32_t op);
/* Returns OP_NONE when the name is not established. */
enum vocab_op blob_op_name(const struct blob *b, uint32_t id);
enum vocab_filter blob_filter_name(const struct blob *b, uint8_t id);
const char *blob_era_words(enum blob_era era); /* "E (macOS 14)" */

/* name is for messages and explanations. */
int blob_decode(const struct blob *b, const char *name, struct graph **out, struct bk_err *err);
/* The same for encoding it again: equal nodes stay separate. */
int blob_decode_apart(const struct blob *b, const char *name, struct graph **out,
                      struct bk_err *err);

/* ---- writing ---- */

/* A system version that profiles can be encoded for. */
struct blob_version {
    const char *name; /* "macOS 14.4.1" */
    enum blob_era era;
    enum vocab_os os; /* VOCAB_OS_ANY: 10.6, whose names are not a column of the vocabulary */
    uint32_t nops;
};
/* "14.4.1", "ios4", "10.6", "A", "E"; NULL when unsupported. */
const struct blob_version *blob_version_find(const char *name);
int blob_version_op(const struct blob_version *v, uint16_t op); /* id, or -1 */

/* Appends the compiled profile. What the version lacks, or what nobody knows how to write, is an
 * error that names it. The same graph always gives the same bytes. */
int blob_encode(const struct graph *g, const struct blob_version *version, struct buf *out,
                struct bk_err *err);

/* Prints header, tables and every node with its offset, and why something cannot be read. */
void blob_disasm(const struct blob *b, struct buf *out);

#endif
