/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Parses the client's messages and writes replies. Each message has a length byte in front of its
 * variable part, which is checked before it is used.
 */

#include "net/socks.h"

#include <string.h>

enum socks_result socks_greeting_read(const uint8_t *data, size_t n, struct socks_greeting *out)
{
    *out = (struct socks_greeting){0};
    if (n >= 1 && data[0] != SOCKS_VERSION)
        return SOCKS_BAD;
    if (n < 2 || n < 2u + data[1])
        return SOCKS_MORE;
    out->size = 2u + data[1];
    out->no_login = memchr(data + 2, SOCKS_NO_LOGIN, data[1]) != NULL;
    out->password = memchr(data + 2, SOCKS_PASSWORD, data[1]) != NULL;
    return SOCKS_FOUND;
}

enum socks_result socks_login_read(const uint8_t *data, size_t n, struct socks_login *out)
{
    memset(out, 0, sizeof(*out));
    if (n >= 1 && data[0] != 1)
        return SOCKS_BAD;
    if (n < 2 || n < 3u + data[1])
        return SOCKS_MORE;
    size_t user = data[1], password = data[2 + user];
    out->size = 3 + user + password;
    if (n < out->size)
        return SOCKS_MORE;
    memcpy(out->user, data + 2, user);
    memcpy(out->password, data + 3 + user, password);
    return SOCKS_FOUND;
}

static enum socks_result reject_request(struct socks_request *out, enum socks_code code)
{
    out->wrong = (uint8_t)code;
    return SOCKS_BAD;
}

static void v4_mapped(const uint8_t v4[4], uint8_t addr[16])
{
    memset(addr, 0, 10);
    memset(addr + 10, 0xff, 2);
    memcpy(addr + 12, v4, 4);
}

enum socks_result socks_request_read(const uint8_t *data, size_t n, struct socks_request *out)
{
    uint8_t addr[16];
    memset(out, 0, sizeof(*out));
    if ((n >= 1 && data[0] != SOCKS_VERSION) || (n >= 3 && data[2] != 0))
        return reject_request(out, 0);
    if (n < 5)
        return SOCKS_MORE;
    out->command = data[1];
    size_t len = data[3] == SOCKS_IPV4 ? 4 : data[3] == SOCKS_IPV6 ? 16 : data[4] + 1u;
    if (data[3] != SOCKS_IPV4 && data[3] != SOCKS_IPV6 && data[3] != SOCKS_NAME)
        return reject_request(out, SOCKS_NO_ADDRESS);
    out->size = 4 + len + 2;
    if (n < out->size)
        return SOCKS_MORE;
    const uint8_t *at = data + 4;
    if (data[3] == SOCKS_NAME) {
        if (!peer_parse((const char *)at + 1, len - 1, &out->host))
            return reject_request(out, SOCKS_FAILED);
    } else if (data[3] == SOCKS_IPV4) {
        v4_mapped(at, addr);
        peer_from_address(addr, &out->host);
    } else {
        peer_from_address(at, &out->host);
    }
    out->port = (uint16_t)(at[len] << 8 | at[len + 1]);
    if (out->command != SOCKS_CONNECT)
        return reject_request(out, SOCKS_NO_COMMAND);
    return out->port ? SOCKS_FOUND : reject_request(out, SOCKS_FAILED);
}

void socks_reply(enum socks_code code, uint8_t out[SOCKS_REPLY])
{
    memset(out, 0, SOCKS_REPLY);
    out[0] = SOCKS_VERSION;
    out[1] = (uint8_t)code;
    out[3] = SOCKS_IPV4;
}
