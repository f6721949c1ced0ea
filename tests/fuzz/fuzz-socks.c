/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Input: bytes from a client, parsed as each kind of message. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/socks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct socks_greeting g;
    struct socks_login l;
    struct socks_request r;
    if (socks_greeting_read(data, size, &g) == SOCKS_FOUND)
        require(g.size <= size && socks_greeting_read(data, g.size - 1, &g) == SOCKS_MORE);
    if (socks_login_read(data, size, &l) == SOCKS_FOUND)
        require(l.size <= size && socks_login_read(data, l.size - 1, &l) == SOCKS_MORE);
    if (socks_request_read(data, size, &r) == SOCKS_FOUND) {
        require(r.size <= size && r.port && r.host.len == strlen(r.host.name));
        require(socks_request_read(data, r.size - 1, &r) == SOCKS_MORE);
    }
    return 0;
}
