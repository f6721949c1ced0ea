/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* What rules reveal about a host beyond the verdict. */

#include "net/rules.h"
#include "sbpl-maker.h"
#include "tap.h"

static struct peer parsed(const char *text)
{
    struct peer p;
    if (!peer_parse(text, strlen(text), &p))
        printf("Bail out! %s\n", text);
    return p;
}

/* Compiles a profile with these host filters. */
static bool load(struct program *p, struct net_rules *r, const char *filters)
{
    char text[1024];
    snprintf(text, sizeof(text), "(version 1)(deny default)(allow network-outbound %s)", filters);
    if (!program_load(p, text, &sbpl_any) || rules_init(r, p->graph) < 0) {
        printf("Bail out! %s\n", p->err.msg);
        return false;
    }
    return true;
}

static void test_places(void)
{
    static const struct {
        const char *filters, *host;
        uint16_t port;
        bool want;
    } rows[] = {
        {"(remote ip \"localhost:3128\")", "localhost", 3128, true},
        {"(remote ip \"localhost:3128\")", "127.0.0.1", 3128, true},
        {"(remote ip \"localhost:3128\")", "::1", 3128, true},
        {"(remote ip \"localhost:3128\")", "localhost", 3129, false},
        {"(remote ip \"localhost:*\")", "localhost", 3128, false},
        {"(remote ip \"localhost:*\") (remote ip \"localhost:3128\")", "localhost", 3128, true},
        {"(remote ip \"localhost:3128\") (remote ip \"localhost:*\")", "localhost", 3128, true},
        {"(remote udp \"localhost:3128\") (remote ip \"localhost:*\")", "localhost", 3128, false},
        {"(remote ip \"127.0.0.1:3128\")", "127.0.0.1", 3128, true},
        {"(remote tcp \"10.0.0.5:3128\")", "10.0.0.5", 3128, true},
        {"(remote ip \"[2001:db8::1]:3128\")", "2001:db8::1", 3128, true},
        {"(remote ip \"10.0.0.5\")", "10.0.0.5", 3128, false},
        {"(remote ip \"10.0.0.0/8:3128\")", "10.0.0.5", 3128, false},
        {"(remote ip \"10.0.0.5:3000-4000\")", "10.0.0.5", 3128, false},
        {"(remote ip \"*:3128\")", "10.0.0.5", 3128, false},
        {"(domain \"10.0.0.5:3128\")", "10.0.0.5", 3128, true},
        {"(domain \"10.0.0.5\")", "10.0.0.5", 3128, false},
        {"(domain \"proxy.example:3128\")", "proxy.example", 3128, false},
        {"", "10.0.0.5", 3128, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct program p;
        struct net_rules r;
        struct peer host = parsed(rows[i].host);
        if (!load(&p, &r, rows[i].filters))
            return;
        ok(rules_name_place(&r, &host, rows[i].port) == rows[i].want, "%s: %s:%u is %sa place",
           rows[i].filters, rows[i].host, rows[i].port, rows[i].want ? "" : "not ");
        rules_free(&r);
        program_close(&p);
    }
}

static void test_names(void)
{
    static const struct {
        const char *filters, *host;
        bool allowed, spelled, open;
    } rows[] = {
        {"(domain \"a.example\")", "a.example", true, true, false},
        {"(domain \"a.example\")", "b.a.example", false, false, false},
        {"(domain \"*.a.example\")", "b.a.example", true, false, false},
        {"(domain \"*.a.example\") (domain \"b.a.example:22\")", "b.a.example", true, true, false},
        {"(domain \"a.example:8443\")", "a.example", true, true, false},
        {"", "a.example", true, false, true},
        {"(remote ip \"*:443\")", "a.example", true, false, true},
        {"(remote ip \"10.0.0.5:443\")", "a.example", false, false, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct program p;
        struct net_rules r;
        struct peer host = parsed(rows[i].host);
        if (!load(&p, &r, rows[i].filters))
            return;
        ok(rules_allow_name(&r, &host) == rows[i].allowed, "%s: allowed %d", rows[i].filters,
           rows[i].allowed);
        ok(rules_spell(&r, &host) == rows[i].spelled, "%s: spelled %d", rows[i].filters,
           rows[i].spelled);
        ok(rules_are_open(&r) == rows[i].open && rules_are_open(&r) == rows[i].open, "%s: open %d",
           rows[i].filters, rows[i].open);
        rules_free(&r);
        program_close(&p);
    }
}

/* With more ports than fit the table, any name gets an address, but no record is looked up. */
static void test_many_ports(void)
{
    char filters[8192] = "";
    for (int i = 0; i < RULES_PORTS + 10; i++)
        snprintf(filters + strlen(filters), sizeof(filters) - strlen(filters),
                 "(domain \"a.example:%d\")", 1000 + i);
    char text[9000];
    snprintf(text, sizeof(text), "(version 1)(deny default)(allow network-outbound %s)", filters);
    struct program p;
    struct net_rules r;
    struct peer stranger = parsed("b.example");
    if (!program_load(&p, text, &sbpl_any) || rules_init(&r, p.graph) < 0) {
        printf("Bail out! %s\n", p.err.msg);
        return;
    }
    ok(rules_ask_name(&r, &stranger).allow, "a name that could be allowed");
    ok(!rules_allow_name(&r, &stranger), "is not taken for one that is");
    rules_free(&r);
    program_close(&p);
}

int main(void)
{
    test_places();
    test_names();
    test_many_ports();
    return done_testing();
}
