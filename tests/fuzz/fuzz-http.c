/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: bytes from a client. A head is also found when the bytes come one at a time, the forwarded
 * request is for the same host, and a body ends at the same place however it is split.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "net/http.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct http_head h, cut;
    const char *s = (const char *)data;
    struct http_answer answer;
    if (http_answer_read(s, size, false, &answer) == HTTP_FOUND)
        require(answer.size <= size);
    if (http_head_read(s, size, &h) != HTTP_FOUND)
        return 0;
    require(h.size <= size && http_head_read(s, h.size - 1, &cut) == HTTP_MORE);
    if (h.form != HTTP_AUTHORITY)
        check_forward(&h);
    size_t end = body_end(&h, s + h.size, size - h.size, size + 1);
    require(end == body_end(&h, s + h.size, size - h.size, 1));
    return 0;
}
