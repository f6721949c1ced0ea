/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * JSON-RPC over two descriptors, both non-blocking. Output that the peer doesn't accept waits in a
 * queue.
 */

#include "agent/rpc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/json.h"
#include "base/own.h"

void rpc_init(struct rpc *r, int in, int out)
{
    *r = (struct rpc){.in = in, .out = out};
    fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
    fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
}

void rpc_free(struct rpc *r)
{
    buf_free(&r->line);
    buf_free(&r->queue);
}

/* ---- sending ---- */

void rpc_flush(struct rpc *r)
{
    size_t at = 0;
    while (at < r->queue.n) {
        ssize_t n = write(r->out, r->queue.s + at, r->queue.n - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            r->ended = true;
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    if (at) {
        memmove(r->queue.s, r->queue.s + at, r->queue.n - at);
        r->queue.n -= at;
    }
}

void rpc_send(struct rpc *r, json_t *message)
{
    OWN(json) json_t *m = message;
    OWN(mem) char *text = NULL;
    json_object_set_new(m, "jsonrpc", json_string("2.0"));
    text = json_dumps(m, JSON_COMPACT);
    if (!text || r->queue.n > RPC_QUEUE) {
        r->ended = true;
        return;
    }
    buf_json_text(&r->queue, text, strlen(text));
    buf_chr(&r->queue, '\n');
    r->ended |= !buf_ok(&r->queue);
    rpc_flush(r);
}

static json_t *with_id(const json_t *id)
{
    json_t *m = json_object();
    json_object_set_new(m, "id", id ? json_deep_copy(id) : json_null());
    return m;
}

void rpc_result(struct rpc *r, const json_t *id, json_t *result)
{
    json_t *m = with_id(id);
    json_object_set_new(m, "result", result);
    rpc_send(r, m);
}

void rpc_error(struct rpc *r, const json_t *id, int code, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    json_t *m = with_id(id), *message = json_string(text);
    json_object_set_new(
        m, "error",
        json_pack("{s:i, s:o}", "code", code, "message",
                  message ? message : json_string("the message is not valid UTF-8")));
    rpc_send(r, m);
}

void rpc_notify(struct rpc *r, const char *method, json_t *params)
{
    rpc_send(r, json_pack("{s:s, s:o}", "method", method, "params", params));
}

/* ---- receiving ---- */

static void handle_line(struct rpc *r, const char *s, size_t n, rpc_fn *fn, void *arg)
{
    json_error_t where;
    while (n && (s[n - 1] == '\r' || s[n - 1] == ' '))
        n--;
    if (n == 0)
        return;
    OWN(json) json_t *m = json_loadb(s, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
    if (!m) {
        rpc_error(r, NULL, RPC_PARSE, "not JSON: %s", where.text);
        return;
    }
    const char *version = json_string_value(json_object_get(m, "jsonrpc"));
    if (!json_is_object(m) || !version || strcmp(version, "2.0") != 0) {
        rpc_error(r, json_object_get(m, "id"), RPC_INVALID, "not a JSON-RPC 2.0 message");
        return;
    }
    fn(arg, m);
}

/* Handles complete lines and keeps the rest. */
static void handle_lines(struct rpc *r, rpc_fn *fn, void *arg)
{
    size_t from = 0;
    const char *end;
    while (r->line.n > r->scanned &&
           (end = memchr(r->line.s + r->scanned, '\n', r->line.n - r->scanned))) {
        size_t at = (size_t)(end - r->line.s);
        if (!r->skipping)
            handle_line(r, r->line.s + from, at - from, fn, arg);
        r->skipping = false;
        from = r->scanned = at + 1;
    }
    memmove(r->line.s, r->line.s + from, r->line.n - from);
    r->line.n -= from;
    r->scanned = r->line.n;
    if (r->line.n > RPC_LINE) {
        if (!r->skipping)
            rpc_error(r, NULL, RPC_INVALID, "the message has more than %d bytes", RPC_LINE);
        r->skipping = true;
        r->line.n = r->scanned = 0;
    }
}

void rpc_read(struct rpc *r, rpc_fn *fn, void *arg)
{
    static char block[65536];
    ssize_t n = read(r->in, block, sizeof(block));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        r->ended = true;
        return;
    }
    buf_add(&r->line, block, (size_t)n);
    if (buf_ok(&r->line))
        handle_lines(r, fn, arg);
    else
        r->ended = true;
}
