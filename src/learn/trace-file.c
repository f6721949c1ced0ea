/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A trace as lines of JSON, so that later runs can add to it:
 *
 *   {"buckle-trace": 1}
 *   {"use": "file-read-data", "in": "CWD", "path": "/src/main.c", "count": 3, "by": "/usr/bin/cc"}
 *   {"use": "network-outbound", "host": "registry.npmjs.org", "port": 443, "count": 1, "by": ""}
 *   {"many": ["file-write-create"], "in": "TMPDIR", "path": "/x", "count": 90000, "by": "…"}
 *
 * Paths that are not UTF-8 have "hex" instead. Reading is strict: the file may come from anywhere.
 */

#include <string.h>

#include "base/hex.h"
#include "base/own.h"
#include "base/utf8.h"
#include "graph/peer.h"
#include "learn/trace.h"
#include "settings/json.h"

static const char *const anchor_words[ANCHORS] = {"", "HOME", "CWD", "TMPDIR"};

enum anchor anchor_of(const struct anchors *a, const char *path, size_t len, size_t *skip)
{
    enum anchor best = ANCHOR_ROOT;
    *skip = 0;
    for (size_t i = 1; i < ANCHORS; i++) {
        size_t n = a->at[i] ? strlen(a->at[i]) : 0;
        if (n > 1 && n > *skip && len >= n && memcmp(path, a->at[i], n) == 0 &&
            (len == n || path[n] == '/'))
            best = (enum anchor)i, *skip = n;
    }
    return best;
}

/* ---- writing ---- */

static bool is_utf8(const char *s, size_t n)
{
    for (size_t at = 0, w; at < n; at += w)
        if ((w = utf8_width(s + at, n - at)) == 0)
            return false;
    return true;
}

static void put_place(const struct anchors *a, const char *path, size_t len, struct buf *out)
{
    size_t skip;
    enum anchor in = anchor_of(a, path, len, &skip);
    if (in != ANCHOR_ROOT)
        buf_fmt(out, "\"in\": \"%s\", ", anchor_words[in]);
    if (is_utf8(path + skip, len - skip)) {
        buf_str(out, "\"path\": ");
        buf_json(out, path + skip, len - skip);
        return;
    }
    buf_str(out, "\"hex\": \"");
    for (size_t i = skip; i < len; i++)
        buf_fmt(out, "%02x", (unsigned char)path[i]);
    buf_chr(out, '"');
}

static void put_end(const struct trace *t, const struct use *u, struct buf *out)
{
    const char *by = trace_program(t, u->program);
    buf_fmt(out, ", \"count\": %llu, \"by\": ", (unsigned long long)u->count);
    buf_json(out, by, strlen(by));
    buf_str(out, "}\n");
}

static void put_node(const struct trace *t, const struct anchors *a, uint32_t node,
                     struct buf *path, struct buf *out)
{
    const struct trace_node *n = &t->nodes[node];
    path->n = 0;
    trace_path(t, node, path);
    for (size_t bit = 0; bit < use_op_count && path->s; bit++) {
        if (n->own.ops >> bit & 1) {
            buf_fmt(out, "{\"use\": \"%s\", ", vocab_ops[use_ops[bit]].name);
            put_place(a, path->s, path->n, out);
            put_end(t, &n->own, out);
        }
        if (n->many.ops >> bit & 1) {
            buf_fmt(out, "{\"many\": \"%s\", ", vocab_ops[use_ops[bit]].name);
            put_place(a, path->s, path->n, out);
            put_end(t, &n->many, out);
        }
    }
}

void trace_write(const struct trace *t, const struct anchors *a, struct buf *out)
{
    OWN(buf) struct buf path = {0};
    buf_str(out, "{\"buckle-trace\": 1}\n");
    for (uint32_t i = 0; i < t->nnodes; i++)
        if (t->nodes[i].own.ops || t->nodes[i].many.ops)
            put_node(t, a, i, &path, out);
    for (uint32_t i = 0; i < t->nhosts; i++) {
        const struct trace_host *h = &t->hosts[i];
        buf_str(out, "{\"use\": \"network-outbound\", \"host\": ");
        buf_json(out, h->name, strlen(h->name));
        buf_fmt(out, ", \"port\": %u", h->port);
        put_end(t, &h->use, out);
    }
}

/* ---- reading ---- */

struct reader {
    struct trace *t;
    const struct anchors *anchors;
    const char *name;
    size_t line;
    struct buf path;
};

static int wrong(const struct reader *r, const char *what, struct bk_err *err)
{
    return err_set(err, BK_E_INPUT, "%s:%zu: %s", r->name, r->line, what);
}

static int put_hex(struct reader *r, const struct json *hex, struct bk_err *err)
{
    for (uint32_t i = 0; i < hex->n; i += 2) {
        int hi = hex_digit(hex->s[i]), lo = i + 1 < hex->n ? hex_digit(hex->s[i + 1]) : -1;
        if (hi < 0 || lo < 0 || (hi == 0 && lo == 0))
            return wrong(r, "\"hex\" must be bytes in hexadecimal", err);
        buf_chr(&r->path, (char)(hi << 4 | lo));
    }
    return 0;
}

static int read_path(struct reader *r, const struct json *j, struct bk_err *err)
{
    const struct json *in = jt_get(j, "in"), *path = jt_get(j, "path"), *hex = jt_get(j, "hex");
    r->path.n = 0;
    enum anchor a = ANCHOR_ROOT;
    for (size_t i = 1; in && in->kind == JT_STRING && i < ANCHORS; i++)
        if (strcmp(in->s, anchor_words[i]) == 0)
            a = (enum anchor)i;
    if (in && a == ANCHOR_ROOT)
        return wrong(r, "\"in\" must be HOME, CWD or TMPDIR", err);
    if (a != ANCHOR_ROOT && !r->anchors->at[a])
        return wrong(r, "its place is not known in this run", err);
    if (a != ANCHOR_ROOT)
        buf_str(&r->path, r->anchors->at[a]);
    if (hex && hex->kind == JT_STRING && !path)
        return put_hex(r, hex, err);
    if (!path || path->kind != JT_STRING || memchr(path->s, '\0', path->n))
        return wrong(r, "a use needs a \"path\"", err);
    buf_add(&r->path, path->s, path->n);
    return 0;
}

static int read_host(struct reader *r, const struct json *j, const struct json *host,
                     const struct use *use, const char *by, struct bk_err *err)
{
    const struct json *port = jt_get(j, "port");
    struct peer peer;
    if (host->kind != JT_STRING || !peer_parse(host->s, host->n, &peer))
        return wrong(r, "\"host\" must be a name or an address", err);
    if (!port || !port->integral || port->number < 1 || port->number > UINT16_MAX)
        return wrong(r, "\"port\" must be between 1 and 65535", err);
    return trace_add_host(r->t, peer.name, peer.len, (uint16_t)port->number, by, use->count) < 0
               ? err_nomem(err)
               : 0;
}

static int read_use(struct reader *r, const struct json *j, struct bk_err *err)
{
    const struct json *one = jt_get(j, "use"), *many = jt_get(j, "many"), *host = jt_get(j, "host");
    const struct json *count = jt_get(j, "count"), *by = jt_get(j, "by"), *op = one ? one : many;
    struct use use = {.count = 1};
    size_t bit = use_op_count;
    for (size_t i = 0; op && op->kind == JT_STRING && i < use_op_count; i++)
        if (strcmp(op->s, vocab_ops[use_ops[i]].name) == 0)
            bit = i;
    if (bit == use_op_count || (one && many))
        return wrong(r, "a line needs \"use\" or \"many\" with an operation", err);
    if (count && (!count->integral || count->number < 1))
        return wrong(r, "\"count\" must be a positive number", err);
    if (by && (by->kind != JT_STRING || by->n >= EVENT_EXE || memchr(by->s, '\0', by->n)))
        return wrong(r, "\"by\" must be a program", err);
    use.ops = 1u << bit;
    use.count = count ? (uint64_t)count->number : 1;
    const char *program = by ? by->s : "";
    if (host)
        return read_host(r, j, host, &use, program, err);
    if (read_path(r, j, err) < 0)
        return -1;
    if (!buf_ok(&r->path))
        return err_nomem(err);
    uint64_t skipped = r->t->skipped;
    int added = many ? trace_add_many(r->t, r->path.s, r->path.n, &use, program)
                     : trace_add_path(r->t, (enum vocab_op)use_ops[bit], r->path.s, r->path.n,
                                      program, use.count);
    if (r->t->skipped != skipped)
        return r->t->skipped = skipped, wrong(r, "not an absolute path", err);
    return added < 0 ? err_nomem(err) : 0;
}

static int read_line(struct reader *r, const char *line, size_t n, struct bk_err *err)
{
    OWN(arena) struct arena arena;
    arena_init(&arena, 1 << 20);
    struct bk_err inner;
    const struct json_text text = {.name = r->name, .s = line, .n = n};
    const struct json *j = jt_read(&arena, &text, &inner);
    if (!j || j->kind != JT_OBJECT)
        return wrong(r, "not a JSON object", err);
    if (r->line > 1)
        return read_use(r, j, err);
    const struct json *version = jt_get(j, "buckle-trace");
    if (!version || !version->integral || version->number != 1)
        return wrong(r, "not a trace that this version can read", err);
    return 0;
}

int trace_read(struct trace *t, const struct anchors *a, const char *name, const char *text,
               size_t n, struct bk_err *err)
{
    struct reader r = {.t = t, .anchors = a, .name = name};
    int result = 0;
    for (size_t at = 0; at < n && result == 0;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text) - at : n - at;
        r.line++;
        result = read_line(&r, text + at, len, err);
        at += len + 1;
    }
    if (result == 0 && r.line == 0)
        result = wrong(&r, "empty", err);
    buf_free(&r.path);
    return result;
}
