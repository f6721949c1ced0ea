/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_DIAL_H
#define BK_NET_DIAL_H

#include <ares.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/peer.h"
#include "net/lookup-rate.h"
#include "net/loop.h"
#include "net/own-address.h"
#include "net/rules.h"
#include "net/parent-proxy.h"
#include "net/upstream.h"

/*
 * Connects on the command's behalf: looks up the name, drops addresses that an allowed name may not
 * lead to, and tries the rest, alternating families, with a short delay between attempts. The
 * address that was checked is the one that is dialled.
 *
 * With a parent proxy, the dialer looks up and dials the proxy and passes it the name. Only
 * destinations on this machine bypass the proxy.
 */
enum { DIAL_ADDRESSES = 16, DIAL_TRIES = 4, DIAL_ARES = 16 };

struct dialer;
struct dial;

/* A connection, or a socket for datagrams to one of the host's addresses. Datagrams prefer the
 * family that the command chose, because a lost datagram gives no error to fall back on. So do
 * connections to loopback, where the other family may have another server. */
enum dial_kind { DIAL_STREAM, DIAL_STREAM4, DIAL_DATAGRAMS4, DIAL_DATAGRAMS6 };

/* The result of a dial. */
struct dial_end {
    /* The connection, watched edge-triggered. The callee takes it with loop_move() or
     * loop_forget(), or it is closed. NULL if there is none. */
    struct watch *made;
    unsigned what;   /* events not delivered yet: LOOP_IN … */
    int err;         /* a negative errno, if made is NULL */
    const char *why; /* set if the address is not allowed or the name was not looked up */
    bool named;      /* true if the name was not looked up */
    /* The parent proxy, if it is the reason: it was not reached (status 0), or it answered this. */
    const struct upstream *proxy;
    int status;
    uint8_t addr[16];
};

/* Writes the reason for a refusal. */
enum { DIAL_REASON = 128 };
void dial_reason(const struct dial_end *end, char out[DIAL_REASON]);

typedef void dial_done(void *arg, const struct dial_end *end);

struct dial_try {
    struct watch watch;
    struct dial *dial;
    uint8_t address; /* index of the address */
};

struct dial {
    struct dialer *dialer;
    struct dial *next, *prev;
    dial_done *done; /* NULL once the caller has lost interest */
    void *arg;
    uint16_t port;
    uint8_t kind;  /* enum dial_kind */
    bool starting; /* dial_start() has not returned */
    bool looking;  /* the name lookup is pending */
    uint8_t addresses[DIAL_ADDRESSES][16];
    size_t naddresses, started;
    uint64_t next_ms, deadline_ms;
    int last_error;
    const char *why;
    bool not_looked_up; /* too many different names were looked up before it */
    uint8_t refused[16];
    struct dial_try tries[DIAL_TRIES];
    bool address; /* the host was given as an address */
    bool here;    /* the client itself asked for loopback, not for a name that leads there */
    const struct upstream *via; /* dials this parent proxy, or NULL */
    const char *socket;         /* at this Unix socket, or NULL */
    struct dial_try *proxy_try; /* the attempt that talks to the proxy */
    struct peer target;
    struct upstream_exchange exchange;
};

struct ares_watch {
    struct watch watch;
    struct dialer *dialer;
};

struct dialer {
    struct loop *loop;
    struct net_rules *rules;
    const struct parent_proxies *parents; /* or NULL */
    const struct handling *handling;      /* or NULL: which hosts are behind another proxy */
    ares_channel channel;                 /* NULL until the first lookup */
    struct ares_watch watches[DIAL_ARES];
    struct dial *dials;
    struct own_address here; /* this machine's addresses */
    struct lookup_rate pace; /* limits lookups of new names */
};

int dialer_init(struct dialer *d, struct loop *l, struct net_rules *rules,
                const struct parent_proxies *parents, const struct handling *handling);
void dialer_free(struct dialer *d);

/* The resolver channel, or NULL without memory. Created at first use, because it reads the
 * resolver's files and many commands look up nothing. */
ares_channel dialer_channel(struct dialer *d);

/* Returns NULL without memory. done is called later, never from here, and not after
 * dial_cancel(). asked: which proxy the client asked for (parent_proxy_for()). */
struct dial *dial_start(struct dialer *d, const struct peer *host, uint16_t port,
                        enum dial_kind kind, enum parent_kind asked, dial_done *done, void *arg);
void dial_cancel(struct dial *dial);

/* Whether a name server may be asked about a name now. The policy allows the name because it allows
 * owner. Names that a rule spells out are always free; names under a wildcard are rate-limited. */
bool dialer_may_look_up(struct dialer *d, const struct peer *name, const struct peer *owner);
extern const char dialer_too_many[]; /* the reason if not */

/* The reason why no allowed name may lead to this address, or NULL. */
const char *dialer_special(struct dialer *d, const uint8_t addr[16]);

/* Starts what is due. dialer_wait() returns the milliseconds until then, or -1 if nothing is
 * pending. */
void dialer_tick(struct dialer *d);
int dialer_wait(const struct dialer *d);

#endif
