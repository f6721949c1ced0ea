/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Input: a datagram. Every answer fits, and answers are not answered. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const uint8_t *reply, size_t n)
{
    struct dns_query q;
    enum dns_code code;
    if (n > DNS_MAX || dns_query_read(reply, n, &q, &code))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t v4[16] = {[10] = 0xff, [11] = 0xff, [12] = 198}, v6[16] = {0xfd};
    struct dns_query q;
    enum dns_code code;
    uint8_t out[DNS_MAX];
    if (!dns_query_read(data, size, &q, &code))
        return 0;
    check(out, dns_reply_code(&q, code, "because", out));
    if (code != DNS_OK)
        return 0;
    check(out, dns_reply_address(&q, v4, 1, out));
    check(out, dns_reply_address(&q, v6, 1, out));
    if (q.named)
        check(out, dns_reply_name(&q, &q.host, 1, out));
    return 0;
}
