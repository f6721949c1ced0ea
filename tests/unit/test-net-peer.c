/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Hosts in every spelling, special addresses, and addresses that stand for names. */

#include <arpa/inet.h>

#include "graph/peer.h"
#include "net/name-address.h"
#include "tap.h"

static const char *canonical(const char *text)
{
    static struct peer h;
    if (!peer_parse(text, strlen(text), &h))
        return "no host";
    return h.name;
}

static void test_spellings(void)
{
    static const char *const loopback[] = {
        "127.0.0.1",        "127.1",         "127.0.1",
        "2130706433",       "0x7f000001",    "0x7f.1",
        "017700000001",     "0177.0.0.1",    "127.0.0.1.",
        "::ffff:127.0.0.1", "::FFFF:7f00:1", "[::ffff:127.0.0.1]",
        "0x7f.0x0.0x0.0x1", "127.0.0.01",
    };
    for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++)
        is_str(canonical(loopback[i]), "127.0.0.1", "%s is loopback", loopback[i]);
    is_str(canonical("[::1]"), "::1", "brackets go");
    is_str(canonical("0:0:0:0:0:0:0:1"), "::1", "zeros go");
    is_str(canonical("Example.COM."), "example.com", "case and the root's dot go");
    is_str(canonical("a_b-c.d"), "a_b-c.d", "names keep their marks");
    is_str(canonical("xn--bcher-kva.example"), "xn--bcher-kva.example", "punycode is a name");
}

static void test_no_hosts(void)
{
    static const char *const none[] = {
        "",           ".",           "..",   "a..b",        ".a",     "a b",
        "a\tb",       "a/b",         "a@b",  "a%41",        "[a.b]",  "[127.0.0.1]",
        "fe80::1%1",  "[::1",        "::1]", "1.2.3.4.5",   "a.123",  "256.1.1.1",
        "127.0.0.1 ", "127.0.0.1 x", "*.a",  "\xc3\xa4.de", "a\r\nb", "0x",
    };
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        is_str(canonical(none[i]), "no host", "refused: \"%s\"", none[i]);
    struct peer h;
    ok(!peer_parse("a\0b", 3, &h), "a NUL inside is refused");
    char longest[300];
    memset(longest, 'a', sizeof(longest));
    for (size_t i = 63; i < sizeof(longest); i += 64)
        longest[i] = '.';
    ok(peer_parse(longest, 253, &h), "253 bytes are a name");
    ok(!peer_parse(longest, 254, &h), "254 are none");
    ok(!peer_parse("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b", 66, &h),
       "a label of 64 bytes is none");
}

static void test_authorities(void)
{
    static const struct {
        const char *text;
        uint16_t fallback;
        bool fine;
        const char *name;
        uint16_t port;
    } rows[] = {
        {"a.b:80", 0, true, "a.b", 80},  {"a.b", 443, true, "a.b", 443},
        {"a.b", 0, false, "", 0},        {"[::1]:8080", 0, true, "::1", 8080},
        {"[::1]", 80, true, "::1", 80},  {"::1", 80, false, "", 0},
        {"a.b:", 80, false, "", 0},      {"a.b:0", 80, false, "", 0},
        {"a.b:65536", 80, false, "", 0}, {"a.b:80x", 80, false, "", 0},
        {"a.b:+80", 80, false, "", 0},   {"u@a.b:80", 80, false, "", 0},
        {"a.b:80:90", 80, false, "", 0}, {"[::1]x", 80, false, "", 0},
        {"[::1", 80, false, "", 0},      {":80", 80, false, "", 0},
        {"", 80, false, "", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct peer h;
        uint16_t port;
        bool fine =
            peer_parse_authority(rows[i].text, strlen(rows[i].text), rows[i].fallback, &h, &port);
        ok(fine == rows[i].fine &&
               (!fine || (strcmp(h.name, rows[i].name) == 0 && port == rows[i].port)),
           "authority \"%s\"", rows[i].text);
    }
}

static void test_special(void)
{
    static const struct {
        const char *host, *what;
    } rows[] = {
        {"127.0.0.1", "loopback"},
        {"127.255.255.254", "loopback"},
        {"0.0.0.0", "this host"},
        {"::1", "loopback"},
        {"::", "this host"},
        {"169.254.169.254", "a cloud metadata service"},
        {"169.254.1.1", "link-local"},
        {"100.100.100.200", "a cloud metadata service"},
        {"fd00:ec2::254", "a cloud metadata service"},
        {"fe80::1", "link-local"},
        {"febf::1", "link-local"},
        {"fec0::1", "site-local"},
        {"ff02::1", "multicast"},
        {"224.0.0.1", "multicast"},
        {"255.255.255.255", "reserved"},
        {"198.18.1.1", "reserved for the sandbox"},
        {"198.19.255.255", "reserved for the sandbox"},
        {"64:ff9b::7f00:1", "loopback"},
        {"2002:7f00:1::", "loopback"},
        {"::7f00:1", "loopback"},
        {"10.0.0.1", NULL},
        {"192.168.1.1", NULL},
        {"198.20.0.1", NULL},
        {"8.8.8.8", NULL},
        {"2001:db8::1", NULL},
        {"fc00::1", NULL},
        {"2002:808:808::", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct peer h;
        peer_parse(rows[i].host, strlen(rows[i].host), &h);
        const char *what = addr_is_special(h.addr);
        is_str(what ? what : "ordinary", rows[i].what ? rows[i].what : "ordinary", "%s",
               rows[i].host);
    }
}

static void test_names(void)
{
    struct name_addresses t;
    struct peer h, back;
    uint8_t addr[16];
    char text[64];
    bool agree = true;
    ok(name_address_init(&t) == 0, "a table of names");
    for (uint32_t i = 0; i < NAMES_MAX; i++) {
        int n = snprintf(text, sizeof(text), "host-%u.example", i);
        peer_parse(text, (size_t)n, &h);
        agree = agree && name_address_number(&t, &h) == i && name_address_number(&t, &h) == i;
    }
    ok(agree, "each of %d names gets a number of its own, and keeps it", NAMES_MAX);
    peer_parse("one-too-many", 12, &h);
    ok(name_address_number(&t, &h) == -1, "then there are no more");
    for (uint32_t i = 0; i < NAMES_MAX; i += 997)
        for (int v6 = 0; v6 < 2; v6++) {
            name_address_get(i, v6, addr);
            const struct peer *found = name_address_find(&t, addr);
            snprintf(text, sizeof(text), "host-%u.example", i);
            agree = agree && found && strcmp(found->name, text) == 0 && addr_is_v4(addr) == !v6 &&
                    name_address_covers(addr);
        }
    ok(agree, "addresses lead back to their names");
    name_address_get(0, false, addr);
    peer_from_address(addr, &back);
    is_str(back.name, "198.18.1.0", "the first address");
    name_address_get(65535, false, addr);
    peer_from_address(addr, &back);
    is_str(back.name, "198.19.0.255", "the last address lies in 198.18.0.0/15");
    peer_parse("198.18.0.255", 12, &h);
    ok(!name_address_find(&t, h.addr), "what lies before the first is no name");
    peer_parse("198.20.0.0", 10, &h);
    ok(!name_address_covers(h.addr) && !name_address_find(&t, h.addr), "nor what lies outside");
    name_address_free(&t);
}

/* Must match the C library's output. */
static void test_addresses(void)
{
    uint8_t addr[16] = {[10] = 0xff, [11] = 0xff};
    char wanted[INET_ADDRSTRLEN];
    struct peer h;
    bool agree = true;
    for (unsigned i = 0; i < 256; i++) {
        const uint8_t v4[4] = {(uint8_t)i, (uint8_t)(255 - i), (uint8_t)(i * 7), (uint8_t)(i / 3)};
        memcpy(addr + 12, v4, 4);
        peer_from_address(addr, &h);
        inet_ntop(AF_INET, v4, wanted, sizeof(wanted));
        agree = agree && strcmp(h.name, wanted) == 0 && h.len == strlen(wanted) && h.address;
        struct peer back;
        agree = agree && peer_parse(wanted, strlen(wanted), &back) && peer_equal(&back, &h) &&
                memcmp(back.addr, addr, 16) == 0;
    }
    ok(agree, "IPv4 addresses are written as inet_ntop() writes them, and read again");
    is_str(canonical("256.1.1.1"), "no host", "numbers that are too large");
    is_str(canonical("1.2.3.4.5"), "no host", "too many of them");
    is_str(canonical("1.2.3.04"), "1.2.3.4", "zeros in front are octal, as ever");
    is_str(canonical("1.2.3.010"), "1.2.3.8", "and count as such");
    is_str(canonical("[1.2.3.4]"), "no host", "brackets are IPv6's");
    is_str(canonical("1.2.3.4."), "1.2.3.4", "a dot at the end goes");
}

int main(void)
{
    test_addresses();
    test_spellings();
    test_no_hosts();
    test_authorities();
    test_special();
    test_names();
    return done_testing();
}
