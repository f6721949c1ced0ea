/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_RPC_H
#define BK_AGENT_RPC_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"

/*
 * JSON-RPC 2.0, one message a line. Reading and writing never wait; both directions are bounded: a
 * line that is too long is answered with an error and skipped, and who does not read what is sent
 * to him is gone.
 */
enum { RPC_LINE = 8 << 20, RPC_QUEUE = 64 << 20 };

enum {
    RPC_PARSE = -32700,
    RPC_INVALID = -32600,
    RPC_METHOD = -32601,
    RPC_PARAMS = -32602,
};

struct rpc {
    int in, out;
    struct buf line, queue;
    size_t scanned; /* of the line, where no line's end is */
    bool skipping;  /* the rest of a line that was too long */
    bool ended;     /* nothing more comes, or nobody reads */
};

void rpc_init(struct rpc *r, int in, int out); /* makes both non-blocking */
void rpc_free(struct rpc *r);

/* Reads what is there, and calls fn for each object with a method or a result. */
typedef void rpc_fn(void *arg, json_t *message);
void rpc_hear(struct rpc *r, rpc_fn *fn, void *arg);
/* Writes as much as the other side takes. */
void rpc_flush(struct rpc *r);

/* These take over what they are given. id may be NULL (null). */
void rpc_send(struct rpc *r, json_t *message);
void rpc_result(struct rpc *r, const json_t *id, json_t *result);
void rpc_error(struct rpc *r, const json_t *id, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void rpc_notify(struct rpc *r, const char *method, json_t *params);

#endif
