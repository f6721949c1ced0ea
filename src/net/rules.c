/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Asks the policy graph about network-outbound. A connection has a host and a port; a name lookup
 * has no port, so it tries one port from each range that rules distinguish.
 *
 * The policy may also be searched without a query: for the ports that it names, and for rules that
 * spell out a host.
 */

#include "net/rules.h"

#include <string.h>

#include "base/bytes.h"
#include "graph/net.h"

static struct graph_fact fact_of(const struct peer *h, uint16_t port, uint16_t proto,
                                 char text[PEER_TEXT])
{
    struct graph_fact f = {.filter = FILTER_REMOTE, .str = text};
    f.len = (uint32_t)peer_text(h, port, text);
    f.net.proto = proto;
    f.net.host = NET_HOST_ANY;
    f.net.port_lo = f.net.port_hi = port;
    if (peer_is_localhost(h))
        f.net.host = NET_HOST_LOCALHOST;
    if (h->address) {
        f.net.host = NET_HOST_ADDRESS;
        f.net.prefix = 128;
        memcpy(f.net.addr, h->addr, 16);
        f.net.proto = proto & (uint16_t) ~(addr_is_v4(h->addr) ? NET_IP6 : NET_IP4);
    }
    return f;
}

/* ---- ports ---- */

static bool domain_ports(const struct graph_test *t, uint16_t *lo, uint16_t *hi)
{
    const char *colon = t->str ? bytes_find_last(t->str, ':', t->len) : NULL;
    return colon &&
           net_ports_parse(colon + 1, t->len - (size_t)(colon + 1 - t->str), lo, hi, NULL) == 0;
}

static void add_port(struct net_rules *r, uint16_t port)
{
    for (size_t i = 0; i < r->nports; i++)
        if (r->ports[i] == port)
            return;
    if (r->nports < RULES_PORTS)
        r->ports[r->nports++] = port;
    else
        r->any_port = true;
}

/* Collects one port from each range that rules name and one from none: within a range, the verdict
 * is the same. */
static void collect_ports(struct net_rules *r)
{
    add_port(r, 443);
    add_port(r, 80);
    for (uint32_t i = 0; i < graph_test_count(r->graph); i++) {
        const struct graph_test *t = graph_test_at(r->graph, i);
        uint16_t lo, hi;
        if (t->filter == FILTER_REMOTE && t->net.port_lo == t->net.port_hi)
            add_port(r, t->net.port_lo);
        else if (t->filter == FILTER_REMOTE && t->net.port_hi < UINT16_MAX)
            add_port(r, t->net.port_hi);
        if (t->filter == FILTER_DOMAIN && domain_ports(t, &lo, &hi))
            add_port(r, lo);
    }
    add_port(r, 1);
}

/* ---- queries ---- */

int rules_init(struct net_rules *r, const struct graph *g)
{
    *r = (struct net_rules){.graph = g, .cache = graph_cache_new(g)};
    if (!r->cache)
        return -1;
    r->requests = graph_tests_requests(g);
    collect_ports(r);
    return 0;
}

void rules_free(struct net_rules *r)
{
    graph_cache_free(r->cache);
    r->cache = NULL;
}

/* Datagrams carry no requests that could be checked. */
static bool allows(const struct graph_range *range, uint16_t proto)
{
    bool stream = (proto | NET_IP) == NET_TCP;
    return range->may_allow && (stream || !range->may_deny);
}

struct graph_verdict rules_ask(struct net_rules *r, const struct peer *host, uint16_t port,
                               uint16_t proto)
{
    char text[PEER_TEXT];
    struct graph_fact f = fact_of(host, port, proto, text);
    struct graph_query q = {.op = OP_NETWORK_OUTBOUND, .facts = &f, .nfacts = 1};
    if (!r->requests)
        return graph_eval(r->graph, r->cache, &q);
    struct graph_range range = graph_eval_before_request(r->graph, r->cache, &q, NULL, NULL);
    return allows(&range, proto) ? range.allow : range.deny;
}

bool rules_by_request(struct net_rules *r, const struct peer *host, uint16_t port)
{
    char text[PEER_TEXT];
    if (!r->requests)
        return false;
    struct graph_fact f = fact_of(host, port, NET_TCP, text);
    struct graph_query q = {.op = OP_NETWORK_OUTBOUND, .facts = &f, .nfacts = 1};
    struct graph_range range = graph_eval_before_request(r->graph, r->cache, &q, NULL, NULL);
    return range.may_allow && range.may_deny;
}

static struct graph_fact text_fact(uint16_t filter, const char *s, size_t n)
{
    return (struct graph_fact){.filter = filter, .str = s, .len = (uint32_t)n};
}

struct graph_verdict rules_ask_request(struct net_rules *r, const struct peer *host, uint16_t port,
                                       const struct rules_request *a)
{
    char text[PEER_TEXT];
    struct graph_fact facts[] = {fact_of(host, port, NET_TCP, text),
                                 text_fact(FILTER_HTTP_METHOD, a->method, a->nmethod),
                                 text_fact(FILTER_HTTP_PATH, a->path, a->npath),
                                 text_fact(FILTER_HTTP_QUERY, a->query, a->nquery)};
    struct graph_query q = {.op = OP_NETWORK_OUTBOUND, .facts = facts, .nfacts = 4};
    return graph_eval(r->graph, r->cache, &q);
}

bool rules_explicit(const struct net_rules *r, const struct graph_verdict *v)
{
    return !v->allow && v->rule < graph_rule_count(r->graph) &&
           graph_rule_at(r->graph, v->rule)->filtered;
}

/* Returns the first verdict that allows a port of the host, or the last denial. *denied is the
 * denial to report. */
static struct graph_verdict ask_ports(struct net_rules *r, const struct peer *host,
                                      struct graph_verdict *denied)
{
    struct graph_verdict v = rules_ask(r, host, r->ports[0], NET_TCP);
    *denied = v;
    for (size_t i = 0; i < r->nports && !v.allow; i++) {
        v = rules_ask(r, host, r->ports[i], NET_TCP);
        if (!v.allow)
            v = rules_ask(r, host, r->ports[i], NET_UDP);
        if (rules_explicit(r, denied) && !rules_explicit(r, &v))
            *denied = v; /* only one port is denied, not the host */
    }
    return v;
}

struct graph_verdict rules_ask_name(struct net_rules *r, const struct peer *host)
{
    struct graph_verdict denied, v = ask_ports(r, host, &denied);
    if (!v.allow && r->any_port)
        denied.allow = true;
    return v.allow ? v : denied;
}

bool rules_allow_name(struct net_rules *r, const struct peer *host)
{
    struct graph_verdict denied;
    return ask_ports(r, host, &denied).allow;
}

static const struct peer stranger = {.name = "host.invalid", .len = 12};

bool rules_are_open(struct net_rules *r)
{
    if (!r->open)
        r->open = rules_allow_name(r, &stranger) ? 2 : 1;
    return r->open == 2;
}

/* ---- how a rule names a host ---- */

/* What the matching tests reveal about the rule. */
struct rule_match {
    const struct graph *graph;
    bool named;    /* it names the address or its range */
    bool spelled;  /* it spells out the name, without a wildcard */
    bool allowing; /* which rules count, if rules distinguish requests */
};

static bool is_spelled(const struct graph_test *t)
{
    return t->filter == FILTER_DOMAIN && t->str && !memchr(t->str, '*', t->len);
}

static void on_step(void *arg, uint32_t node, bool matched)
{
    struct rule_match *n = arg;
    const struct graph_test *t = graph_test_at(n->graph, graph_node_at(n->graph, node)->test);
    if (!matched || (t->filter != FILTER_REMOTE && t->filter != FILTER_DOMAIN))
        return;
    /* no wildcard matches an address, so the rule has the address itself */
    if (t->filter == FILTER_DOMAIN || t->net.host != NET_HOST_ANY)
        n->named = true;
    n->spelled = n->spelled || is_spelled(t);
}

/* Of rules that deny some requests, the host says nothing about what is allowed. */
static void on_open_step(void *arg, uint32_t node, bool matched)
{
    struct rule_match *n = arg;
    uint32_t rule = graph_node_at(n->graph, node)->rule;
    if (rule < graph_rule_count(n->graph) && graph_rule_at(n->graph, rule)->allow == n->allowing)
        on_step(arg, node, matched);
}

static bool trace(struct net_rules *r, const struct peer *h, uint16_t port, uint16_t proto,
                  struct rule_match *n)
{
    char text[PEER_TEXT];
    struct graph_fact f = fact_of(h, port, proto, text);
    struct graph_query q = {.op = OP_NETWORK_OUTBOUND, .facts = &f, .nfacts = 1};
    *n = (struct rule_match){.graph = r->graph};
    if (r->requests) {
        n->allowing = rules_ask(r, h, port, proto).allow;
        graph_eval_before_request(r->graph, r->cache, &q, on_open_step, n);
        return n->allowing;
    }
    return graph_trace(r->graph, r->cache, &q, on_step, n).allow;
}

/* A less specific rule may have decided before the one that spells out the name. */
static bool is_spelled_at(struct net_rules *r, const struct peer *host, uint16_t port)
{
    char text[PEER_TEXT];
    size_t n = peer_text(host, port, text);
    for (uint32_t i = 0; i < graph_test_count(r->graph); i++) {
        const struct graph_test *t = graph_test_at(r->graph, i);
        if (is_spelled(t) && net_domain_match(t->str, t->len, text, n))
            return true;
    }
    return false;
}

bool rules_spell(struct net_rules *r, const struct peer *host)
{
    struct rule_match n;
    for (size_t i = 0; i < r->nports; i++) {
        bool allow = trace(r, host, r->ports[i], NET_TCP, &n) && n.spelled;
        if (allow || (trace(r, host, r->ports[i], NET_UDP, &n) && n.spelled))
            return true;
        if (rules_ask(r, host, r->ports[i], NET_TCP).allow && is_spelled_at(r, host, r->ports[i]))
            return true;
    }
    return false;
}

static bool is_one_place(const struct graph_test *t, const struct graph_fact *f)
{
    uint16_t lo, hi;
    if (t->filter == FILTER_DOMAIN)
        return domain_ports(t, &lo, &hi) && lo == hi &&
               net_domain_match(t->str, t->len, f->str, f->len);
    bool one = t->net.host == NET_HOST_LOCALHOST ||
               (t->net.host == NET_HOST_ADDRESS && t->net.prefix == 128);
    return t->filter == FILTER_REMOTE && one && t->net.port_lo == t->net.port_hi &&
           net_endpoint_match(&t->net, &f->net);
}

bool rules_name_place(struct net_rules *r, const struct peer *host, uint16_t port)
{
    char text[PEER_TEXT];
    bool named = false;
    if ((!host->address && !peer_is_localhost(host)) || !rules_ask(r, host, port, NET_TCP).allow)
        return false;
    struct graph_fact f = fact_of(host, port, NET_TCP, text);
    for (uint32_t i = 0; i < graph_test_count(r->graph) && !named; i++)
        named = is_one_place(graph_test_at(r->graph, i), &f);
    return named;
}

static bool address_verdict_is(struct net_rules *r, const uint8_t addr[16], uint16_t port,
                               uint16_t proto, bool allowed)
{
    struct peer h;
    struct rule_match n;
    peer_from_address(addr, &h);
    return trace(r, &h, port, proto, &n) == allowed && n.named;
}

bool rules_name_address(struct net_rules *r, const uint8_t addr[16], uint16_t port, uint16_t proto)
{
    return address_verdict_is(r, addr, port, proto, true);
}

bool rules_deny_address(struct net_rules *r, const uint8_t addr[16], uint16_t port, uint16_t proto)
{
    return address_verdict_is(r, addr, port, proto, false);
}

bool rules_open_here(struct net_rules *r, const struct peer *host, uint16_t port, uint16_t proto)
{
    struct rule_match n;
    struct graph_verdict v = rules_ask(r, host, port, proto);
    bool unfiltered = v.allow && v.rule < graph_rule_count(r->graph) &&
                      !graph_rule_at(r->graph, v.rule)->filtered;
    return unfiltered || (trace(r, host, port, proto, &n) && n.named);
}

bool rules_lead_out(const struct graph *g)
{
    struct net_rules r;
    for (uint32_t i = 0; i < graph_test_count(g); i++) {
        const struct graph_test *t = graph_test_at(g, i);
        if (t->filter == FILTER_DOMAIN ||
            (t->filter == FILTER_REMOTE && t->net.host == NET_HOST_ADDRESS))
            return true;
    }
    /* the policy treats all hosts alike */
    if (rules_init(&r, g) < 0)
        return true;
    bool out = rules_ask_name(&r, &stranger).allow;
    rules_free(&r);
    return out;
}

/* ---- ports of other machines ---- */

struct port_list {
    uint16_t *ports;
    size_t n, cap;
};

/* Ignores a range that is too large to list. */
static void list_ports(struct port_list *l, uint32_t lo, uint32_t hi)
{
    if (lo == 0 || hi - lo >= l->cap)
        return;
    for (uint32_t port = lo; port <= hi; port++) {
        size_t k = 0;
        while (k < l->n && l->ports[k] != port)
            k++;
        if (k == l->n && l->n < l->cap)
            l->ports[l->n++] = (uint16_t)port;
    }
}

size_t rules_remote_ports(const struct graph *g, uint16_t *ports, size_t cap)
{
    static const uint16_t well_known[] = {
#define WELL_KNOWN(port, protocol) port,
#include "net/ports.def"
    };
    enum { IS_UDP = NET_UDP & ~NET_IP };
    struct port_list l = {ports, 0, cap};
    for (uint32_t i = 0; i < graph_test_count(g); i++) {
        const struct graph_test *t = graph_test_at(g, i);
        uint16_t lo, hi;
        if (t->filter == FILTER_REMOTE && t->net.proto & NET_IP && !(t->net.proto & IS_UDP) &&
            t->net.host != NET_HOST_LOCALHOST)
            list_ports(&l, t->net.port_lo, t->net.port_hi);
        if (t->filter == FILTER_DOMAIN && domain_ports(t, &lo, &hi))
            list_ports(&l, lo, hi);
    }
    for (size_t i = 0; i < sizeof(well_known) / sizeof(well_known[0]); i++)
        list_ports(&l, well_known[i], well_known[i]);
    return l.n;
}

/* ---- ports of loopback ---- */

static bool names_local_port(const struct graph_test *t, enum vocab_filter filter)
{
    static const struct net_endpoint loopback = {.proto = NET_TCP, .host = NET_HOST_LOCALHOST};
    struct net_endpoint here = loopback;
    if (t->filter != filter || t->net.host == NET_HOST_ANY || !(t->net.proto & NET_IP) ||
        t->net.port_lo != t->net.port_hi)
        return false;
    here.proto = t->net.proto;
    here.port_lo = here.port_hi = t->net.port_lo;
    return net_endpoint_match(&t->net, &here);
}

size_t rules_local_ports(const struct graph *g, struct local_port *ports, size_t cap)
{
    enum { IS_TCP = NET_TCP & ~NET_IP, IS_UDP = NET_UDP & ~NET_IP };
    size_t n = 0;
    for (uint32_t i = 0; i < graph_test_count(g); i++) {
        const struct graph_test *t = graph_test_at(g, i);
        size_t k = 0;
        if (!names_local_port(t, FILTER_REMOTE))
            continue;
        while (k < n && ports[k].port != t->net.port_lo)
            k++;
        if (k == cap)
            continue;
        if (k == n)
            ports[n++] = (struct local_port){.port = t->net.port_lo};
        ports[k].tcp = ports[k].tcp || !(t->net.proto & IS_UDP);
        ports[k].udp = ports[k].udp || !(t->net.proto & IS_TCP);
    }
    return n;
}

static bool may_be_called(const struct graph *g, struct graph_cache *cache, uint16_t port,
                          uint32_t *rule)
{
    struct graph_fact f = {.filter = FILTER_LOCAL};
    f.net = (struct net_endpoint){
        .proto = NET_TCP, .host = NET_HOST_LOCALHOST, .port_lo = port, .port_hi = port};
    struct graph_query bind = {.op = OP_NETWORK_BIND, .facts = &f, .nfacts = 1}, called = bind;
    called.op = OP_NETWORK_INBOUND;
    struct graph_verdict v = graph_eval(g, cache, &called);
    if (rule)
        *rule = v.rule;
    return graph_eval(g, cache, &bind).allow && v.allow;
}

uint32_t rules_publishing(const struct graph *g, uint16_t port)
{
    struct graph_cache *cache = graph_cache_new(g);
    uint32_t rule = GRAPH_NO_RULE;
    if (cache)
        may_be_called(g, cache, port, &rule);
    graph_cache_free(cache);
    return rule;
}

size_t rules_published_ports(const struct graph *g, uint16_t *ports, size_t cap)
{
    struct graph_cache *cache = NULL; /* created only if needed: few profiles do */
    size_t n = 0;
    for (uint32_t i = 0; i < graph_test_count(g) && n < cap; i++) {
        const struct graph_test *t = graph_test_at(g, i);
        bool new = names_local_port(t, FILTER_LOCAL) && t->net.port_lo;
        for (size_t k = 0; k < n; k++)
            new = new &&ports[k] != t->net.port_lo;
        if (new && !cache && !(cache = graph_cache_new(g)))
            break;
        if (new &&may_be_called(g, cache, t->net.port_lo, NULL))
            ports[n++] = t->net.port_lo;
    }
    graph_cache_free(cache);
    return n;
}

bool rules_publish(const struct graph *g, uint16_t port)
{
    struct graph_cache *cache = graph_cache_new(g);
    bool may = cache && may_be_called(g, cache, port, NULL);
    graph_cache_free(cache);
    return may;
}

/* A port that no rule names by itself. */
static uint16_t unnamed_port(const struct graph *g)
{
    uint16_t port = UINT16_MAX;
    for (uint32_t i = 0; i < graph_test_count(g) && port > 1; i++) {
        const struct graph_test *t = graph_test_at(g, i);
        bool address = t->filter == FILTER_LOCAL || t->filter == FILTER_REMOTE;
        if (address && t->net.port_lo == t->net.port_hi && t->net.port_lo == port) {
            port--;
            i = UINT32_MAX; /* from the start */
        }
    }
    return port;
}

bool rules_publish_all(const struct graph *g)
{
    return rules_publish(g, unnamed_port(g));
}

bool rules_local_all(const struct graph *g)
{
    static const struct peer here = {.name = "localhost", .len = 9};
    struct net_rules r;
    if (rules_init(&r, g) < 0)
        return false;
    bool all = rules_open_here(&r, &here, unnamed_port(g), NET_TCP);
    rules_free(&r);
    return all;
}
