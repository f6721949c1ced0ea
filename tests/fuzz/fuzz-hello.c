/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Input: bytes from a client. What was found stays found when more bytes follow. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/tls-hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hello whole, part;
    enum tls_hello_result last = HELLO_MORE, got = tls_hello_read(data, size, &whole);
    for (size_t n = 0; n <= size && size < 300; n++) {
        enum tls_hello_result now = tls_hello_read(data, n, &part);
        if (last != HELLO_MORE && now != last)
            abort();
        last = now;
    }
    if (size < 300 && last != got)
        abort();
    if (got == HELLO_FOUND && whole.named && whole.name.len != strlen(whole.name.name))
        abort();
    return 0;
}
