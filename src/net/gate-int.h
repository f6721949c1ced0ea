/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_GATE_INT_H
#define BK_NET_GATE_INT_H

#include "net/consent.h"
#include "net/dial.h"
#include "net/dns.h"
#include "net/first-line.h"
#include "net/gate.h"
#include "net/h2.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/name-address.h"
#include "net/rules.h"
#include "net/socks.h"
#include "net/tls-hello.h"

/* What the gate's files share. */

enum {
    SCRATCH_BYTES = 1 << 20,   /* read at once */
    WAITING_BYTES = 256 << 10, /* kept for a side that is slow, before the other is not read on */
    CONNS_MAX = 16384,
    HEAD_MS = 30000,      /* for a proxy's client to say what it wants */
    LINGER_MS = 2000,     /* for a client to hear the last word while it is still talking */
    ANNOUNCE_MS = 5000,   /* for a connection to be announced */
    GATE_ANNOUNCED = 256, /* that wait for their connection */
    H2_AT_ONCE = 1024,    /* connections, each with some ten kilobytes */
};

/* Bytes that wait for somebody. */
struct queue {
    char *data;
    size_t from, to, cap;
};

static inline size_t queue_size(const struct queue *q)
{
    return q->to - q->from;
}

/* Where its bytes are; never NULL, even when there are none. */
static inline const char *queue_data(const struct queue *q)
{
    return q->data ? q->data + q->from : "";
}

int queue_add(struct queue *q, const void *data, size_t n); /* -1 without memory */
void queue_take(struct queue *q, size_t n);
void queue_free(struct queue *q);

struct conn;

struct side {
    struct watch watch;
    struct conn *conn;
    bool readable, writable, connected;
    bool last;  /* its end is behind what it has said so far */
    bool ended; /* it has said everything */
    bool shut;  /* it has been told that nothing more comes */
    struct queue out;
};

/* What is expected of the client next. */
enum conn_state {
    CONN_BEGIN,         /* nothing: the destination is known, and is to be asked about */
    CONN_DNS,           /* questions, each with its length in front */
    CONN_FIRST,         /* a proxy's client: its first byte tells HTTP from SOCKS */
    CONN_SOCKS_LOGIN,   /* user and password */
    CONN_SOCKS_REQUEST, /* where to */
    CONN_INSPECT,       /* the destination is known: first bytes, which have to agree with it */
    CONN_HTTP,          /* requests, one by one */
    CONN_H2,            /* requests, side by side */
    CONN_RELAY,         /* anything */
    CONN_CLOSING,       /* nothing: what was answered is still to be sent */
};

struct conn {
    struct gate *gate;
    struct conn *next, *prev, *next_busy;
    bool dead; /* closed, and freed at the end of this turn */
    bool busy; /* not all that is there has been moved: goes on in the next turn */
    struct side client, server;
    uint8_t state; /* enum conn_state */
    bool proxied;  /* HTTP requests name their host, and are rewritten */
    bool socks;
    bool inbound;     /* from the host to a server of the command's, */
    bool six;         /* which is called by IPv6 */
    struct peer host; /* the destination */
    uint16_t port;
    struct dial *dial;
    uint64_t deadline_ms; /* 0: none */
    struct queue in;      /* from the client, not understood yet */
    struct gate_client who;
    bool unknown;   /* where to has not been announced yet */
    uint32_t asked; /* the question that it waits for; 0: none */

    /* first bytes, where anything may be said */
    struct first_line first;
    uint32_t ahead; /* bytes of in that the server has been sent already */
    bool cut;       /* there were more of them than are kept */
    bool unread;    /* what the client says is not read, and the server not known yet */
    uint8_t nheard; /* what the server said first */
    char heard[9];
    bool to_tls; /* nothing but TLS may come */

    /* HTTP */
    bool sending;   /* a request's body is not over */
    bool awaiting;  /* its answer has not ended, */
    bool answering; /* but begun: its head has been passed on */
    bool head_method, upgrading, close_after, answer_raw;
    bool connecting;    /* the request is CONNECT, to somebody else's proxy */
    bool upgraded;      /* HTTP/2 follows what was HTTP/1 */
    uint8_t upgrade_to; /* enum http_upgrade */
    struct h2 *h2;
    struct http_body body, answer_body;
    struct queue answer; /* an answer's head, while it is incomplete */
};

/* enum netns_socket, and then: */
enum {
    LISTEN_LOCAL = NETNS_SOCKETS, /* a port of the host's loopback, inside */
    LISTEN_LOCAL_DATAGRAMS,
    LISTEN_PUBLISHED, /* a port of the command's, on the host */
    LISTEN_PORT,      /* one of laid_network's ports: whatever goes there, to any address */
};

enum {
    LISTENERS = NETNS_SOCKETS + NETNS_LOCAL * NETNS_LOCAL_KINDS + GATE_PUBLISHED * GATE_FAMILIES +
                NETNS_PORTS
};

struct listener {
    struct watch watch;
    struct gate *gate;
    uint8_t kind;
    bool v6;
    uint16_t port; /* of those four */
    uint8_t burst; /* how many it may accept in a turn, */
    uint64_t turn; /* which was this the last time */
};

/* Who sends what to whom, inside. */
struct flow_key {
    uint8_t client[16], to[16];
    uint16_t client_port, port;
};

/* What was told lately of what the kernel refuses. */
struct gate_refused {
    struct flow_key key;
    bool udp;
    uint64_t until_ms;
};

enum { GATE_REFUSED = 64 };

struct gate {
    const struct gate_options *o;
    struct loop loop;
    struct net_rules rules;
    struct dialer dialer;
    struct name_addresses names;
    struct listener listeners[LISTENERS];
    size_t nlisteners;
    /* sockets to the command's servers that nobody uses: IPv4, IPv6 */
    int inside[NETNS_FAMILIES][NETNS_INSIDE];
    size_t ninside[NETNS_FAMILIES];
    int spare[NETNS_PORTS]; /* to listen with at ports that rules name later */
    size_t nspare;
    struct gate_refused refused[GATE_REFUSED];
    unsigned nrefused;
    struct watch until, announcer;
    struct gate_announcement announced[GATE_ANNOUNCED]; /* for connections that are to come */
    unsigned nannounced;
    struct conn *conns, *dead, *busy;
    struct lookup *lookups;
    size_t nlookups;
    struct flows *flows;   /* of datagrams; NULL before the first */
    struct asking *asking; /* NULL: nobody is asked */
    size_t nconns, nh2;
    bool over;
    bool sweeps;            /* there may be something that ends with time */
    char login[HTTP_BASIC]; /* "Basic …", as clients send the token */
    char scratch[SCRATCH_BYTES];
    struct http_head head;
};

/* ---- gate.c ---- */

void gate_deny(struct gate *g, const struct gate_denial *d);

/* Whether connections to anywhere are heard at this port, where that is not so at all of them. */
bool gate_listens(const struct gate *g, uint16_t port);

enum may { MAY_NOT, MAY, MAY_LATER };

/* Whether the connection may go to this host and port. When not, it has been told; why is NULL when
 * only the rule says so. Later: the same is to be asked again when there is an answer. */
struct gate_verdict {
    struct graph_verdict rule;
    const char *why;
};
enum may gate_asks(struct conn *c, const struct peer *host, uint16_t port, struct gate_verdict *v);

/* Who an address that the command uses stands for. False for one that stands for a name nobody
 * asked for: it leads nowhere. */
bool gate_names(const struct gate *g, const uint8_t addr[16], struct peer *out);

/* ---- gate-ask.c ---- */

int gate_ask_begin(struct gate *g); /* 0 or a negated errno */
void gate_ask_end(struct gate *g);
void gate_ask_sweep(struct gate *g);
/* Whether somebody could allow what the policy denies. */
bool gate_ask_could(struct gate *g, const struct peer *host, const struct graph_verdict *v);
/* What somebody has said, to be called for what could be allowed so. MAY_LATER: *id is the question
 * that is waited for; the caller keeps it until he is resumed, or leaves. */
enum may gate_ask_may(struct gate *g, const struct gate_client *who, const struct peer *host,
                      uint16_t port, uint16_t proto, uint32_t *id, const char **why);
void gate_ask_leave(struct gate *g, uint32_t id);

/* ---- gate-announce.c ---- */

int gate_announce_begin(struct gate *g); /* 0 or a negated errno */
/* Finds out where a new connection is to go, now or later. */
void gate_announce_await(struct conn *c);

/* ---- orig-dst.c ---- */

/* Sets a new connection's host and port; false when it leads nowhere. */
bool orig_dst_redirected(struct conn *c, bool v6);
bool orig_dst_as_sent(struct conn *c); /* its own end is where it wanted to go */

/* ---- conn.c ---- */

void conn_limit(struct conn *c, uint64_t ms); /* closes it after so long */
void conn_accept(struct listener *l);
/* Ends a connection. It stays in memory until the turn is over, for whoever is still holding it. */
void conn_close(struct conn *c);
void conn_bury(struct gate *g);
void conn_go_on(struct gate *g); /* with those that are busy */
void conn_reset(struct conn *c); /* closes so that the client sees it was refused */
/* No more is listened to; what was answered is sent, and then it ends. */
void conn_finish(struct conn *c);
/* Its client has been accepted; NULL: there are too many. */
struct conn *conn_new(struct gate *g, int fd);
/* Its server answers: bytes may flow. what: that was told of the server, LOOP_IN … */
void conn_joined(struct conn *c, unsigned what);
/* Starts connecting to the conn's host; on failure the conn ends as its kind wants. */
void conn_dial(struct conn *c);
/* Sends to a side what can be sent, and keeps the rest. */
void side_send(struct side *s, const void *data, size_t n);
/* Goes on with what the client has said; called when there is more, or when something changed. */
void conn_advance(struct conn *c);
void conn_pump(struct conn *c);

/* ---- inbound.c ---- */

void inbound_accept(struct listener *l);
void inbound_return(struct conn *c); /* of a conn that ends: its server's socket is used again */

/* ---- proxy.c ---- */

/* Each takes what it understands from c->in; false when more has to come. */
bool proxy_first(struct conn *c);
bool proxy_login(struct conn *c);
bool proxy_request(struct conn *c);
/* The dial ended. */
void proxy_connected(struct conn *c);
void proxy_failed(struct conn *c, const struct dial_end *end);
/* v: NULL when it is not a rule that says so. */
void proxy_refuse(struct conn *c, const struct peer *host, uint16_t port,
                  const struct graph_verdict *v, const char *why);

/* ---- inspect.c ---- */

bool plain_http_inspect(struct conn *c);
/* What a server says while the client is being inspected, or is not read; and what such a client
 * says. False when that was the end of the connection. */
bool inspect_server(struct conn *c, const char *data, size_t n);
bool inspect_more(struct conn *c, const char *data, size_t n);

/* ---- plain-http.c ---- */

bool plain_http_http(struct conn *c);
bool plain_http_h2(struct conn *c);
/* Whether a client may use this name with the host that it goes to. */
bool plain_http_agrees(const struct conn *c, const struct peer *said);
/* Each tells of it and resets the connection. */
void plain_http_refuse(struct conn *c, const char *why);
void plain_http_refuse_name(struct conn *c, const struct peer *said, const char *how);
/* The server's bytes during an exchange, on their way to the client. */
void plain_http_answer(struct conn *c, const char *data, size_t n);

/* ---- datagram.c ---- */

/* As recv(); a port is 0 when that end is not told. */
ssize_t datagram_hear(int fd, void *data, size_t cap, struct flow_key *k);
/* To the client, from where it wrote to; where there are raw sockets. */
void datagram_answer(const struct gate *g, const struct flow_key *k, const void *data, size_t n);
/* What a closed port answers. */
void datagram_refuse(const struct gate *g, const struct flow_key *k);

/* ---- refused-packets.c ---- */

void refused_packets_receive(const struct listener *l);

/* ---- dns-stub.c ---- */

void dns_stub_datagram(struct gate *g, int fd);
struct asker;
void dns_stub_reply(const struct gate *g, const struct asker *who, const void *data, size_t n);
bool dns_stub_stream(struct conn *c);

/* ---- lookup.c ---- */

/* Whom an answer goes to. */
struct asker {
    struct conn *conn; /* or NULL, and then */
    int fd;            /* what heard the question; -1: nobody waits any more */
    struct flow_key key;
};

/* Whether questions of this kind are passed on. */
bool lookup_knows(uint16_t type);
/* Whose record it is: the name behind a service that everybody knows. False when there is none in
 * front. */
bool lookup_owner(const struct peer *asked, struct peer *out);
/* Asks a name server; the answer goes to whoever asked. False when there are too many. */
bool lookup_start(struct gate *g, const struct dns_query *q, const struct asker *who);
void lookup_forget(struct conn *c); /* who has gone */

/* ---- udp.c ---- */

void udp_datagrams(struct gate *g, int fd);
void udp_local(const struct listener *l);       /* to a port of the host's loopback */
void udp_sweep(struct gate *g);                 /* forgets who was silent for long */
void udp_answered(struct gate *g, uint32_t id); /* a question that flows may wait for */
void udp_end(struct gate *g);

#endif
