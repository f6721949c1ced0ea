/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Logins, and connections that change from one gate to another. A process can read the memory of
 * one policy only: its own.
 */

#include "net/hand-over.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net/gate-int.h"
#include "system/descriptors.h"

struct handed_head {
    struct gate_client who;
    uint8_t socks;
};

enum { HANDED_AT_ONCE = 64, HANDED_ROOM = FD_PACKET_MOST - (int)sizeof(struct handed_head) };

/* ---- logins ---- */

bool hand_over_same(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned differ = n != m;
    for (size_t i = 0; i < n && i < m; i++)
        differ |= (unsigned)(a[i] ^ b[i]);
    return differ == 0;
}

void hand_over_prepare(struct gate_users *u)
{
    for (size_t i = 0; i < u->n; i++)
        if (u->at[i].password)
            http_basic(u->at[i].name, u->at[i].password, u->at[i].login);
}

const struct gate_user *hand_over_by_field(const struct gate_users *u, struct slice value)
{
    char given[HTTP_BASIC];
    const struct gate_user *found = NULL;
    if (u->n && !u->at[0].password)
        return &u->at[0];
    if (value.n == 0 || value.n >= sizeof(given))
        return NULL;
    memcpy(given, value.s, value.n);
    given[value.n] = '\0';
    for (size_t i = 0; i < u->n; i++)
        if (hand_over_same(given, u->at[i].login))
            found = &u->at[i];
    return found;
}

const struct gate_user *hand_over_by_login(const struct gate_users *u, const char *name,
                                           const char *password)
{
    const struct gate_user *found = NULL;
    for (size_t i = 0; i < u->n; i++) {
        bool same = hand_over_same(password, u->at[i].password ? u->at[i].password : "");
        if (strcmp(name, u->at[i].name) == 0 && same)
            found = &u->at[i];
    }
    return found;
}

/* ---- giving ---- */

void hand_over(struct conn *c, const struct gate_user *user)
{
    static char packet[FD_PACKET_MOST];
    struct handed_head head = {.who = c->who, .socks = c->socks};
    size_t n = queue_size(&c->in);
    int fd = c->client.watch.fd;
    if (n > HANDED_ROOM || queue_size(&c->client.out)) {
        conn_close(c);
        return;
    }
    memcpy(packet, &head, sizeof(head));
    memcpy(packet + sizeof(head), queue_data(&c->in), n);
    /* the other process has the socket open: closing it would leave it in our set */
    loop_forget(&c->gate->loop, &c->client.watch);
    fd_packet_send(user->to, packet, sizeof(head) + n, fd, true);
    close(fd); /* if it was not sent, the client sees the end */
    conn_close(c);
}

/* ---- taking ---- */

static void take(struct gate *g, const char *packet, size_t n, int fd)
{
    struct handed_head head;
    struct conn *c = n >= sizeof(head) && fd >= 0 ? conn_new(g, fd) : NULL;
    if (!c) {
        if (n < sizeof(head) && fd >= 0)
            close(fd);
        return;
    }
    memcpy(&head, packet, sizeof(head));
    c->who = head.who;
    c->known = true;
    c->socks = head.socks;
    c->state = head.socks ? CONN_SOCKS_REQUEST : CONN_FIRST;
    if (loop_add(&g->loop, &c->client.watch, false) < 0 ||
        queue_add(&c->in, packet + sizeof(head), n - sizeof(head)) < 0) {
        conn_close(c);
        return;
    }
    c->client.writable = true;
    conn_limit(c, HEAD_MS);
    conn_pump(c);
}

static void on_handed(struct watch *w, unsigned what)
{
    struct gate *g = (struct gate *)((char *)w - offsetof(struct gate, handed));
    static char packet[FD_PACKET_MOST];
    (void)what;
    for (int i = 0; i < HANDED_AT_ONCE; i++) {
        int fd = -1;
        ssize_t n = fd_packet_receive(w->fd, packet, sizeof(packet), &fd, true);
        if (n == 0) {
            g->over = true; /* nobody accepts connections any more */
            return;
        }
        if (n < 0)
            return;
        take(g, packet, (size_t)n < sizeof(packet) ? (size_t)n : 0, fd);
    }
}

int hand_over_begin(struct gate *g)
{
    if (!g->o->takes)
        return 0;
    g->handed = (struct watch){g->o->handed, on_handed};
    return loop_add(&g->loop, &g->handed, true);
}

void hand_over_end(struct gate *g)
{
    if (g->o->takes)
        loop_remove(&g->loop, &g->handed);
}
