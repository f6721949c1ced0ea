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
#include "net/upstream.h"

/*
 * Connecting in the command's stead: looks the name up, leaves out addresses where an allowed name
 * may not lead, and tries the others, both families in turn, each a moment after the one before.
 * The address that was checked is the one that is dialled. With a parent proxy it is the parent
 * that is looked up and dialled, and the name is given to it; only what is on this machine, where
 * rules name it, is not its business.
 */
enum { DIAL_ADDRESSES = 16, DIAL_TRIES = 4, DIAL_ARES = 16 };

struct dialer;
struct dial;

/* Connections, or a socket for datagrams to one of the host's addresses: of the family that the
 * command chose, when there is one, since nobody can tell whether datagrams arrive. */
enum dial_kind { DIAL_STREAM, DIAL_DATAGRAMS4, DIAL_DATAGRAMS6 };

/* How it ended. */
struct dial_end {
    /* The connection, which is watched for changes, not for levels: whoever wants it takes it with
     * loop_move() or loop_forget(), or it is closed. NULL: there is none. */
    struct watch *made;
    unsigned what;   /* that was told of it and not to anybody yet: LOOP_IN … */
    int err;         /* a negated errno, without one */
    const char *why; /* the address was found and is not allowed, or the name is not looked up */
    bool named;      /* which of both: it was not */
    uint8_t addr[16];
};

/* Why it was not allowed, in words. */
enum { DIAL_WORDS = 128 };
void dial_words(const struct dial_end *end, char out[DIAL_WORDS]);

typedef void dial_done(void *arg, const struct dial_end *end);

struct dial_try {
    struct watch watch;
    struct dial *dial;
    uint8_t address; /* index of the one that is tried */
};

struct dial {
    struct dialer *dialer;
    struct dial *next, *prev;
    dial_done *done; /* NULL when nobody waits any more */
    void *arg;
    uint16_t port;
    uint8_t kind;  /* enum dial_kind */
    bool starting; /* dial_start() has not returned */
    bool looking;  /* the name is still being looked up */
    uint8_t addresses[DIAL_ADDRESSES][16];
    size_t naddresses, started;
    uint64_t next_ms, deadline_ms;
    int last_error;
    const char *why;
    bool not_looked_up; /* because there were too many names before it */
    uint8_t refused[16];
    struct dial_try tries[DIAL_TRIES];
    bool address;               /* the host was given as one */
    bool via;                   /* the parent proxy is dialled, */
    struct dial_try *listening; /* and this one is spoken with */
    struct peer target;
    struct upstream_talk talk;
};

struct ares_watch {
    struct watch watch;
    struct dialer *dialer;
};

struct dialer {
    struct loop *loop;
    struct net_rules *rules;
    const struct upstream *upstream; /* or NULL */
    ares_channel channel;            /* NULL until a name is looked up */
    struct ares_watch watches[DIAL_ARES];
    struct dial *dials;
    struct own_address here; /* this machine's addresses */
    struct lookup_rate pace; /* of names that are looked up */
};

int dialer_init(struct dialer *d, struct loop *l, struct net_rules *rules,
                const struct upstream *upstream);
void dialer_free(struct dialer *d);

/* For looking names up. It reads the resolver's files, which many commands never need, and so is
 * made when it is first asked for; NULL without memory. */
ares_channel dialer_names(struct dialer *d);

/* NULL without memory; done is always called later, not from here, unless cancelled. */
struct dial *dial_start(struct dialer *d, const struct peer *host, uint16_t port,
                        enum dial_kind kind, dial_done *done, void *arg);
void dial_cancel(struct dial *dial);

/* Whether name servers may be asked about a name now, which the policy allows as it allows owner:
 * names that a rule writes out always, those below a wildcard at a pace. */
bool dialer_may_ask(struct dialer *d, const struct peer *name, const struct peer *owner);
extern const char dialer_too_many[]; /* why not */

/* What an address is, in words, where no name may lead; NULL for any other. */
const char *dialer_special(struct dialer *d, const uint8_t addr[16]);

/* What is due; how long until something is, in milliseconds (-1: nothing). */
void dialer_tick(struct dialer *d);
int dialer_wait(const struct dialer *d);

#endif
