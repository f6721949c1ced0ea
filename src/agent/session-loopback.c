/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "agent/session-loopback.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/session-link.h"

void session_loopback_init(struct session_loopback *b, struct fd_watch *fds)
{
    *b = (struct session_loopback){.fds = fds};
}

static void send_to_others(const struct session_loopback *b, int from, enum link_kind kind,
                           uint16_t port)
{
    for (size_t i = 0; i < b->nlinks; i++)
        if (b->links[i] >= 0 && b->links[i] != from)
            (void)link_send(b->links[i], kind, port, -1);
}

/* The first run that listens at a port keeps it, as in one network. */
static void set_owner(struct session_loopback *b, int link, uint16_t port, bool listens)
{
    if (b->owners[port] != (listens ? -1 : link))
        return;
    b->owners[port] = listens ? link : -1;
    send_to_others(b, link, listens ? LINK_LISTENS : LINK_ENDED, port);
}

static void drop_link(struct session_loopback *b, int link)
{
    for (unsigned port = 1; port < LOOPBACK_PORTS; port++)
        set_owner(b, link, (uint16_t)port, false);
    for (size_t i = 0; i < b->nlinks; i++)
        if (b->links[i] == link)
            b->links[i] = -1;
    fd_watch_drop(b->fds, link);
    close(link);
}

/* A connection that nobody wants is closed. */
static void pass_on(const struct session_loopback *b, int from, uint16_t port, int connection)
{
    int to = b->owners[port];
    if (to >= 0 && to != from)
        (void)link_send(to, LINK_CALL, port, connection);
    close(connection);
}

static void on_link(void *arg, int link)
{
    enum { AT_ONCE = 64 }; /* then others have their turn */
    struct session_loopback *b = arg;
    struct link_message m;
    int passed, got = -EAGAIN;
    for (int i = 0; i < AT_ONCE && (got = link_receive(link, &m, &passed)) == 1; i++) {
        if (m.kind == LINK_CALL)
            pass_on(b, link, m.port, passed);
        else if (m.kind == LINK_LISTENS || m.kind == LINK_ENDED)
            set_owner(b, link, m.port, m.kind == LINK_LISTENS);
    }
    if (got != 1 && got != -EAGAIN)
        drop_link(b, link);
}

static bool make_owners(struct session_loopback *b)
{
    if (!b->owners && (b->owners = malloc(LOOPBACK_PORTS * sizeof(*b->owners))))
        for (size_t i = 0; i < LOOPBACK_PORTS; i++)
            b->owners[i] = -1;
    return b->owners;
}

/* A free place for a link, or NULL without memory. */
static int *find_place(struct session_loopback *b)
{
    for (size_t i = 0; i < b->nlinks; i++)
        if (b->links[i] < 0)
            return &b->links[i];
    int *grown = realloc(b->links, (b->nlinks + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    b->links = grown;
    b->links[b->nlinks] = -1;
    return &b->links[b->nlinks++];
}

int session_loopback_add(struct session_loopback *b, int link)
{
    struct bk_err err;
    int *place = make_owners(b) ? find_place(b) : NULL;
    if (!place || fd_watch_add(b->fds, link, on_link, b, &err) < 0) {
        close(link);
        return -1;
    }
    *place = link;
    for (unsigned port = 1; port < LOOPBACK_PORTS; port++)
        if (b->owners[port] >= 0)
            (void)link_send(link, LINK_LISTENS, (uint16_t)port, -1);
    return 0;
}

void session_loopback_free(struct session_loopback *b)
{
    for (size_t i = 0; i < b->nlinks; i++)
        if (b->links[i] >= 0) {
            fd_watch_drop(b->fds, b->links[i]);
            close(b->links[i]);
        }
    free(b->links);
    free(b->owners);
    *b = (struct session_loopback){.fds = b->fds};
}

json_t *session_loopback_ports(const struct session_loopback *b, int link)
{
    json_t *ports = json_array();
    for (unsigned port = 1; link > 0 && b->owners && port < LOOPBACK_PORTS; port++)
        if (b->owners[port] == link)
            json_array_append_new(ports, json_integer(port));
    return ports;
}
