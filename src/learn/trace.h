/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_LEARN_TRACE_H
#define BK_LEARN_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "report/event.h"

/*
 * What a command used: paths by operation, and hosts. Equal uses are merged, and memory is bounded
 * whatever the command does: beyond a limit the names in a folder are only counted ("many").
 */

/* What an operation is to a person; each rule is for some of these. */
enum use_class { USE_READ, USE_WRITE, USE_EXEC, USE_SERVE, USE_CONNECT, USE_CLASSES };

/* The operations that are recorded, in the order of the bits of use.ops. */
extern const uint16_t use_ops[];
extern const size_t use_op_count;
/* Bits of some of them. */
enum { USE_CREATED = 1 << 3, USE_WRITTEN = 1 << 4, USE_REMOVED = 1 << 5 };
enum use_class use_class_of(size_t bit);
uint32_t use_class_bits(enum use_class c);

struct use {
    uint32_t ops;     /* 1 << index in use_ops */
    uint32_t program; /* the first that did this, for trace_program() */
    uint64_t count;
};

/* A path component. Node 0 is "/". */
struct trace_node {
    const char *name;
    uint32_t len;
    uint32_t parent, child, next; /* 0: none */
    uint32_t nchildren;
    struct use own;   /* of the path itself */
    uint32_t covered; /* operations of these that every learned profile allows */
    struct use many;  /* of names in here that have no node */
};

struct trace_host {
    const char *name; /* as the command named it, or an address */
    uint16_t port;
    struct use use;
};

struct trace_limits {
    uint32_t nodes, children, hosts, programs; /* 0: the default */
};

struct trace {
    struct arena arena;
    struct trace_limits limits;
    struct trace_node *nodes;
    uint32_t nnodes, cap_nodes;
    uint64_t seed;
    uint32_t *slots, mask; /* hash of parent and name → node + 1 */
    struct trace_host *hosts;
    uint32_t nhosts, cap_hosts;
    const char **programs;
    uint32_t nprograms;
    uint64_t events;  /* all uses */
    uint64_t left;    /* of these, uses of names that have no node */
    uint64_t skipped; /* events that name no path or host, or too long ones */
};

/* limits may be NULL. Free with trace_free() whatever happened. */
int trace_init(struct trace *t, const struct trace_limits *limits, struct bk_err *err);
void trace_free(struct trace *t);
#define OWN_trace trace_free

/* Takes an event; ignores operations that are not recorded. Returns -1 when memory is short. */
int trace_add(struct trace *t, const struct event *e);
/* The same from its parts. `program` may be "". */
int trace_add_path(struct trace *t, enum vocab_op op, const char *path, size_t len,
                   const char *program, uint64_t count);
int trace_add_host(struct trace *t, const char *host, size_t len, uint16_t port,
                   const char *program, uint64_t count);
int trace_add_many(struct trace *t, const char *folder, size_t len, const struct use *use,
                   const char *program);

const char *trace_program(const struct trace *t, uint32_t program); /* "" when unknown */
/* The path of a node, absolute. */
void trace_path(const struct trace *t, uint32_t node, struct buf *out);
/* The node of a path, or UINT32_MAX. */
uint32_t trace_find(const struct trace *t, const char *path);

/* Calls each for every use of a path, once an operation; a non-zero return ends it. */
typedef int trace_fn(void *arg, uint32_t node, enum vocab_op op, const char *path, size_t len);
int trace_each(const struct trace *t, trace_fn *each, void *arg);

/* ---- trace-file.c: a trace as lines of JSON ---- */

/* Folders that differ from run to run; paths below them are written relative to them. */
enum anchor { ANCHOR_ROOT, ANCHOR_HOME, ANCHOR_CWD, ANCHOR_TMPDIR, ANCHORS };
struct anchors {
    const char *at[ANCHORS]; /* canonical paths, or NULL; at[0] is not used */
};
/* The innermost one that contains the path, and the length of its own path. */
enum anchor anchor_of(const struct anchors *p, const char *path, size_t len, size_t *skip);

void trace_write(const struct trace *t, const struct anchors *p, struct buf *out);
/* Adds what such a text has. */
int trace_read(struct trace *t, const struct anchors *p, const char *name, const char *text,
               size_t n, struct bk_err *err);

#endif
