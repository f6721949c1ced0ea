/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Endpoints and domains: what is read, what matches, what is rejected; then facts from
 * arguments. */

#include "graph-maker.h"
#include "graph/build.h"
#include "graph/eval.h"
#include "tap.h"

static void protocols(void)
{
    static const struct {
        const char *name;
        uint16_t proto;
    } rows[] = {{"ip4", 1},  {"ip6", 2},  {"ip", 3},    {"tcp4", 5},
                {"tcp6", 6}, {"tcp", 7},  {"udp4", 9},  {"udp6", 10},
                {"udp", 11}, {"tcp*", 7}, {"udp*", 11}, {"unix-socket", NET_UNIX}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint16_t p = 0;
        ok(net_proto_find(rows[i].name, strlen(rows[i].name), &p), "%s is known", rows[i].name);
        is_int(p, rows[i].proto, "%s has its number", rows[i].name);
    }
    uint16_t p;
    ok(!net_proto_find("sctp", 4, &p) && !net_proto_find("", 0, &p), "others are not");
    is_str(net_proto_name(NET_UDP), "udp", "names come back");
}

static void reading(void)
{
    /* text, as it prints with tcp, whether Apple rejects it; NULL when it is invalid */
    static const struct {
        const char *text, *shown;
        bool extension;
    } rows[] = {
        {"*:80", "tcp \"*:80\"", false},
        {"*", "tcp \"*:*\"", false},
        {"*:*", "tcp \"*:*\"", false},
        {"localhost:*", "tcp \"localhost:*\"", false},
        {"localhost", "tcp \"localhost:*\"", false},
        {"localhost:65535", "tcp \"localhost:65535\"", false},
        {"127.0.0.1", "tcp \"127.0.0.1:*\"", true},
        {"127.0.0.1:8080", "tcp \"127.0.0.1:8080\"", true},
        {"10.1.2.3/8", "tcp \"10.0.0.0/8:*\"", true},
        {"0.0.0.0/0", "tcp \"0.0.0.0/0:*\"", true},
        {"10.0.0.0/8:443", "tcp \"10.0.0.0/8:443\"", true},
        {"[::1]:443", "tcp \"[::1]:443\"", true},
        {"::1", "tcp \"[::1]:*\"", true},
        {"fe80::/10", "tcp \"[fe80::/10]:*\"", true},
        {"[fe80::/10]:22", "tcp \"[fe80::/10]:22\"", true},
        {"::ffff:1.2.3.4", "tcp \"1.2.3.4:*\"", true},
        {"*:1024-65535", "tcp \"*:1024-65535\"", true},
        {"", NULL, false},
        {":80", NULL, false},
        {"*:", NULL, false},
        {"*:65536", NULL, false},
        {"*:-1", NULL, false},
        {"*:80x", NULL, false},
        {"*:9-8", NULL, false},
        {"example.com:80", NULL, false},
        {"1.2.3:80", NULL, false},
        {"1.2.3.4/33", NULL, false},
        {"::1/129", NULL, false},
        {"1.2.3.4/", NULL, false},
        {"[::1", NULL, false},
        {"[::1]x", NULL, false},
        {"[]:80", NULL, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct net_endpoint e = {.proto = NET_TCP};
        struct bk_err err = {0};
        bool extension = false;
        struct buf out = {0};
        int r = net_endpoint_parse(rows[i].text, strlen(rows[i].text), &e, &extension, &err);
        if (!rows[i].shown) {
            ok(r < 0 && err.code == BK_E_INPUT && err.hint[0], "\"%s\" is refused", rows[i].text);
            continue;
        }
        net_endpoint_print(&e, &out);
        is_str(r == 0 ? out.s : err.msg, rows[i].shown, "\"%s\" is read", rows[i].text);
        is_int(extension, rows[i].extension, "\"%s\" extension or not", rows[i].text);
        buf_free(&out);
    }
    struct net_endpoint e = {.proto = NET_UDP};
    char nul[] = "1.2.3.4\0.5";
    ok(net_endpoint_parse(nul, sizeof(nul) - 1, &e, NULL, NULL) < 0, "a NUL byte is no address");
    char longer[300];
    memset(longer, '1', sizeof(longer));
    ok(net_endpoint_parse(longer, sizeof(longer), &e, NULL, NULL) < 0, "nor are 300 digits");
    is_int(e.proto, NET_UDP, "a refusal leaves the endpoint alone");
}

static struct net_endpoint at(uint16_t proto, const char *s)
{
    struct net_endpoint e = {.proto = proto};
    struct bk_err err;
    if (net_endpoint_parse(s, strlen(s), &e, NULL, &err) < 0)
        printf("Bail out! %s\n", err.msg);
    return e;
}

static void matching(void)
{
    static const struct {
        uint16_t fp;
        const char *filter;
        uint16_t qp;
        const char *query;
        bool want;
    } rows[] = {
        {NET_TCP, "*:443", NET_TCP4, "1.2.3.4:443", true},
        {NET_TCP, "*:443", NET_TCP4, "1.2.3.4:80", false},
        {NET_TCP, "*:443", NET_UDP4, "1.2.3.4:443", false},
        {NET_IP, "*:443", NET_UDP4, "1.2.3.4:443", true},
        {NET_IP4, "*:*", NET_TCP6, "[::2]:1", false},
        {NET_IP6, "*:*", NET_TCP6, "[::2]:1", true},
        {NET_TCP, "*:*", NET_IP4, "1.2.3.4", false},
        {NET_IP, "localhost:*", NET_TCP4, "127.0.0.1:1", true},
        {NET_IP, "localhost:*", NET_TCP4, "127.9.9.9:1", true},
        {NET_IP, "localhost:*", NET_TCP4, "128.0.0.1:1", false},
        {NET_IP, "localhost:*", NET_TCP6, "[::1]:1", true},
        {NET_IP, "localhost:*", NET_TCP6, "[::2]:1", false},
        {NET_IP, "localhost:*", NET_TCP, "localhost:1", true},
        {NET_IP4, "localhost:*", NET_TCP, "localhost:1", true},
        {NET_TCP, "127.0.0.1:1", NET_TCP, "localhost:1", true},
        {NET_TCP, "10.0.0.1:1", NET_TCP, "localhost:1", false},
        {NET_TCP, "10.0.0.0/8:*", NET_TCP4, "10.255.0.1:5", true},
        {NET_TCP, "10.0.0.0/8:*", NET_TCP4, "11.0.0.1:5", false},
        {NET_TCP, "10.128.0.0/9:*", NET_TCP4, "10.127.0.1:5", false},
        {NET_TCP, "0.0.0.0/0", NET_TCP4, "8.8.8.8:53", true},
        {NET_TCP, "0.0.0.0/0", NET_TCP6, "[::8]:53", false},
        {NET_TCP, "::/0", NET_TCP6, "[::8]:53", true},
        {NET_TCP, "::/0", NET_TCP4, "8.8.8.8:53", false},
        {NET_TCP, "*:1024-2048", NET_TCP4, "1.1.1.1:1024", true},
        {NET_TCP, "*:1024-2048", NET_TCP4, "1.1.1.1:2048", true},
        {NET_TCP, "*:1024-2048", NET_TCP4, "1.1.1.1:2049", false},
        {NET_TCP, "*:443", NET_TCP, "*:443", true},
        {NET_TCP, "localhost:443", NET_TCP, "*:443", false},
        {NET_TCP, "0.0.0.0/0:443", NET_TCP, "*:443", false},
        {NET_TCP, "*:443", NET_TCP, "*", false},
        {NET_TCP, "*:*", NET_TCP, "*", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct net_endpoint f = at(rows[i].fp, rows[i].filter), q = at(rows[i].qp, rows[i].query);
        is_int(net_endpoint_match(&f, &q), rows[i].want, "%s %s %s %s %s",
               net_proto_name(rows[i].qp), rows[i].query, rows[i].want ? "in" : "not in",
               net_proto_name(rows[i].fp), rows[i].filter);
    }
    struct net_endpoint u = {.proto = NET_UNIX}, any_ip = at(NET_IP, "*:*");
    ok(net_endpoint_match(&u, &u), "a unix socket is in unix-socket");
    ok(!net_endpoint_match(&any_ip, &u) && !net_endpoint_match(&u, &any_ip), "but not in ip");
}

static void covering(void)
{
    struct net_endpoint all_tcp = at(NET_TCP, "*:*"), web = at(NET_TCP, "*:443");
    struct net_endpoint ten = at(NET_TCP, "10.0.0.0/8:443"), host = at(NET_TCP, "10.1.1.1:443");
    struct net_endpoint local = at(NET_TCP, "localhost:443"), loop = at(NET_TCP, "127.0.0.0/8:443");
    ok(net_endpoint_covers(&all_tcp, &web) && !net_endpoint_covers(&web, &all_tcp), "ports");
    ok(net_endpoint_covers(&ten, &host) && !net_endpoint_covers(&host, &ten), "prefixes");
    ok(net_endpoint_covers(&web, &ten) && net_endpoint_covers(&local, &loop), "hosts");
    ok(!net_endpoint_covers(&loop, &local), "localhost is also ::1");
    struct net_endpoint first = at(NET_TCP, "10.0.0.0:443");
    ok(!net_endpoint_covers(&first, &ten), "a network is more than its first address");
}

static bool domain(const char *pattern, const char *subject)
{
    return net_domain_match(pattern, strlen(pattern), subject, strlen(subject));
}

static void domains(void)
{
    static const struct {
        const char *pattern, *subject;
        bool want;
    } rows[] = {
        {"example.com", "example.com", true},
        {"example.com", "EXAMPLE.Com", true},
        {"example.com", "example.com.", true},
        {"example.com.", "example.com", true},
        {"example.com", "example.com:443", true},
        {"example.com", "www.example.com", false},
        {"example.com", "badexample.com", false},
        {"example.com:443", "example.com:443", true},
        {"example.com:443", "example.com:80", false},
        {"example.com:443", "example.com", false},
        {"example.com:*", "example.com:80", true},
        {"*.example.com", "www.example.com", true},
        {"*.example.com", "a.b.example.com:1", true},
        {"*.example.com", "example.com", false},
        {"*.example.com", ".example.com", false},
        {"*.example.com", "badexample.com", false},
        {"*.example.com", "example.com.evil.org", false},
        {"*.example.com:443", "www.example.com:443", true},
        {"*.example.com:443", "www.example.com:80", false},
        {"*.0.0.1", "127.0.0.1", false},
        {"127.0.0.1", "127.0.0.1:80", true},
        {"127.0.0.1", "127.0.0.2", false},
        {"[::1]:443", "[0:0::1]:443", true},
        {"::1", "[::1]:443", true},
        {"example.com", "*.example.com", false},
        {"example.com", "", false},
        {"example.com", "example.com:99999", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        is_int(domain(rows[i].pattern, rows[i].subject), rows[i].want, "domain %s, host %s",
               rows[i].pattern, rows[i].subject);
    static const char *const good[] = {"a",           "example.com",  "*.example.com",
                                       "a-b_c.d:443", "EXAMPLE.com.", "127.0.0.1:80",
                                       "[::1]:443",   "x:*"};
    static const char *const bad[] = {"",    "*",      "*.",      ".com",       "a..b",
                                      "a b", "*a.com", "a.*.com", "a:0x1",      "a:70000",
                                      "a:",  "a/b",    "[::1",    "\xc3\xa4.de"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        ok(net_domain_check(good[i], strlen(good[i]), NULL) == 0, "domain %s is fine", good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct bk_err err = {0};
        ok(net_domain_check(bad[i], strlen(bad[i]), &err) < 0 && err.hint[0],
           "domain \"%s\" is refused", bad[i]);
    }
    char longest[300];
    memset(longest, 'a', sizeof(longest));
    ok(net_domain_check(longest, 63, NULL) == 0 && net_domain_check(longest, 64, NULL) < 0,
       "a label has at most 63 bytes");
}

/* ---- arguments ---- */

static struct graph_fact facts[8];
static size_t nfacts;
static struct bk_err err;

static int parse(enum vocab_op op, const char *a, const char *b)
{
    const char *args[2] = {a, b};
    nfacts = 0;
    memset(&err, 0, sizeof(err));
    return graph_facts_parse(op, args, (a != NULL) + (b != NULL), facts, &nfacts, &err);
}

static void arguments(void)
{
    ok(parse(OP_FILE_READ_DATA, "/a=b", NULL) == 0 && nfacts == 1, "a path may have an =");
    ok(facts[0].filter == FILTER_PATH && facts[0].len == 4, "and is the path");
    ok(parse(OP_FILE_READ_DATA, "/a", "vnode-type=DIRECTORY") == 0 && nfacts == 2, "a constant");
    ok(facts[1].filter == FILTER_VNODE_TYPE && facts[1].num == 2, "has its value");
    ok(parse(OP_FILE_READ_DATA, "path=/x", "uid=0x1f5") == 0 && facts[1].num == 501, "hexadecimal");
    ok(parse(OP_FILE_READ_DATA, "uid=0o10", "uid=10") == 0 && facts[0].num == 8 &&
           facts[1].num == 10,
       "octal and decimal; a key may repeat");
    ok(parse(OP_FILE_READ_DATA, "file-mode=0644", NULL) == 0 && facts[0].num == 0644, "a mode");
    ok(parse(OP_FILE_READ_DATA, "subpath=/x", NULL) == 0 && facts[0].filter == FILTER_PATH,
       "any spelling of a filter is its key");
    ok(parse(OP_MACH_LOOKUP, "com.apple.x", NULL) == 0 && facts[0].filter == FILTER_GLOBAL_NAME,
       "the subject of mach-lookup is a name");
    ok(parse(OP_SIGNAL, "target=self", NULL) == 0 && facts[0].num == 1, "target self");
    ok(parse(OP_FILE_READ_DATA, "/a", "/b") < 0, "one plain argument only");
    ok(parse(OP_FILE_READ_DATA, "uid=abc", NULL) < 0 && err.hint[0], "not a number");
    ok(parse(OP_FILE_READ_DATA, "uid=", NULL) < 0, "nothing is not a number");
    ok(parse(OP_FILE_READ_DATA, "uid=99999999999999999999", NULL) < 0, "a number too large");
    ok(parse(OP_FILE_READ_DATA, "vnode-tipe=DIRECTORY", NULL) < 0, "an unknown key");
    ok(strstr(err.hint, "vnode-type") != NULL, "comes with a suggestion");
    ok(parse(OP_PROCESS_FORK, "/a", NULL) < 0, "fork has no subject");
    ok(parse(OP_FILE_READ_DATA, NULL, NULL) == 0 && nfacts == 0, "no argument is fine");
}

static void network_arguments(void)
{
    ok(parse(OP_NETWORK_OUTBOUND, "1.2.3.4:80", NULL) == 0, "an address");
    ok(facts[0].filter == FILTER_REMOTE && facts[0].net.proto == NET_TCP4 &&
           facts[0].net.port_lo == 80,
       "is a remote TCP endpoint");
    ok(parse(OP_NETWORK_OUTBOUND, "udp:[::1]:53", NULL) == 0 && facts[0].net.proto == NET_UDP6,
       "a protocol in front");
    ok(parse(OP_NETWORK_BIND, "localhost:80", NULL) == 0 && facts[0].filter == FILTER_LOCAL,
       "bind is about the local end");
    ok(parse(OP_NETWORK_OUTBOUND, "/run/x.sock", NULL) == 0 && facts[0].net.proto == NET_UNIX &&
           facts[0].len == 11,
       "a path is a unix socket");
    ok(parse(OP_NETWORK_OUTBOUND, "@x", NULL) == 0 && facts[0].net.proto == NET_UNIX, "abstract");
    ok(parse(OP_NETWORK_OUTBOUND, "example.com:443", NULL) == 0 &&
           facts[0].net.host == NET_HOST_ANY && facts[0].net.port_lo == 443 &&
           facts[0].net.port_hi == 443 && facts[0].len == 15,
       "a host name keeps its port");
    ok(parse(OP_NETWORK_OUTBOUND, "a b:443", NULL) < 0 && err.hint[0], "not a host");
    ok(parse(OP_NETWORK_OUTBOUND, "remote=1.2.3.4:1", "local=127.0.0.1:2") == 0 &&
           facts[1].filter == FILTER_LOCAL && facts[1].net.port_lo == 2,
       "both ends by name");
}

static bool connects(const struct graph *g, const char *arg)
{
    parse(OP_NETWORK_OUTBOUND, arg, NULL);
    struct graph_cache *c = graph_cache_new(g);
    struct graph_query q = {.op = OP_NETWORK_OUTBOUND, .facts = facts, .nfacts = nfacts};
    bool allow = graph_eval(g, c, &q).allow;
    graph_cache_free(c);
    return allow;
}

static struct graph *network_policy(const struct graph_expr *when)
{
    struct graph_build *b = start(1);
    rule_at(b, 1, true, OP_NETWORK_OUTBOUND, when);
    return finish(b);
}

static void deciding(void)
{
    struct graph *g = network_policy(net(FILTER_REMOTE, NET_TCP, "*:443"));
    ok(connects(g, "example.com:443") && !connects(g, "example.com:80"), "a name matches by port");
    ok(connects(g, "1.2.3.4:443") && !connects(g, "udp:1.2.3.4:443"), "an address too");
    graph_free(g);
    g = network_policy(mk((struct graph_expr){
        .test = {
            .filter = FILTER_DOMAIN, .how = GRAPH_DOMAIN, .str = "*.example.com", .len = 13}}));
    ok(connects(g, "www.example.com:443") && !connects(g, "example.org:443"), "a domain");
    graph_free(g);
    struct graph_build *b = start(1);
    char name[32];
    for (unsigned i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), i % 2 ? "*.h%u.example.com" : "h%u.example.com:443", i);
        struct graph_expr e = {.test = {.filter = FILTER_DOMAIN,
                                        .how = GRAPH_DOMAIN,
                                        .str = name,
                                        .len = (uint32_t)strlen(name)}};
        rule_at(b, i + 1, true, OP_NETWORK_OUTBOUND, &e);
    }
    rule_at(
        b, 501, true, OP_NETWORK_OUTBOUND,
        mk((struct graph_expr){
            .test = {.filter = FILTER_DOMAIN, .how = GRAPH_DOMAIN, .str = "[::1]:443", .len = 9}}));
    g = finish(b);
    unsigned wrong = 0;
    for (unsigned i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "%sH%u.Example.COM:443", i % 2 ? "a.b." : "", i);
        wrong += !connects(g, name);
        snprintf(name, sizeof(name), "%sh%u.example.com:443", i % 2 ? "" : "a.", i);
        wrong += connects(g, name);
    }
    is_int(wrong, 0, "each of 500 domains is found, and nothing beside them");
    ok(connects(g, "[0::1]:443") && !connects(g, "[::1]:80"), "an address among them");
    graph_free(g);
    g = network_policy(mk_str(FILTER_PROTOCOL, GRAPH_LITERAL, "udp"));
    ok(connects(g, "udp:1.1.1.1:53") && !connects(g, "1.1.1.1:53"), "a protocol");
    graph_free(g);
    g = network_policy(
        all(mk((struct graph_expr){
                .test = {.filter = FILTER_REMOTE, .how = GRAPH_NET, .net = {.proto = NET_UNIX}}}),
            sub("/run")));
    ok(connects(g, "/run/x.sock") && !connects(g, "/tmp/x.sock"), "a unix socket by its path");
    ok(!connects(g, "1.2.3.4:80"), "is nothing else");
    graph_free(g);
}

int main(void)
{
    protocols();
    reading();
    matching();
    covering();
    domains();
    arguments();
    network_arguments();
    deciding();
    arena_free(&maker_arena);
    return done_testing();
}
