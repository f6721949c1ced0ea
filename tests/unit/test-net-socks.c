/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "net/socks.h"
#include "tap.h"

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

static void test_greeting(void)
{
    struct socks_greeting g;
    ok(socks_greeting_read(BYTES("\x05\x02\x00\x02"), &g) == SOCKS_FOUND && g.no_login &&
           g.password && g.size == 4,
       "both ways to log in");
    ok(socks_greeting_read(BYTES("\x05\x01\x01"), &g) == SOCKS_FOUND && !g.no_login && !g.password,
       "neither");
    ok(socks_greeting_read(BYTES("\x05\x02\x00"), &g) == SOCKS_MORE, "not all there");
    ok(socks_greeting_read(BYTES("\x04\x01"), &g) == SOCKS_BAD, "version 4");
    struct socks_login l;
    ok(socks_login_read(BYTES("\x01\x02me\x03key"), &l) == SOCKS_FOUND && l.size == 8, "a login");
    is_str(l.user, "me", "its name");
    is_str(l.password, "key", "its password");
    ok(socks_login_read(BYTES("\x01\x02me\x03ke"), &l) == SOCKS_MORE, "not all there");
    ok(socks_login_read(BYTES("\x02\x02me\x03key"), &l) == SOCKS_BAD, "another version");
}

static void test_request(void)
{
    struct socks_request r;
    ok(socks_request_read(BYTES("\x05\x01\x00\x03\x07"
                                "A.b.com\x01\xbb"),
                          &r) == SOCKS_FOUND &&
           r.port == 443 && r.size == 14,
       "a name");
    is_str(r.host.name, "a.b.com", "in its canonical form");
    ok(socks_request_read(BYTES("\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50"), &r) == SOCKS_FOUND &&
           r.host.address && r.port == 80,
       "an address");
    is_str(r.host.name, "127.0.0.1", "as text");
    ok(socks_request_read(BYTES("\x05\x01\x00\x03\x09"
                                "127.0.0.1\x00\x50"),
                          &r) == SOCKS_FOUND &&
           r.host.address,
       "an address given as a name is an address");
    ok(socks_request_read(BYTES("\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x50"),
                          &r) == SOCKS_FOUND &&
           strcmp(r.host.name, "::1") == 0,
       "IPv6");
    ok(socks_request_read(BYTES("\x05\x03\x00\x01\x01\x02\x03\x04\x00\x50"), &r) == SOCKS_BAD &&
           r.wrong == SOCKS_NO_COMMAND,
       "UDP is refused with its own code");
    ok(socks_request_read(BYTES("\x05\x01\x00\x05\x01\x02\x03\x04\x00\x50"), &r) == SOCKS_BAD &&
           r.wrong == SOCKS_NO_ADDRESS,
       "a kind of address that nobody knows");
    ok(socks_request_read(BYTES("\x05\x01\x00\x03\x03"
                                "a b\x00\x50"),
                          &r) == SOCKS_BAD &&
           r.wrong == SOCKS_FAILED,
       "what is no host");
    ok(socks_request_read(BYTES("\x05\x01\x00\x01\x01\x02\x03\x04\x00\x00"), &r) == SOCKS_BAD,
       "port 0");
    ok(socks_request_read(BYTES("\x05\x01\x01\x01"), &r) == SOCKS_BAD && !r.wrong,
       "a reserved byte that is not zero");
    const char whole[] = "\x05\x01\x00\x03\x03"
                         "a.b\x00\x50";
    bool more = true;
    for (size_t n = 0; n < sizeof(whole) - 1; n++)
        more = more && socks_request_read((const uint8_t *)whole, n, &r) == SOCKS_MORE;
    ok(more, "cut anywhere, it is not all there");
    uint8_t reply[SOCKS_REPLY];
    socks_reply(SOCKS_NOT_ALLOWED, reply);
    ok(memcmp(reply, "\x05\x02\x00\x01\0\0\0\0\0\0", SOCKS_REPLY) == 0, "a reply");
}

int main(void)
{
    test_greeting();
    test_request();
    return done_testing();
}
