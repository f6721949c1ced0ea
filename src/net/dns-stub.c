/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The stub resolver. It gives each name that the policy could allow a private address and refuses
 * the rest, without asking any server. The dialer looks the name up when the command connects. Only
 * other record types are looked up at once, for allowed names (lookup.c).
 */

#include "net/dns-stub.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "net/dns.h"
#include "net/gate-ask.h"
#include "net/gate-int.h"
#include "net/lookup.h"

enum { SECONDS_VALID = 60 };

static size_t answer_address(struct gate *g, const struct dns_query *q, uint8_t *out)
{
    static const uint8_t loopback4[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
    static const uint8_t loopback6[16] = {[15] = 1};
    uint8_t addr[16];
    bool v6 = q->type == DNS_AAAA;
    if (peer_is_localhost(&q->host))
        return dns_reply_address(q, v6 ? loopback6 : loopback4, SECONDS_VALID, out);
    int64_t number = name_address_number(&g->names, &q->host);
    if (number < 0)
        return dns_reply_code(q, DNS_FAILED, "too many names", out);
    name_address_get((uint32_t)number, v6, addr);
    return dns_reply_address(q, addr, SECONDS_VALID, out);
}

static size_t answer_reverse(struct gate *g, const struct dns_query *q, uint8_t *out)
{
    const struct peer *name = name_address_find(&g->names, q->host.addr);
    return name ? dns_reply_name(q, name, SECONDS_VALID, out)
                : dns_reply_code(q, DNS_NO_NAME, NULL, out);
}

static void report_denial(struct gate *g, const struct peer *host, const struct graph_verdict *v,
                          const char *why, const struct flow_key *k)
{
    struct gate_denial d = {.host = host, .verdict = *v, .why = why, .udp = true};
    d.verdict.allow = false;
    memcpy(d.client.addr, k->client, sizeof(d.client.addr));
    d.client.port = k->client_port;
    gate_deny(g, &d);
}

/* Starts a real lookup for a record other than an address. Returns 0 if the reply comes later. */
static size_t answer_record(struct gate *g, const struct dns_query *q, const struct peer *owner,
                            const struct dns_client *who, uint8_t *out)
{
    if (!dialer_may_look_up(&g->dialer, &q->host, owner)) {
        struct graph_verdict v = rules_ask_name(&g->rules, owner);
        report_denial(g, &q->host, &v, dialer_too_many, &who->key);
        return dns_reply_code(q, DNS_FAILED, dialer_too_many, out);
    }
    return lookup_start(g, q, who) ? 0
                                   : dns_reply_code(q, DNS_FAILED, "too many lookups at once", out);
}

/* Returns 0 if there is no reply, or not yet. */
static size_t answer_question(struct gate *g, const uint8_t *data, size_t n,
                              const struct dns_client *who, uint8_t out[DNS_MAX])
{
    struct dns_query q;
    struct peer owner;
    enum dns_code code;
    if (!dns_query_read(data, n, &q, &code))
        return 0;
    if (code != DNS_OK)
        return dns_reply_code(&q, code, NULL, out);
    if (q.reverse)
        return answer_reverse(g, &q, out);
    if (!q.named)
        return dns_reply_code(&q, DNS_NO_NAME, NULL, out);
    bool record = lookup_knows(q.type);
    owner = q.host;
    struct graph_verdict v = rules_ask_name(&g->rules, &owner);
    if (record && !v.allow && lookup_owner(&q.host, &owner))
        v = rules_ask_name(&g->rules, &owner);
    if (!v.allow && !gate_ask_could(g, &owner, &v) && !peer_is_localhost(&owner) &&
        !g->o->late_names) {
        report_denial(g, &q.host, &v, NULL, &who->key);
        return dns_reply_code(&q, DNS_NO_NAME, "denied by the sandbox's policy", out);
    }
    if (q.type == DNS_A || q.type == DNS_AAAA)
        return answer_address(g, &q, out);
    if (record && !peer_is_localhost(&owner) && rules_allow_name(&g->rules, &owner))
        return answer_record(g, &q, &owner, who, out);
    return dns_reply_code(&q, DNS_OK, NULL, out); /* no records of that type */
}

/* Redirected questions (no port known) get their reply through the same redirection. */
void dns_stub_reply(const struct gate *g, const struct dns_client *who, const void *data, size_t n)
{
    struct sockaddr_storage to;
    if (who->key.port) {
        g->o->packets->answer(g, &who->key, data, n);
        return;
    }
    socklen_t len = addr_to_sockaddr(who->key.client, who->key.client_port, &to);
    sendto(who->fd, data, n, 0, (struct sockaddr *)&to, len);
}

void dns_stub_datagram(struct gate *g, int fd)
{
    uint8_t in[DNS_MAX], out[DNS_MAX];
    for (int i = 0; i < 64; i++) {
        struct dns_client who = {.fd = fd};
        ssize_t n = g->o->packets->receive(fd, in, sizeof(in), &who.key);
        if (n < 0)
            return;
        size_t size = who.key.client_port ? answer_question(g, in, (size_t)n, &who, out) : 0;
        if (size)
            dns_stub_reply(g, &who, out, size);
    }
}

bool dns_stub_stream(struct conn *c)
{
    const uint8_t *in = (const uint8_t *)queue_data(&c->in);
    uint8_t out[2 + DNS_MAX];
    size_t have = queue_size(&c->in);
    size_t wanted = have >= 2 ? 2u + (size_t)(in[0] << 8 | in[1]) : 0;
    if (wanted > sizeof(out)) {
        conn_close(c);
        return false;
    }
    if (have < 2 || have < wanted)
        return false;
    struct dns_client who = {.conn = c, .fd = -1, .key = {.client_port = c->who.port}};
    memcpy(who.key.client, c->who.addr, sizeof(who.key.client));
    size_t size = answer_question(c->gate, in + 2, wanted - 2, &who, out + 2);
    queue_take(&c->in, wanted);
    out[0] = (uint8_t)(size >> 8);
    out[1] = (uint8_t)size;
    if (size)
        side_send(&c->client, out, size + 2);
    return true;
}
