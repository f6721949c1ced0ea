/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: bytes from a client. A head is also found when the bytes come one at a time, the forwarded
 * request is for the same host, and a body ends at the same place however it is split. Read as a
 * target, the bytes are refused, or no reading has dot segments.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "net/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_forward(const struct http_head *h)
{
    static struct http_head again;
    OWN(buf) struct buf out = {0};
    http_head_forward(h, &out);
    require(buf_ok(&out) && http_head_read(out.s, out.n, &again) == HTTP_FOUND);
    require(again.size == out.n && again.framing == h->framing && again.length == h->length);
    require(again.named == h->named || h->minor == 0);
    require(!again.named || !h->named || peer_equal(&again.host, &h->host));
}

static size_t body_end(const struct http_head *h, const char *s, size_t n, size_t step)
{
    struct http_body b;
    size_t at = 0;
    http_body_start(&b, h->framing, h->length);
    while (at < n && !http_body_is_over(&b)) {
        ssize_t used = http_body_take(&b, s + at, n - at < step ? n - at : step);
        if (used < 0)
            return SIZE_MAX;
        at += (size_t)used;
    }
    return at;
}

/* No reading of a target leads out of its path. */
static void check_path(struct slice path)
{
    size_t from = 1;
    require(path.n > 0 && (*path.s == '/' || (*path.s == '*' && path.n == 1)));
    for (size_t i = 1; i <= path.n; i++) {
        if (i < path.n && path.s[i] != '/') {
            require((unsigned char)path.s[i] >= ' ' && path.s[i] != '\\');
            continue;
        }
        require(i == path.n || i > from);
        require(!(i - from == 1 && path.s[from] == '.'));
        require(!(i - from == 2 && path.s[from] == '.' && path.s[from + 1] == '.'));
        from = i + 1;
    }
}

static void check_target(struct slice target)
{
    static char room[REQUEST_ROOM];
    struct request r;
    if (request_read((struct slice){"GET", 3}, target, room, &r))
        return;
    require(r.npaths >= 1 && r.npaths <= REQUEST_READINGS);
    for (size_t i = 0; i < r.npaths; i++)
        check_path(r.paths[i]);
    for (size_t i = 0; i < r.query.n; i++)
        require(r.query.s[i] > ' ' && r.query.s[i] < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct http_head h, cut;
    const char *s = (const char *)data;
    struct http_answer answer;
    check_target((struct slice){s, size});
    if (http_answer_read(s, size, false, &answer) == HTTP_FOUND)
        require(answer.size <= size);
    if (http_head_read(s, size, &h) != HTTP_FOUND)
        return 0;
    check_target(h.path);
    require(h.size <= size && http_head_read(s, h.size - 1, &cut) == HTTP_MORE);
    if (h.form != HTTP_AUTHORITY)
        check_forward(&h);
    size_t end = body_end(&h, s + h.size, size - h.size, size + 1);
    require(end == body_end(&h, s + h.size, size - h.size, 1));
    return 0;
}
