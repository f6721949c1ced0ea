/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: an answer of the program that decides about requests. Whatever it says, the request that
 * is sent is well formed, goes to the same host and ends at the same place. Read as a target, the
 * bytes have no dot segments once they are normalized, and normalizing again changes nothing.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "net/decider.h"
#include "net/handling.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char head[] = "POST /a/b?c HTTP/1.1\r\nHost: a.b\r\nAccept: x\r\nCookie: y\r\n"
                           "Content-Length: 12\r\nX-A: z\r\n\r\n";

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_edit(const struct decision *d)
{
    static struct http_head before, after;
    enum { NAMES = 1024 };
    static const char *names[NAMES];
    OWN(buf) struct buf out = {0};
    size_t n = 0;
    for (size_t i = 0; i < d->removed.n && n < NAMES; i += strlen(d->removed.s + i) + 1)
        names[n++] = d->removed.s + i;
    struct head_edit e = {.remove = {names, n}, .add = d->add.s, .nadd = d->add.n};
    handling_edit_head(head, sizeof(head) - 1, &e, &out);
    require(buf_ok(&out) && http_head_read(head, sizeof(head) - 1, &before) == HTTP_FOUND);
    enum http_result got = http_head_read(out.s, out.n, &after);
    if (got == HTTP_BAD && d->add.n) /* more fields than the gate reads, or bytes that it refuses */
        return;
    require(got == HTTP_FOUND && after.size == out.n && after.framing == before.framing &&
            after.length == before.length && after.named && peer_equal(&after.host, &before.host) &&
            after.method.n == 4 && after.target.n == before.target.n && !after.upgrade);
}

static void check_answer(const char *text, size_t n, bool framed)
{
    struct peer host = {.name = "github.com", .len = 10};
    struct decision d;
    uint64_t id = 0;
    const char *wrong = decision_read(text, n, framed, &host, &id, &d);
    require(wrong || id > 0);
    require(wrong || d.allow || d.wants || d.waits || (d.status >= 400 && d.status <= 599));
    if (!wrong && d.allow)
        check_edit(&d);
    decision_free(&d);
}

static void check_target(const char *text, size_t n)
{
    OWN(buf) struct buf once = {0}, twice = {0};
    handling_normalize((struct slice){text, n}, &once);
    require(buf_ok(&once));
    if (!once.n || once.s[0] != '/')
        return;
    require(!handling_normalize((struct slice){once.s, once.n}, &twice));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_answer((const char *)data, size, false);
    check_answer((const char *)data, size, true);
    check_target((const char *)data, size);
    return 0;
}
