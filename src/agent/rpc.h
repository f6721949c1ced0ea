/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_RPC_H
#define BK_AGENT_RPC_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"

/*
 * JSON-RPC 2.0, one message per line. Reading and writing never block, and both directions are
 * bounded: a line that is too long gets an error and is skipped, and a peer that doesn't read is
 * disconnected.
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
    size_t scanned; /* bytes of the line already searched for a newline */
    bool skipping;  /* inside a line that was too long */
    bool ended;     /* end of input, or the peer doesn't read */
};

void rpc_init(struct rpc *r, int in, int out); /* makes both non-blocking */
void rpc_free(struct rpc *r);

/* Reads what is available and calls fn for each message. */
typedef void rpc_fn(void *arg, json_t *message);
void rpc_read(struct rpc *r, rpc_fn *fn, void *arg);
/* Writes as much as the peer accepts. */
void rpc_flush(struct rpc *r);

/* These take over their arguments. id may be NULL (null). */
void rpc_send(struct rpc *r, json_t *message);
void rpc_result(struct rpc *r, const json_t *id, json_t *result);
void rpc_error(struct rpc *r, const json_t *id, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void rpc_notify(struct rpc *r, const char *method, json_t *params);

#endif
