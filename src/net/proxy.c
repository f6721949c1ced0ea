/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The proxy protocols before a connection exists, and the answer if it can't. Refusals give the
 * reason as text for people and in a header field for programs.
 */

#include "net/proxy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "net/gate-int.h"
#include "net/hand-over.h"
#include "net/socks.h"
#include "net/terminate.h"

/* ---- refusing ---- */

enum { PARENT_REASON = 200, FIELDS = 320, PHRASE = 400 };

static void answer_http(struct conn *c, int status, const char *words, const char *fields,
                        const char *text)
{
    OWN(buf) struct buf out = {0};
    buf_fmt(&out,
            "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
            "Connection: close\r\n%s\r\n%s",
            status, words, strlen(text), fields, text);
    if (buf_ok(&out))
        side_send(&c->client, out.s, out.n);
    c->state = CONN_CLOSING;
}

static void answer_socks(struct conn *c, enum socks_code code)
{
    uint8_t reply[SOCKS_REPLY];
    socks_reply(code, reply);
    side_send(&c->client, reply, sizeof(reply));
    if (code != SOCKS_OK)
        c->state = CONN_CLOSING;
}

/* The rule that decided, and srt's mark, as fields for programs. */
static void rule_field(const struct conn *c, const struct graph_verdict *v, const char *mark,
                       char out[FIELDS])
{
    const struct graph *g = c->gate->rules.graph;
    const struct graph_origin *o =
        v && v->rule < graph_rule_count(g) ? &graph_rule_at(g, v->rule)->origin : NULL;
    if (o && o->file)
        snprintf(out, FIELDS,
                 "X-Buckle-Denied: network-outbound; rule=\"%.100s:%u\"\r\nX-Proxy-Error: %s\r\n",
                 o->file, o->line, mark);
    else
        snprintf(out, FIELDS, "X-Buckle-Denied: network-outbound\r\nX-Proxy-Error: %s\r\n", mark);
}

static const char *phrase_of(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } all[] = {{400, "Bad Request"},        {401, "Unauthorized"},
               {403, "Forbidden"},          {404, "Not Found"},
               {405, "Method Not Allowed"}, {421, "Misdirected Request"},
               {429, "Too Many Requests"},  {503, "Service Unavailable"}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].status == status)
            return all[i].phrase;
    return "Refused";
}

void proxy_refuse_request(struct conn *c, struct slice method, const struct graph_verdict *v,
                          const char *why)
{
    char text[PEER_TEXT + 768], name[PEER_TEXT], fields[FIELDS];
    peer_text(&c->host, c->port, name);
    if (!why && v->rule < graph_rule_count(c->gate->rules.graph))
        why = graph_rule_message(c->gate->rules.graph, v->rule);
    snprintf(text, sizeof(text), "buckle: this %.*s request to %s is denied%s%.600s\n",
             (int)method.n, method.s, name, why ? ": " : " by the sandbox's policy",
             why ? why : "");
    rule_field(c, v, PROXY_BLOCKED, fields);
    answer_http(c, 403, "Forbidden", fields, text);
    queue_free(&c->in);
}

void proxy_refuse_with(struct conn *c, int status, const char *mark, const char *why)
{
    char text[1200], fields[FIELDS];
    snprintf(text, sizeof(text), "%.1100s\n", why);
    snprintf(fields, sizeof(fields), "X-Proxy-Error: %.100s\r\n", mark);
    answer_http(c, status, phrase_of(status), fields, text);
    queue_free(&c->in);
}

/* Many clients show a refused CONNECT's status line and nothing else. */
static void reason_phrase(const char *why, char out[PHRASE])
{
    size_t n = 0;
    for (; why && why[n] && n < PHRASE - 1; n++)
        out[n] = why[n] >= ' ' && why[n] <= '~' ? why[n] : '?';
    snprintf(out + n, PHRASE - n, "%s", n ? "" : "Forbidden");
}

void proxy_refuse(struct conn *c, const struct peer *host, uint16_t port,
                  const struct graph_verdict *v, const char *why)
{
    char text[PEER_TEXT + 768], name[PEER_TEXT], fields[FIELDS], phrase[PHRASE];
    const struct graph_rule_info *rule = v && v->rule < graph_rule_count(c->gate->rules.graph)
                                             ? graph_rule_at(c->gate->rules.graph, v->rule)
                                             : NULL;
    if (c->socks) {
        answer_socks(c, SOCKS_NOT_ALLOWED);
        return;
    }
    if (!c->proxied) {
        conn_reset(c);
        return;
    }
    peer_text(host, port, name);
    if (!why && rule)
        why = graph_rule_message(c->gate->rules.graph, v->rule);
    snprintf(text, sizeof(text), "buckle: %s is denied%s%.600s\n%s", name,
             why ? ": " : " by the sandbox's policy", why ? why : "",
             v ? "Connection blocked by network allowlist\n" : "");
    rule_field(c, v, v ? "blocked-by-allowlist" : PROXY_BLOCKED, fields);
    reason_phrase(why, phrase);
    answer_http(c, 403, phrase, fields, text);
}

static enum socks_code socks_code_of(int err)
{
    switch (err) {
    case ECONNREFUSED:
        return SOCKS_REFUSED;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ETIMEDOUT:
        return SOCKS_UNREACHABLE;
    default:
        return SOCKS_FAILED;
    }
}

/* Writes what the parent proxy has to do with a failure, or "". An answer that it cannot reach the
 * host either is the host's failure. */
static void parent_reason(const struct dial_end *end, char out[PARENT_REASON])
{
    char name[PEER_TEXT];
    int err = -end->err;
    bool unreached = end->status == 502 || end->status == 503 || end->status == 504;
    out[0] = '\0';
    if (!end->proxy || end->why || unreached || (end->proxy->socks && err == ECONNREFUSED))
        return;
    peer_text(&end->proxy->host, end->proxy->port, name);
    if (end->status)
        snprintf(out, PARENT_REASON, "the proxy %.100s answered %d%s", name, end->status,
                 end->status == 407 ? ": it wants a login" : "");
    else
        snprintf(out, PARENT_REASON, "the proxy %.100s: %s", name, strerror(err));
}

/* Clients that did not ask for a proxy see only a closed connection, so it is reported. */
static void report_parent(struct conn *c, const char *why)
{
    struct gate_denial d = {.host = &c->host,
                            .port = c->port,
                            .why = why,
                            .client = c->who,
                            .verdict = rules_ask(&c->gate->rules, &c->host, c->port, NET_TCP)};
    d.verdict.allow = false;
    gate_deny(c->gate, &d);
}

void proxy_failed(struct conn *c, const struct dial_end *end)
{
    char text[PEER_TEXT + 256], name[PEER_TEXT], place[DIAL_REASON], parent[PARENT_REASON];
    int err = -end->err;
    parent_reason(end, parent);
    if (parent[0])
        report_parent(c, parent);
    if (end->why) {
        struct graph_verdict v = rules_ask(&c->gate->rules, &c->host, c->port, NET_TCP);
        dial_reason(end, place);
        struct gate_denial d = {
            .host = &c->host, .port = c->port, .verdict = v, .why = place, .client = c->who};
        d.verdict.allow = false;
        gate_deny(c->gate, &d);
        proxy_refuse(c, &c->host, c->port, NULL, place);
    } else if (c->socks) {
        answer_socks(c, socks_code_of(err));
    } else if (c->proxied) {
        peer_text(&c->host, c->port, name);
        snprintf(text, sizeof(text), "buckle: cannot connect to %s: %s\n", name,
                 parent[0] ? parent : strerror(err));
        answer_http(c, err == ETIMEDOUT ? 504 : 502, "Bad Gateway", "", text);
    } else {
        conn_reset(c);
    }
    /* conn_reset() has freed c */
}

void proxy_connected(struct conn *c)
{
    static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    if (c->state != CONN_TLS) /* a handshake that began meanwhile has its own */
        c->deadline_ms = 0;
    if (c->socks)
        answer_socks(c, SOCKS_OK);
    else if (c->proxied && c->state == CONN_INSPECT)
        side_send(&c->client, established, sizeof(established) - 1);
}

/* ---- SOCKS ---- */

static const uint8_t *bytes_of(const struct conn *c)
{
    return (const uint8_t *)queue_data(&c->in);
}

static bool socks_greet(struct conn *c)
{
    struct socks_greeting hello;
    enum socks_result got = socks_greeting_read(bytes_of(c), queue_size(&c->in), &hello);
    if (got == SOCKS_MORE)
        return false;
    c->socks = true;
    const struct gate_users *users = c->gate->o->users;
    bool wants_login = users ? users->at[0].password != NULL : c->gate->o->token && !c->known;
    uint8_t method = wants_login ? SOCKS_PASSWORD : SOCKS_NO_LOGIN;
    if (got == SOCKS_BAD || !(wants_login ? hello.password : hello.no_login))
        method = SOCKS_NONE_FITS;
    side_send(&c->client, (uint8_t[]){SOCKS_VERSION, method}, 2);
    queue_take(&c->in, hello.size);
    c->state = method == SOCKS_NONE_FITS ? CONN_CLOSING
               : wants_login             ? CONN_SOCKS_LOGIN
                                         : CONN_SOCKS_REQUEST;
    if (users && c->state == CONN_SOCKS_REQUEST)
        hand_over(c, &users->at[0]);
    return true;
}

bool proxy_login(struct conn *c)
{
    struct socks_login login;
    enum socks_result got = socks_login_read(bytes_of(c), queue_size(&c->in), &login);
    if (got == SOCKS_MORE)
        return false;
    const struct gate_users *users = c->gate->o->users;
    const struct gate_user *user =
        users && got == SOCKS_FOUND ? hand_over_by_login(users, login.user, login.password) : NULL;
    bool known = users ? user != NULL
                       : got == SOCKS_FOUND && hand_over_same(login.password, c->gate->o->token);
    side_send(&c->client, (uint8_t[]){1, known ? 0 : 1}, 2);
    if (got == SOCKS_FOUND)
        queue_take(&c->in, login.size);
    c->state = known ? CONN_SOCKS_REQUEST : CONN_CLOSING;
    if (user)
        hand_over(c, user);
    return true;
}

bool proxy_request(struct conn *c)
{
    struct socks_request r;
    struct gate_verdict v;
    enum socks_result got = socks_request_read(bytes_of(c), queue_size(&c->in), &r);
    if (got == SOCKS_MORE)
        return false;
    if (got == SOCKS_BAD) {
        answer_socks(c, r.wrong ? (enum socks_code)r.wrong : SOCKS_FAILED);
        return false;
    }
    enum may may = gate_check(c, &r.host, r.port, &v);
    if (may == MAY_NOT)
        proxy_refuse(c, &r.host, r.port, &v.rule, v.why);
    if (may != MAY)
        return false;
    queue_take(&c->in, r.size);
    c->host = r.host;
    c->port = r.port;
    c->state = CONN_INSPECT;
    conn_dial(c);
    return false;
}

/* ---- HTTP ---- */

static bool connect_request(struct conn *c, const struct http_head *h)
{
    struct gate_verdict v;
    c->host = h->host;
    c->port = h->port;
    enum may may = gate_check(c, &c->host, c->port, &v);
    if (may == MAY_NOT)
        proxy_refuse(c, &c->host, c->port, &v.rule, v.why);
    if (may != MAY)
        return false;
    if (terminate_is_full(c)) {
        proxy_refuse_with(c, 503, "too-many-tunnels", "too many TLS-terminated tunnels at once");
        return false;
    }
    queue_take(&c->in, h->size);
    c->state = CONN_INSPECT;
    conn_dial(c);
    return false;
}

static bool is_known(const struct conn *c, const struct http_head *h)
{
    char given[sizeof(c->gate->login)];
    if (!c->gate->o->token || c->known)
        return true;
    if (h->proxy_authorization.n == 0 || h->proxy_authorization.n >= sizeof(given))
        return false;
    memcpy(given, h->proxy_authorization.s, h->proxy_authorization.n);
    given[h->proxy_authorization.n] = '\0';
    return hand_over_same(given, c->gate->login);
}

static bool http_first(struct conn *c)
{
    struct http_head *h = &c->gate->head;
    enum http_result got = http_head_read(queue_data(&c->in), queue_size(&c->in), h);
    if (got == HTTP_MORE)
        return false;
    c->proxied = true;
    if (got == HTTP_BAD) {
        char text[256];
        snprintf(text, sizeof(text), "buckle: %s\n", h->wrong);
        answer_http(c, 400, "Bad Request", "", text);
        return false;
    }
    const struct gate_users *users = c->gate->o->users;
    const struct gate_user *user = users ? hand_over_by_field(users, h->proxy_authorization) : NULL;
    if (user) {
        hand_over(c, user);
        return false;
    }
    if (users || !is_known(c, h)) {
        answer_http(c, 407, "Proxy Authentication Required",
                    "Proxy-Authenticate: Basic realm=\"buckle\"\r\n",
                    users ? "buckle: this proxy needs the user and password of a policy\n"
                          : "buckle: this proxy belongs to the sandbox and needs its token\n");
        return false;
    }
    if (h->form == HTTP_AUTHORITY)
        return connect_request(c, h);
    if (h->form != HTTP_ABSOLUTE) {
        answer_http(c, 400, "Bad Request", "", "buckle: requests to a proxy need a full URL\n");
        return false;
    }
    c->deadline_ms = 0;
    c->state = CONN_HTTP; /* this request is read again there, like those that follow */
    return true;
}

bool proxy_first(struct conn *c)
{
    if (queue_size(&c->in) == 0)
        return false;
    return *bytes_of(c) == SOCKS_VERSION ? socks_greet(c) : http_first(c);
}
