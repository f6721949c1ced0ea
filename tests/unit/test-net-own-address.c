/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* This machine's addresses, and the limit on name lookups. */

#include "graph/peer.h"
#include "net/lookup-rate.h"
#include "net/own-address.h"
#include "tap.h"

static struct peer parsed(const char *text)
{
    struct peer p;
    if (!peer_parse(text, strlen(text), &p))
        printf("Bail out! %s\n", text);
    return p;
}

static void test_addresses(void)
{
    struct own_address h = OWN_ADDRESS_NONE;
    static const char *const own[] = {"127.0.0.1", "127.9.9.9", "::1"};
    static const char *const others[] = {"203.0.113.77", "8.8.8.8", "2001:db8::77", "240.1.1.1"};
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
            ok(own_address_has(&h, parsed(own[i]).addr), "%s is this machine's", own[i]);
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
            ok(!own_address_has(&h, parsed(others[i]).addr), "%s is not", others[i]);
    }
    ok(h.fd >= 0, "one descriptor is kept for all questions");
    own_address_free(&h);
    own_address_free(&h);
    is_int(h.fd, -1, "and closed once");
}

static bool take(struct lookup_rate *p, unsigned number, uint64_t now)
{
    char text[32];
    snprintf(text, sizeof(text), "n%u.example", number);
    struct peer name = parsed(text);
    return lookup_rate_take(p, &name, now);
}

static void test_pace(void)
{
    struct lookup_rate p = {0};
    struct peer first = parsed("n0.example"), other = parsed("other.example");
    unsigned taken = 0;
    ok(!lookup_rate_knows(&p, &first), "nothing is known before");
    while (taken < 10000 && take(&p, taken, 5000))
        taken++;
    is_int(taken, PACE_AT_ONCE, "so many at once");
    ok(lookup_rate_knows(&p, &first) && !lookup_rate_knows(&p, &other),
       "those are known, others not");
    ok(!take(&p, 20000, 5000 + PACE_MS - 1), "none more within a second");
    ok(take(&p, 20000, 5000 + PACE_MS) && !take(&p, 20001, 5000 + PACE_MS), "and then one");
    ok(take(&p, 20001, 5000 + 3 * PACE_MS) && take(&p, 20002, 5000 + 3 * PACE_MS) &&
           !take(&p, 20003, 5000 + 3 * PACE_MS),
       "two after two");
    unsigned later = 0;
    while (later < 10000 && take(&p, 30000 + later, UINT64_C(1) << 40))
        later++;
    is_int(later, PACE_AT_ONCE, "no more than at first, however long it was");
    lookup_rate_free(&p);
    ok(!lookup_rate_knows(&p, &first), "and nothing after");
}

int main(void)
{
    test_addresses();
    test_pace();
    return done_testing();
}
