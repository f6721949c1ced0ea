/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* ClientHellos built byte by byte, whole and in pieces. */

#include "net/tls-hello.h"
#include "tap.h"

static uint8_t message[4096], wire[8192];
static size_t message_len, wire_len;

static void put(const void *data, size_t n)
{
    memcpy(message + message_len, data, n);
    message_len += n;
}

static void put16(size_t v)
{
    put((uint8_t[]){(uint8_t)(v >> 8), (uint8_t)v}, 2);
}

static void set16(size_t at, size_t v)
{
    message[at] = (uint8_t)(v >> 8);
    message[at + 1] = (uint8_t)v;
}

/* Builds a hello with these names, each an entry of type 0. NULL: no such extension. */
static void make_message(const char *const *names, size_t n)
{
    message_len = 0;
    put("\x01\0\0\0\x03\x03", 6);
    for (int i = 0; i < 32; i++)
        put("r", 1);
    put("\0", 1);             /* session */
    put("\0\x02\x13\x01", 4); /* ciphers */
    put("\x01\0", 2);         /* compression */
    size_t extensions = message_len;
    put16(0);
    put("\0\x17\0\0", 4); /* another extension, empty */
    if (names) {
        put("\0\0", 2);
        size_t body = message_len;
        put16(0);
        put16(0);
        for (size_t i = 0; i < n; i++) {
            put("\0", 1);
            put16(strlen(names[i]));
            put(names[i], strlen(names[i]));
        }
        set16(body, message_len - body - 2);
        set16(body + 2, message_len - body - 4);
    }
    set16(extensions, message_len - extensions - 2);
    message[2] = (uint8_t)((message_len - 4) >> 8);
    message[3] = (uint8_t)(message_len - 4);
}

/* Splits the message into records of at most this many bytes. */
static void make_wire(size_t piece)
{
    wire_len = 0;
    for (size_t at = 0; at < message_len; at += piece) {
        size_t n = message_len - at < piece ? message_len - at : piece;
        uint8_t head[] = {22, 3, 1, (uint8_t)(n >> 8), (uint8_t)n};
        memcpy(wire + wire_len, head, 5);
        memcpy(wire + wire_len + 5, message + at, n);
        wire_len += 5 + n;
    }
}

static struct hello hello;

static void test_names(void)
{
    static const char *const one[] = {"Api.Example.com"}, *const two[] = {"a.b", "c.d"};
    static const char *const bad[] = {"a b"}, *const address[] = {"127.0.0.1"};
    make_message(one, 1);
    make_wire(16384);
    ok(tls_hello_read(wire, wire_len, &hello) == HELLO_FOUND && hello.named, "a name is found");
    is_str(hello.name.name, "api.example.com", "in its canonical form");
    bool more = true;
    for (size_t n = 0; n < wire_len; n++)
        more = more && tls_hello_read(wire, n, &hello) == HELLO_MORE;
    ok(more, "cut anywhere, it is not all there");
    bool same = true;
    for (size_t piece = 1; piece < 60; piece++) {
        make_wire(piece);
        same = same && tls_hello_read(wire, wire_len, &hello) == HELLO_FOUND &&
               strcmp(hello.name.name, "api.example.com") == 0;
    }
    ok(same, "however it is cut into records");
    make_message(two, 2);
    make_wire(16384);
    ok(tls_hello_read(wire, wire_len, &hello) == HELLO_BAD, "two names are one too many");
    make_message(bad, 1);
    make_wire(16384);
    ok(tls_hello_read(wire, wire_len, &hello) == HELLO_BAD, "what is no name is refused");
    make_message(address, 1);
    make_wire(16384);
    ok(tls_hello_read(wire, wire_len, &hello) == HELLO_FOUND && hello.name.address,
       "an address is recognised as one");
    make_message(NULL, 0);
    make_wire(16384);
    ok(tls_hello_read(wire, wire_len, &hello) == HELLO_FOUND && !hello.named, "no name is no name");
}

static void test_others(void)
{
    static const char *const one[] = {"a.b"};
    ok(tls_hello_read((const uint8_t *)"SSH-2.0-x\r\n", 11, &hello) == HELLO_OTHER,
       "ssh is not TLS");
    ok(tls_hello_read((const uint8_t *)"GET / HTTP", 10, &hello) == HELLO_OTHER, "nor is HTTP");
    make_message(one, 1);
    make_wire(16384);
    wire[3] = 0xff;
    ok(tls_hello_read(wire, wire_len, &hello) == HELLO_BAD, "a record that is too long");
    make_wire(16384);
    wire[5] = 2;
    ok(tls_hello_read(wire, wire_len, &hello) == HELLO_BAD, "another message comes first");
    make_wire(16384);
    wire[6] = 0xff;
    ok(tls_hello_read(wire, wire_len, &hello) == HELLO_BAD, "a message of 16 MB");
    make_wire(20);
    wire[25] = 23; /* the second record */
    ok(tls_hello_read(wire, wire_len, &hello) == HELLO_BAD, "something else in between");
    make_message(one, 1);
    make_wire(16384);
    bool never = true;
    for (size_t i = 9; i < wire_len; i++)
        for (int bit = 0; bit < 8; bit++) {
            wire[i] ^= (uint8_t)(1 << bit);
            enum tls_hello_result got = tls_hello_read(wire, wire_len, &hello);
            never = never && (got == HELLO_FOUND || got == HELLO_BAD || got == HELLO_MORE);
            wire[i] ^= (uint8_t)(1 << bit);
        }
    ok(never, "flipped bits are answered one way or the other");
}

/* Input that only resembles TLS passes; what a server might accept as TLS doesn't. */
static void test_odd(void)
{
    static const char *const one[] = {"a.b"};
    static const struct {
        const char *bytes;
        size_t n;
        enum tls_hello_result want;
    } rows[] = {
        {"\x16", 1, HELLO_MORE},
        {"\x16\x02", 2, HELLO_MORE},
        {"\x16\x02\0\0\x40\x01\0", 7, HELLO_BAD},
        {"\x16\x04\0\0\x40\x01\0", 7, HELLO_BAD},
        {"\x16\0\0\0\x01\x01\x16", 7, HELLO_BAD},
        {"\x16\x02\0\0\x40\x02\0", 7, HELLO_OTHER},
        {"\x16\x02\0\0\x40\x01\x01", 7, HELLO_OTHER},
        {"\x16\x02\0\0\0\x01\0", 7, HELLO_OTHER},
        {"\x16\x02\0\x50\0\x01\0", 7, HELLO_OTHER},
        {"\x15\x03\x01\0\x02\x01\0", 7, HELLO_BAD},
        {"\x15\x03\x01\0\x03\x01\0", 7, HELLO_OTHER},
        {"\x14\x03\x03\0\x01\x01\x16", 7, HELLO_BAD},
        {"\x14\x03\x03\0\x02\x01\x16", 7, HELLO_OTHER},
        {"\x15\x02", 2, HELLO_OTHER},
        {"\x17\x03\x03\0\x01\x01\x16", 7, HELLO_OTHER},
        {"\x13\x03\x03\0\x01\x01\x16", 7, HELLO_OTHER},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        is_int(tls_hello_read((const uint8_t *)rows[i].bytes, rows[i].n, &hello), rows[i].want,
               "first bytes %zu", i);
    for (int version = 0; version < 256; version++) {
        make_message(one, 1);
        make_wire(16384);
        wire[1] = (uint8_t)version;
        if (version != 3 && tls_hello_read(wire, wire_len, &hello) != HELLO_BAD)
            break;
        if (version == 255)
            ok(true, "a hello in records of any other version is refused");
    }
}

int main(void)
{
    test_names();
    test_others();
    test_odd();
    return done_testing();
}
