/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_SOCKS_H
#define BK_NET_SOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/peer.h"

/* SOCKS 5 (RFC 1928, 1929), the server's side. upstream.h has the client's. */

enum socks_result { SOCKS_MORE, SOCKS_BAD, SOCKS_FOUND };

enum { SOCKS_VERSION = 5 };

enum socks_method { SOCKS_NO_LOGIN = 0, SOCKS_PASSWORD = 2, SOCKS_NONE_FITS = 0xff };

enum socks_command { SOCKS_CONNECT = 1, SOCKS_BIND = 2, SOCKS_UDP = 3 };

enum socks_code {
    SOCKS_OK = 0,
    SOCKS_FAILED = 1,
    SOCKS_NOT_ALLOWED = 2,
    SOCKS_UNREACHABLE = 4,
    SOCKS_REFUSED = 5,
    SOCKS_NO_COMMAND = 7,
    SOCKS_NO_ADDRESS = 8,
};

enum socks_address { SOCKS_IPV4 = 1, SOCKS_NAME = 3, SOCKS_IPV6 = 4 };

struct socks_greeting {
    size_t size;
    bool no_login, password; /* methods that the client offers */
};

struct socks_login {
    size_t size;
    char user[256], password[256];
};

struct socks_request {
    size_t size;
    uint8_t command;
    uint8_t wrong; /* SOCKS_BAD: the enum socks_code to reply with, 0 for none */
    struct peer host;
    uint16_t port;
};

enum socks_result socks_greeting_read(const uint8_t *data, size_t n, struct socks_greeting *out);
enum socks_result socks_login_read(const uint8_t *data, size_t n, struct socks_login *out);
enum socks_result socks_request_read(const uint8_t *data, size_t n, struct socks_request *out);

enum { SOCKS_REPLY = 10 };
void socks_reply(enum socks_code code, uint8_t out[SOCKS_REPLY]);

#endif
