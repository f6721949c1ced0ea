/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: a client's HTTP/2 bytes after the preface. Read at once or byte by byte, the parser
 * forwards as much, asks about the same names, and rejects at the same place. The same holds for a
 * first line.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/first-line.h"
#include "net/h2-answer.h"
#include "net/h2-fields.h"
#include "net/h2.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

struct received {
    uint32_t names;
    uint32_t sum;
    size_t passed;
    bool refused;
};

static bool on_name(void *arg, const struct peer *host)
{
    struct received *h = arg;
    require(host->len == strlen(host->name) && host->len);
    h->names++;
    for (size_t i = 0; i < host->len; i++)
        h->sum = h->sum * 31 + (uint8_t)host->name[i];
    return host->name[0] != 'd';
}

static void read_all(const uint8_t *data, size_t n, size_t step, struct received *received)
{
    struct h2 *h = h2_new(false, on_name, received);
    size_t at = 0, there = 0;
    require(h);
    while (there < n && !received->refused) {
        there = n - there < step ? n : there + step;
        ssize_t used = h2_read(h, data + at, there - at);
        require(used < 0 || (size_t)used <= there - at);
        received->refused = used < 0;
        at += used > 0 ? (size_t)used : 0;
    }
    received->passed = at;
    h2_free(h);
}

static bool any_name(void *arg, const struct peer *host)
{
    (void)arg;
    (void)host;
    return true;
}

static bool is_wrong(struct slice target)
{
    return target.n > 1 && target.s[1] == 'd';
}

static enum h2_verdict judge(void *arg, const struct h2_asked *q, struct h2_denial *no)
{
    (void)arg;
    if (is_wrong(q->target) || q->overrides) {
        no->wants_http1 = q->target.n > 2 && q->target.s[2] == '1';
        return H2_DENY;
    }
    if (q->target.n > 1 && q->target.s[1] == 'e') {
        static const char *const removed[] = {"x-a", "accept"};
        const struct head_edit e = {
            .remove = {removed, 2}, .add = "x-a: 1\r\n", .nadd = sizeof("x-a: 1\r\n") - 1};
        h2_fields_edit(q->fields, &e);
    }
    return H2_SEND;
}

static enum h2_verdict must_be_right(void *arg, const struct h2_asked *q, struct h2_denial *no)
{
    (void)arg;
    (void)no;
    require(!is_wrong(q->target) && !q->overrides);
    return H2_SEND;
}

/* What judged requests become is valid, and has no denied one. The answers are whole frames. */
static void check_judged(const uint8_t *data, size_t n)
{
    struct h2 *h = h2_new(false, any_name, NULL), *again = h2_new(false, any_name, NULL);
    struct h2_place place = {0};
    require(h && again && h2_judge(h, judge) && h2_judge(again, must_be_right));
    if (h2_read(h, data, n) >= 0) {
        const struct buf *out = h2_output(h), *own = &h2_own_answers(h)->waiting;
        require(buf_ok(out) && h2_read(again, (const uint8_t *)out->s, out->n) >= 0);
        h2_place_follow(&place, (const uint8_t *)own->s, own->n);
        require(place.nhead == 0 && place.left == 0 && !place.in_block);
    }
    h2_free(h);
    h2_free(again);
}

static void check_first(const char *s, size_t n)
{
    struct first_line whole = {0}, cut = {0};
    enum first_line_result a = first_line_read(&whole, s, n), b = FIRST_MORE;
    for (size_t i = 0; i < n && b == FIRST_MORE; i++)
        b = first_line_read(&cut, s + i, 1);
    require(a == b && (a != FIRST_MORE || first_line_end(&whole) == first_line_end(&cut)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct received whole = {0}, cut = {0};
    size_t n = H2_PREFACE_SIZE + size;
    uint8_t *all = malloc(n);
    require(all);
    memcpy(all, H2_PREFACE, H2_PREFACE_SIZE);
    if (size)
        memcpy(all + H2_PREFACE_SIZE, data, size);
    read_all(all, n, n, &whole);
    read_all(all, n, 1, &cut);
    check_judged(all, n);
    require(whole.refused == cut.refused && whole.names == cut.names && whole.sum == cut.sum);
    /* bytes before the rejected part of the same piece are not forwarded */
    require(whole.refused ? whole.passed <= cut.passed : whole.passed == cut.passed);
    free(all);
    check_first((const char *)data, size);
    return 0;
}
