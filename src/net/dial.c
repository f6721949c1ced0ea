/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Dialling one host: look up the name, filter the addresses, then try them in turn ("happy
 * eyeballs"). A new attempt starts every STAGGER_MS while earlier ones are pending; the first that
 * connects wins and the others are closed.
 *
 * With a parent proxy, the attempts go to the proxy. The winner then carries the CONNECT or SOCKS
 * exchange (upstream.c) before the caller gets the socket.
 */

#include "net/dial.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "graph/net.h"
#include "net/handling.h"
#include "net/window-port.h"
#include "system/descriptors.h"

enum { STAGGER_MS = 250, GIVE_UP_MS = 30000, LOOKUP_MS = 5000, LOOKUP_TRIES = 2 };

static const uint8_t loopback4[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1},
                     loopback6[16] = {[15] = 1};

/* ---- c-ares in our loop ---- */

static void on_ares(struct watch *w, unsigned what)
{
    struct ares_watch *a = (struct ares_watch *)w;
    ares_process_fd(a->dialer->channel, what & LOOP_IN ? w->fd : ARES_SOCKET_BAD,
                    what & LOOP_OUT ? w->fd : ARES_SOCKET_BAD);
}

/* c-ares opens and closes its sockets itself and reports which events it needs. */
static void on_ares_socket(void *arg, ares_socket_t fd, int readable, int writable)
{
    struct dialer *d = arg;
    struct ares_watch *found = NULL, *empty = NULL;
    for (size_t i = 0; i < DIAL_ARES; i++) {
        if (d->watches[i].watch.fd == fd)
            found = &d->watches[i];
        else if (d->watches[i].watch.fd < 0 && !empty)
            empty = &d->watches[i];
    }
    if (!readable && !writable) {
        if (found)
            loop_forget(d->loop, &found->watch);
        return;
    }
    if (!found && empty) {
        found = empty;
        found->watch.fd = fd;
        if (loop_add(d->loop, &found->watch, true) < 0)
            found->watch.fd = -1;
    }
    if (found && found->watch.fd >= 0)
        loop_change(d->loop, &found->watch, (readable ? LOOP_IN : 0) | (writable ? LOOP_OUT : 0));
}

ares_channel dialer_channel(struct dialer *d)
{
    struct ares_options options = {.timeout = LOOKUP_MS,
                                   .tries = LOOKUP_TRIES,
                                   .sock_state_cb = on_ares_socket,
                                   .sock_state_cb_data = d};
    int set = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
    if (!d->channel && ares_init_options(&d->channel, &options, set) != ARES_SUCCESS)
        d->channel = NULL;
    return d->channel;
}

int dialer_init(struct dialer *d, struct loop *l, struct net_rules *rules,
                const struct parent_proxies *parents, const struct handling *handling)
{
    memset(d, 0, sizeof(*d));
    d->loop = l;
    d->rules = rules;
    d->parents = parents;
    d->handling = handling;
    for (size_t i = 0; i < DIAL_ARES; i++)
        d->watches[i] = (struct ares_watch){{-1, on_ares}, d};
    d->here = OWN_ADDRESS_NONE;
    return ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS ? 0 : -ENOMEM;
}

/* ---- the end of a dial ---- */

static void close_tries(struct dial *dial)
{
    for (size_t i = 0; i < DIAL_TRIES; i++)
        loop_remove(dial->dialer->loop, &dial->tries[i].watch);
}

/* Unlinks the dial and frees it, unless c-ares still refers to it. */
static void release_dial(struct dial *dial)
{
    struct dialer *d = dial->dialer;
    close_tries(dial);
    dial->done = NULL;
    if (dial->looking)
        return;
    if (dial->prev)
        dial->prev->next = dial->next;
    else
        d->dials = dial->next;
    if (dial->next)
        dial->next->prev = dial->prev;
    free(dial);
}

static void finish_dial(struct dial *dial, struct dial_end *end, const uint8_t addr[16])
{
    dial_done *done = dial->done;
    memcpy(end->addr, addr, 16);
    dial->done = NULL;
    if (done)
        done(dial->arg, end);
    release_dial(dial);
}

static void succeed(struct dial *dial, struct dial_try *t, unsigned what)
{
    struct dial_end end = {.made = &t->watch, .what = what};
    finish_dial(dial, &end, dial->addresses[t->address]);
}

static void fail(struct dial *dial)
{
    struct dial_end end = {.err = dial->why ? -EPERM : -dial->last_error,
                           .why = dial->why,
                           .named = dial->not_looked_up,
                           .proxy = dial->via,
                           .status = dial->exchange.status};
    finish_dial(dial, &end, dial->refused);
}

void dial_reason(const struct dial_end *end, char out[DIAL_REASON])
{
    struct peer where;
    peer_from_address(end->addr, &where);
    if (end->named)
        snprintf(out, DIAL_REASON, "%s", end->why);
    else
        snprintf(out, DIAL_REASON, "%.60s is %.50s", where.name, end->why);
}

void dial_cancel(struct dial *dial)
{
    if (dial)
        release_dial(dial);
}

void dialer_free(struct dialer *d)
{
    for (struct dial *dial = d->dials, *next; dial; dial = next) {
        next = dial->next;
        dial->done = NULL;
    }
    if (d->channel)
        ares_destroy(d->channel); /* calls back for pending lookups */
    while (d->dials)
        release_dial(d->dials);
    own_address_free(&d->here);
    lookup_rate_free(&d->pace);
    ares_library_cleanup();
}

/* ---- attempts ---- */

/* The proxy for some hosts, behind a Unix socket: connecting does not wait. */
static int connect_to_socket(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(to.sun_path))
        return -ENAMETOOLONG;
    strcpy(to.sun_path, path);
    int fd = fd_socket(AF_UNIX, SOCK_STREAM, FD_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    int err = -errno;
    close(fd);
    return err;
}

static int connect_to(const uint8_t addr[16], uint16_t port, enum dial_kind kind)
{
    struct sockaddr_storage to;
    socklen_t n = addr_to_sockaddr(addr, port, &to);
    int one = 1, type = kind <= DIAL_STREAM4 ? SOCK_STREAM : SOCK_DGRAM;
    if (window_port_is(addr, port))
        return -ECONNREFUSED;
    int fd = fd_socket(to.ss_family, type, FD_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (kind <= DIAL_STREAM4)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, (struct sockaddr *)&to, n) < 0 && errno != EINPROGRESS) {
        int err = -errno;
        close(fd);
        return err;
    }
    return fd;
}

static bool is_trying(const struct dial *dial)
{
    for (size_t i = 0; i < DIAL_TRIES; i++)
        if (dial->tries[i].watch.fd >= 0)
            return true;
    return false;
}

/* Starts an attempt at the next usable address; false if none is left. */
static bool start_next(struct dial *dial)
{
    struct dialer *d = dial->dialer;
    struct dial_try *t = NULL;
    for (size_t i = 0; i < DIAL_TRIES && !t; i++)
        if (dial->tries[i].watch.fd < 0)
            t = &dial->tries[i];
    while (t && dial->started < dial->naddresses) {
        size_t which = dial->started++;
        int fd = dial->socket ? connect_to_socket(dial->socket)
                              : connect_to(dial->addresses[which], dial->port, dial->kind);
        if (fd < 0) {
            dial->last_error = -fd;
            continue;
        }
        t->watch.fd = fd;
        t->address = (uint8_t)which;
        dial->next_ms = d->loop->now_ms + STAGGER_MS;
        if (loop_add(d->loop, &t->watch, false) == 0)
            return true;
        close(fd);
        t->watch.fd = -1;
    }
    return false;
}

/* ---- through the parent proxy ---- */

static void fail_with(struct dial *dial, int err)
{
    dial->last_error = err;
    fail(dial);
}

static bool send_to_proxy(struct dial *dial)
{
    const struct upstream_exchange *t = &dial->exchange;
    /* an empty socket buffer always takes this much */
    return send(dial->proxy_try->watch.fd, t->out, t->nout, MSG_NOSIGNAL) == (ssize_t)t->nout;
}

/* Registers the socket again, so that the next owner gets the events that this exchange
 * consumed. */
static unsigned watch_again(struct dial *dial, struct watch *w)
{
    int fd = w->fd;
    loop_forget(dial->dialer->loop, w);
    w->fd = fd;
    return loop_add(dial->dialer->loop, w, false) < 0 ? LOOP_IN | LOOP_OUT | LOOP_LAST : LOOP_OUT;
}

/* Consumes exactly the proxy's answers: the bytes after them come from the host. */
static void read_proxy_answer(struct dial *dial)
{
    struct watch *w = &dial->proxy_try->watch;
    uint8_t data[UPSTREAM_IN_MAX];
    for (;;) {
        ssize_t n = recv(w->fd, data, sizeof(data), MSG_PEEK);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            loop_again(dial->dialer->loop, w, LOOP_IN);
            return;
        }
        ssize_t used = n > 0 ? upstream_read(&dial->exchange, data, (size_t)n) : -ECONNRESET;
        if (used == 0) { /* incomplete */
            loop_again(dial->dialer->loop, w, LOOP_IN);
            return;
        }
        if (used < 0 || recv(w->fd, data, (size_t)used, 0) != used ||
            (dial->exchange.nout && !send_to_proxy(dial))) {
            fail_with(dial, used < 0 ? (int)-used : ECONNRESET);
            return;
        }
        if (dial->exchange.done)
            break;
    }
    succeed(dial, dial->proxy_try, watch_again(dial, w));
}

static void begin_proxy_exchange(struct dial *dial, struct dial_try *t)
{
    for (size_t i = 0; i < DIAL_TRIES; i++)
        if (&dial->tries[i] != t)
            loop_remove(dial->dialer->loop, &dial->tries[i].watch);
    dial->started = dial->naddresses; /* start no further attempts */
    dial->proxy_try = t;
    dial->exchange.to = dial->via;
    dial->exchange.host = &dial->target;
    upstream_begin(&dial->exchange);
    if (send_to_proxy(dial))
        read_proxy_answer(dial);
    else
        fail_with(dial, ECONNRESET);
}

/* ---- attempts that end ---- */

static void on_try(struct watch *w, unsigned what)
{
    struct dial_try *t = (struct dial_try *)w;
    struct dial *dial = t->dial;
    int err = 0;
    socklen_t n = sizeof(err);
    if (dial->proxy_try) {
        read_proxy_answer(dial);
        return;
    }
    if (!(what & LOOP_OUT)) {
        loop_again(dial->dialer->loop, w, LOOP_IN);
        return;
    }
    if (what & LOOP_GONE && getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &err, &n) < 0)
        err = errno;
    if (err == 0 && dial->via) {
        begin_proxy_exchange(dial, t);
        return;
    }
    if (err == 0) {
        succeed(dial, t, what);
        return;
    }
    dial->last_error = err;
    loop_remove(dial->dialer->loop, w);
    if (!start_next(dial) && !is_trying(dial))
        fail(dial);
}

/* ---- looking up ---- */

const char dialer_too_many[] = "too many different names in a short time";

bool dialer_may_look_up(struct dialer *d, const struct peer *name, const struct peer *owner)
{
    return rules_are_open(d->rules) || lookup_rate_knows(&d->pace, name) ||
           rules_spell(d->rules, owner) || lookup_rate_take(&d->pace, name, d->loop->now_ms);
}

const char *dialer_special(struct dialer *d, const uint8_t addr[16])
{
    const char *why = addr_is_special(addr);
    uint8_t v4[16];
    if (why)
        return why;
    bool own = own_address_has(&d->here, addr) ||
               (addr_carries(addr, v4) && own_address_has(&d->here, v4));
    return own ? "an address of this machine" : NULL;
}

static bool is_open_here(struct net_rules *rules, const uint8_t addr[16], uint16_t port,
                         uint16_t proto)
{
    struct peer host;
    peer_from_address(addr, &host);
    return rules_open_here(rules, &host, port, proto);
}

static const char *address_refusal(const struct dial *dial, const uint8_t addr[16])
{
    struct net_rules *rules = dial->dialer->rules;
    uint16_t proto = dial->kind <= DIAL_STREAM4 ? NET_TCP : NET_UDP;
    if (dial->via) /* the administrator chose the proxy's address */
        return NULL;
    /* the usual case for an address: no need to query the kernel */
    if (dial->address && rules_name_address(rules, addr, dial->port, proto))
        return NULL;
    if (rules_deny_address(rules, addr, dial->port, proto))
        return "a denied address";
    if (dial->here && addr_is_loopback(addr) && is_open_here(rules, addr, dial->port, proto))
        return NULL;
    const char *why = dialer_special(dial->dialer, addr);
    return why && !rules_name_address(rules, addr, dial->port, proto) ? why : NULL;
}

static void add_address(struct dial *dial, const uint8_t addr[16])
{
    const char *why = address_refusal(dial, addr);
    if (why) {
        dial->why = why;
        memcpy(dial->refused, addr, 16);
    } else if (dial->naddresses < DIAL_ADDRESSES) {
        memcpy(dial->addresses[dial->naddresses++], addr, 16);
    }
}

/* Alternates IPv6 and IPv4, so that a broken family costs a moment, not a minute. */
static void interleave(struct dial *dial)
{
    uint8_t sorted[DIAL_ADDRESSES][16];
    size_t at[2] = {0, 0}, n = dial->naddresses;
    bool four = dial->kind == DIAL_DATAGRAMS4 || dial->kind == DIAL_STREAM4;
    for (size_t k = 0; k < n; k++) {
        size_t family = (k & 1) ^ four; /* 0: IPv6 */
        for (int tries = 0; tries < 2; tries++, family ^= 1) {
            while (at[family] < n && addr_is_v4(dial->addresses[at[family]]) != (bool)family)
                at[family]++;
            if (at[family] < n)
                break;
        }
        memcpy(sorted[k], dial->addresses[at[family]++], 16);
    }
    memcpy(dial->addresses, sorted, n * 16);
}

static void begin_tries(struct dial *dial)
{
    interleave(dial);
    if (dial->naddresses)
        dial->why = NULL; /* at least one address is usable */
    if (!start_next(dial))
        fail(dial);
}

static void on_addresses(void *arg, int status, int timeouts, struct ares_addrinfo *found)
{
    struct dial *dial = arg;
    uint8_t addr[16];
    uint16_t port;
    (void)timeouts;
    dial->looking = false;
    if (!dial->done) {
        ares_freeaddrinfo(found);
        release_dial(dial);
        return;
    }
    for (struct ares_addrinfo_node *i = found ? found->nodes : NULL; i; i = i->ai_next)
        if (addr_from_sockaddr((struct sockaddr_storage *)i->ai_addr, addr, &port))
            add_address(dial, addr);
    ares_freeaddrinfo(found);
    dial->last_error = status == ARES_ETIMEOUT ? ETIMEDOUT : EHOSTUNREACH;
    if (!dial->starting)
        begin_tries(dial);
}

/* The parent proxy for a connection, or NULL: this machine is always reached directly. */
static const struct upstream *proxy_for(struct dialer *d, const struct peer *host, uint16_t port,
                                        enum parent_kind asked)
{
    bool here = peer_is_localhost(host) || (host->address && dialer_special(d, host->addr));
    return here ? NULL : parent_proxy_for(d->parents, host, port, asked);
}

struct dial *dial_start(struct dialer *d, const struct peer *host, uint16_t port,
                        enum dial_kind kind, enum parent_kind asked, dial_done *done, void *arg)
{
    struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    bool may_ask = host->address || peer_is_localhost(host) || dialer_may_look_up(d, host, host);
    struct dial *dial = calloc(1, sizeof(*dial));
    if (!dial)
        return NULL;
    *dial = (struct dial){.dialer = d, .done = done, .arg = arg, .port = port, .next = d->dials};
    dial->kind = (uint8_t)kind;
    dial->address = host->address;
    dial->here = peer_is_localhost(host) || (host->address && addr_is_loopback(host->addr));
    dial->last_error = EHOSTUNREACH;
    dial->deadline_ms = d->loop->now_ms + GIVE_UP_MS;
    /* an address starts at the next tick, so that done is never called from here */
    dial->next_ms = d->loop->now_ms;
    dial->starting = true;
    static const struct upstream behind_socket; /* an HTTP proxy without a login */
    dial->socket = kind <= DIAL_STREAM4 ? handling_via(d->handling, host, port) : NULL;
    if (dial->socket)
        dial->via = &behind_socket;
    else if (d->parents && kind <= DIAL_STREAM4)
        dial->via = proxy_for(d, host, port, asked);
    if (dial->socket) {
        dial->target = *host;
        dial->exchange.port = port;
        may_ask = true;
        dial->naddresses = 1; /* of no meaning */
    } else if (dial->via) {
        dial->target = *host;
        dial->exchange.port = port;
        host = &dial->via->host;
        dial->port = dial->via->port;
    }
    for (size_t i = 0; i < DIAL_TRIES; i++)
        dial->tries[i] = (struct dial_try){{-1, on_try}, dial, 0};
    if (d->dials)
        d->dials->prev = dial;
    d->dials = dial;
    if (dial->socket) {
        /* the proxy looks the name up */
    } else if (!may_ask) {
        dial->why = dialer_too_many;
        dial->not_looked_up = true;
    } else if (host->address) {
        add_address(dial, host->addr);
    } else if (peer_is_localhost(host)) { /* whatever this machine's files say about it */
        add_address(dial, loopback6);
        add_address(dial, loopback4);
    } else if (dialer_channel(d)) { /* otherwise there is no address to try */
        dial->looking = true;
        ares_getaddrinfo(d->channel, host->name, NULL, &hints, on_addresses, dial);
    }
    dial->starting = false;
    return dial;
}

/* ---- time ---- */

static bool is_due(const struct dial *dial, uint64_t now)
{
    bool first = dial->started == 0;
    return !dial->looking && (first || dial->started < dial->naddresses) && now >= dial->next_ms;
}

void dialer_tick(struct dialer *d)
{
    uint64_t now = d->loop->now_ms;
    if (d->channel)
        ares_process_fd(d->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    for (struct dial *dial = d->dials, *next; dial; dial = next) {
        next = dial->next;
        if (dial->done && now >= dial->deadline_ms) {
            dial->last_error = ETIMEDOUT;
            fail(dial);
        } else if (dial->done && is_due(dial, now)) {
            if (dial->started == 0)
                begin_tries(dial);
            else
                start_next(dial);
        }
    }
}

int dialer_wait(const struct dialer *d)
{
    struct timeval room, *tv = d->channel ? ares_timeout(d->channel, NULL, &room) : NULL;
    int64_t wait = tv ? (int64_t)tv->tv_sec * 1000 + tv->tv_usec / 1000 + 1 : -1;
    for (const struct dial *dial = d->dials; dial; dial = dial->next) {
        uint64_t due = dial->deadline_ms;
        if (!dial->looking && dial->next_ms < due &&
            (dial->started == 0 || dial->started < dial->naddresses))
            due = dial->next_ms;
        int64_t left = due > d->loop->now_ms ? (int64_t)(due - d->loop->now_ms) : 0;
        if (wait < 0 || left < wait)
            wait = left;
    }
    return (int)wait;
}
