/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "api/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

struct head {
    uint32_t kind, n;
};

size_t wire_begin(struct buf *out, enum wire_kind kind)
{
    struct head h = {(uint32_t)kind, 0};
    size_t at = out->n;
    buf_add(out, (const char *)&h, sizeof(h));
    return at;
}

void wire_end(struct buf *out, size_t at)
{
    uint32_t n = (uint32_t)(out->n - at - sizeof(struct head));
    if (buf_ok(out))
        memcpy(out->s + at + offsetof(struct head, n), &n, sizeof(n));
}

void wire_number(struct buf *out, uint64_t value)
{
    buf_add(out, (const char *)&value, sizeof(value));
}

void wire_text(struct buf *out, const char *s, size_t n)
{
    wire_number(out, n);
    buf_add(out, s ? s : "", n);
    buf_add(out, "", 1);
}

long wire_first(const char *bytes, size_t n, struct wire_message *out)
{
    struct head h;
    if (n < sizeof(h))
        return 0;
    memcpy(&h, bytes, sizeof(h));
    if (h.n > WIRE_MOST)
        return -1;
    if (n - sizeof(h) < h.n)
        return 0;
    *out = (struct wire_message){.kind = h.kind, .at = bytes + sizeof(h), .left = h.n};
    return (long)(sizeof(h) + h.n);
}

uint64_t wire_take_number(struct wire_message *m)
{
    uint64_t value = 0;
    if (m->bad || m->left < sizeof(value)) {
        m->bad = true;
        return 0;
    }
    memcpy(&value, m->at, sizeof(value));
    m->at += sizeof(value);
    m->left -= sizeof(value);
    return value;
}

const char *wire_take_text(struct wire_message *m, size_t *n)
{
    uint64_t len = wire_take_number(m);
    if (n)
        *n = 0;
    if (m->bad || len >= m->left || m->at[len]) {
        m->bad = true;
        return "";
    }
    const char *text = m->at;
    m->at += len + 1;
    m->left -= len + 1;
    if (n)
        *n = len;
    return text;
}

void wire_error(struct buf *out, const struct bk_err *err, const char *report, size_t n)
{
    wire_number(out, (uint64_t)err->code);
    wire_number(out, (uint64_t)(uint32_t)err->sys);
    wire_number(out, err->line);
    wire_number(out, err->col);
    wire_text(out, err->file, strlen(err->file));
    wire_text(out, err->msg, strlen(err->msg));
    wire_text(out, err->hint, strlen(err->hint));
    wire_text(out, report, n);
}

void wire_take_error(struct wire_message *m, struct bk_err *err, struct buf *report)
{
    size_t n;
    *err = (struct bk_err){0};
    err->code = (enum bk_code)wire_take_number(m);
    err->sys = (int)wire_take_number(m);
    err->line = (uint32_t)wire_take_number(m);
    err->col = (uint32_t)wire_take_number(m);
    snprintf(err->file, sizeof(err->file), "%s", wire_take_text(m, NULL));
    snprintf(err->msg, sizeof(err->msg), "%s", wire_take_text(m, NULL));
    snprintf(err->hint, sizeof(err->hint), "%s", wire_take_text(m, NULL));
    const char *text = wire_take_text(m, &n);
    buf_add(report, text, n);
}

int wire_receive(int sock, struct buf *into)
{
    char block[16384];
    int got = 0;
    for (;;) {
        ssize_t n = recv(sock, block, sizeof(block), MSG_DONTWAIT);
        if (n > 0) {
            buf_add(into, block, (size_t)n);
            got = 1;
            if (into->n > 2 * (size_t)WIRE_MOST) /* let the program read first */
                return got;
        } else if (n == 0) {
            return got ? got : -1;
        } else if (errno != EINTR) {
            return got ? got : errno == EAGAIN ? 0 : -1;
        }
    }
}

void wire_forget(struct buf *b, size_t n)
{
    if (n >= b->n) {
        b->n = 0;
        return;
    }
    memmove(b->s, b->s + n, b->n - n);
    b->n -= n;
}

int wire_send(int sock, struct buf *from)
{
    size_t sent = 0;
    int result = 0;
    while (sent < from->n && result == 0) {
        ssize_t n = send(sock, from->s + sent, from->n - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0)
            sent += (size_t)n;
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            result = -1;
    }
    wire_forget(from, sent);
    return result;
}
