/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Input: a parent proxy's answer. The parser consumes no more than there is, and terminates. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/upstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void converse(const char *url, const uint8_t *data, size_t size)
{
    struct upstream u;
    struct bk_err err;
    struct peer host;
    if (upstream_parse(url, &u, &err) < 0 || !peer_parse("a.example", 9, &host))
        abort();
    struct upstream_exchange t = {.to = &u, .host = &host, .port = 443};
    upstream_begin(&t);
    while (!t.done) {
        if (t.nout > sizeof(t.out))
            abort();
        ssize_t used = upstream_read(&t, data, size);
        if (used <= 0)
            return;
        if ((size_t)used > size)
            abort();
        data += used;
        size -= (size_t)used;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct upstream u;
    struct bk_err err;
    char url[300] = "";
    memcpy(url, data, size < sizeof(url) - 1 ? size : sizeof(url) - 1);
    if (upstream_parse(url, &u, &err) == 0 && (u.port == 0 || u.host.len == 0))
        abort();
    converse("http://me:secret@p:1", data, size);
    converse("socks5://p:1", data, size);
    converse("socks5://me:secret@p:1", data, size);
    return 0;
}
