/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Input: a datagram. Every answer fits, and answers are never answered. */

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

/* Records from the input, in the smallest space an answer may have. */
static size_t several(const struct dns_query *q, const uint8_t *data, size_t size, uint8_t *out)
{
    struct dns_reply r;
    char host[300] = "";
    memcpy(host, data, size < sizeof(host) - 1 ? size : sizeof(host) - 1);
    dns_reply_begin(&r, q, DNS_OK, out, q->edns ? DNS_MAX : DNS_PLAIN_MAX);
    for (size_t at = 0; at < size && at < 64; at++) {
        size_t n = data[at] < size - at ? data[at] : size - at;
        dns_reply_text(&r, data[at] & 1, data + at, n, 1);
        if (data[at] % 7 == 0)
            dns_reply_mail(&r, 1, host, 1);
        if (data[at] % 11 == 0)
            dns_reply_service(&r, (uint16_t[]){1, 2, 3}, q->named ? q->host.name : host, 1);
    }
    size_t n = dns_reply_end(&r, q);
    if (n > (q->edns ? DNS_MAX : DNS_PLAIN_MAX))
        abort();
    return n;
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
    check(out, several(&q, data, size, out));
    if (q.named)
        check(out, dns_reply_name(&q, &q.host, 1, out));
    return 0;
}
