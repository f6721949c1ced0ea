/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_CONN_H
#define BK_NET_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/dial.h"
#include "net/first-line.h"
#include "net/gate.h"
#include "net/h2-answer.h"
#include "net/h2.h"
#include "net/http.h"
#include "net/loop.h"
#include "graph/peer.h"
#include "net/queue.h"
#include "net/secrets.h"
#include "net/tls-end.h"

/* A connection through the gate, and what each protocol remembers about it. */

struct gate;
struct conn;
struct body_copy;
struct decision;
struct listener;

struct side {
    struct watch watch;
    struct conn *conn;
    bool readable, writable, connected;
    bool last;     /* end of file follows the bytes that are readable now */
    bool ended;    /* end of file was read */
    bool shut;     /* the sending direction was shut down */
    bool said_end; /* TLS has announced the end of this direction */
    bool gathered; /* its bytes are among the jobs of this turn */
    bool deferred; /* … and what it has to send */
    size_t early;  /* the next bytes to send, which are encrypted already and wait there */
    struct tls_end
        *tls; /* the gate is the other end of it (terminate.c); NULL: bytes are passed on */
    struct queue out;
};

/* What the gate expects from the client next. */
enum conn_state {
    CONN_BEGIN,         /* nothing: the destination is known and has to be checked */
    CONN_DNS,           /* DNS questions, each with its length in front */
    CONN_FIRST,         /* the first byte for a proxy, which tells HTTP from SOCKS */
    CONN_SOCKS_LOGIN,   /* user and password */
    CONN_SOCKS_REQUEST, /* the destination */
    CONN_INSPECT,       /* first bytes, which must agree with the destination */
    CONN_TLS,           /* the handshakes of TLS that the gate terminates */
    CONN_HTTP,          /* HTTP/1 requests */
    CONN_H2,            /* HTTP/2 requests */
    CONN_RELAY,         /* any bytes */
    CONN_CLOSING,       /* nothing: the last answer is still being sent */
};

struct conn {
    struct gate *gate;
    struct conn *next, *prev, *next_busy;
    bool dead; /* closed; freed at the end of this turn */
    bool busy; /* has more bytes to move in the next turn */
    struct side client, server;
    uint8_t state; /* enum conn_state */
    bool proxied;  /* HTTP requests name their host, and are rewritten */
    bool socks;
    bool known;       /* another gate has checked its login (hand-over.h) */
    bool inbound;     /* from the host to a server of the command */
    bool six;         /* dials that server over IPv6 */
    struct peer host; /* the destination */
    uint16_t port;
    struct dial *dial;
    uint64_t deadline_ms; /* 0: none */
    struct queue in;      /* from the client, not parsed yet */
    size_t wants;         /* how much of it has to be there; 0: as for a header */
    struct gate_client who;
    bool local;     /* to the host's loopback, */
    bool four;      /* by IPv4 first */
    bool unknown;   /* the destination has not been announced yet */
    uint32_t asked; /* the question it waits for; 0: none */

    /* decider.c */
    bool asked_body;
    uint64_t deciding; /* the request that another program decides about; 0: none, */
    uint64_t decide_until_ms;
    struct decision *decision; /* and what it decided; or NULL */
    struct body_copy *shown;   /* what it wants to see of the request's body, or NULL */

    /* inspect.c */
    struct first_line first;
    uint32_t ahead;  /* bytes of in that were already sent to the server */
    bool cut;        /* in was discarded: the line is too long to keep */
    bool unread;     /* passes the client's bytes unread; the server has not identified itself */
    uint8_t nanswer; /* the server's first bytes */
    char first_answer[9];
    bool to_tls; /* only TLS may follow */

    /* terminate.c */
    uint64_t mute_until_ms; /* the client has said nothing since the handshake; 0: it has */

    /* plain-http.c */
    bool sending;   /* a request's body is incomplete */
    bool awaiting;  /* its answer is incomplete */
    bool answering; /* the answer's header has been passed on */
    bool head_method, upgrading, close_after, answer_raw;
    bool connecting;    /* the request is CONNECT, to an external proxy */
    bool upgraded;      /* HTTP/2 after an upgrade from HTTP/1 */
    uint8_t upgrade_to; /* enum http_upgrade */
    struct h2 *h2;
    struct h2_place
        h2_place; /* in the server's frames, before the client is known to send HTTP/2 */
    struct http_body body, answer_body;
    uint32_t inserts;           /* secrets for the request that is being read */
    uint32_t fills;             /* … for its body */
    struct secrets_flow filled; /* that body */
    struct secrets_flow masked; /* an answer that may have secrets in it */
    struct queue answer;        /* the incomplete header of an answer */
};

enum {
    HEAD_MS = 30000,  /* for a client to send a request's header */
    LINGER_MS = 2000, /* for a client that still sends to read the last answer */
};

void conn_accept(struct listener *l);
/* Sets the destination to the host's loopback, where port is known. */
void conn_set_local(struct conn *c, const uint8_t addr[16]);
/* Takes an accepted client. Returns NULL, with fd closed, if there are too many. */
struct conn *conn_new(struct gate *g, int fd);
void conn_limit(struct conn *c, uint64_t ms); /* closes it after that time */
/* Ends a connection. Its memory stays valid until conn_free_closed() at the end of the turn. */
void conn_close(struct conn *c);
void conn_free_closed(struct gate *g);
void conn_reset(struct conn *c); /* closes with a reset, which the client sees as a refusal */
/* Reads no more, sends the pending answer, then closes. */
void conn_finish(struct conn *c);

/* Starts connecting to the host. If that fails, the client gets the answer of its protocol. */
void conn_dial(struct conn *c);
/* The server is connected. what: its events so far (LOOP_IN …). */
void conn_joined(struct conn *c, unsigned what);
/* Parses what the client has sent. Call it when there is more, or when the state changed. */
void conn_advance(struct conn *c);
/* Moves bytes in both directions as far as possible, and ends the connection if it is over. */
void conn_pump(struct conn *c);
void conn_pump_later(struct conn *c); /* in the next turn */
void conn_pump_busy(struct gate *g);
/* Sends to a side what it accepts now, and queues the rest. Encrypts it if the gate is the end of
 * TLS. */
void side_send(struct side *s, const void *data, size_t n);
void side_send_raw(struct side *s, const void *data, size_t n); /* never encrypts it */
/* Whether there is something to read, and room for it. */
bool side_may_read(const struct side *from);
/* Reads at most so many bytes, and notes what the socket says. Returns 0 if there are none. */
size_t side_receive(struct side *from, char *at, size_t wanted);
/* Bytes of a side, after decryption. */
void conn_received(struct conn *c, struct side *from, const char *data, size_t n);

#endif
