/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Asks the kernel over netlink how it would route a packet to the address: locally, if the address
 * is its own. The local table has precedence, so no route can hide the answer. If the query fails,
 * the list of all addresses is searched instead.
 */

#include "net/own-address.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "graph/peer.h"
#include "net/on-linux/netlink.h"

static void write_question(struct netlink *b, const uint8_t addr[16])
{
    bool v4 = addr_is_v4(addr);
    size_t n = v4 ? 4 : 16;
    struct rtmsg head = {.rtm_family = v4 ? AF_INET : AF_INET6, .rtm_dst_len = v4 ? 32 : 128};
    netlink_begin(b, RTM_GETROUTE, 0, &head, sizeof(head));
    netlink_attr(b, RTA_DST, addr + 16 - n, n);
    netlink_end(b);
}

/* Returns 1 if it is our own, 0 if not, or a negative errno. */
static int read_answer(const uint8_t *data, size_t n, uint32_t sequence)
{
    struct nlmsghdr h;
    struct rtmsg route;
    int32_t error;
    if (n < sizeof(h))
        return -EBADMSG;
    memcpy(&h, data, sizeof(h));
    if (h.nlmsg_seq != sequence || h.nlmsg_len > n)
        return -EBADMSG;
    if (h.nlmsg_type == RTM_NEWROUTE && h.nlmsg_len >= sizeof(h) + sizeof(route)) {
        memcpy(&route, data + sizeof(h), sizeof(route));
        return route.rtm_type == RTN_LOCAL || route.rtm_type == RTN_ANYCAST;
    }
    if (h.nlmsg_type != NLMSG_ERROR || h.nlmsg_len < sizeof(h) + sizeof(error))
        return -EBADMSG;
    memcpy(&error, data + sizeof(h), sizeof(error));
    /* no route, or a prohibited one */
    bool elsewhere =
        error == -ENETUNREACH || error == -EHOSTUNREACH || error == -EACCES || error == -EINVAL;
    return elsewhere ? 0 : error ? error : -EBADMSG;
}

static int ask_kernel(struct own_address *o, const uint8_t addr[16])
{
    struct netlink b;
    uint8_t answer[2048];
    if (o->fd < 0)
        o->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (o->fd < 0)
        return -errno;
    b.n = b.message = b.acks_due = 0;
    b.full = false;
    b.sequence = o->sequence;
    write_question(&b, addr);
    o->sequence = b.sequence;
    if (send(o->fd, b.bytes, b.n, 0) != (ssize_t)b.n)
        return -errno;
    /* the kernel answers before send() returns */
    ssize_t n = recv(o->fd, answer, sizeof(answer), MSG_DONTWAIT);
    return n < 0 ? -errno : read_answer(answer, (size_t)n, o->sequence);
}

static int compare_all(const uint8_t addr[16])
{
    struct ifaddrs *list = NULL;
    uint8_t one[16];
    uint16_t port;
    int found = 0;
    if (getifaddrs(&list) < 0)
        return -errno;
    for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next)
        found = i->ifa_addr &&
                addr_from_sockaddr((const struct sockaddr_storage *)i->ifa_addr, one, &port) &&
                memcmp(one, addr, 16) == 0;
    freeifaddrs(list);
    return found;
}

bool own_address_has(struct own_address *o, const uint8_t addr[16])
{
    int found = ask_kernel(o, addr);
    if (found < 0) {
        own_address_free(o); /* an unread answer would be taken for the next one */
        found = compare_all(addr);
    }
    return found != 0;
}

void own_address_free(struct own_address *o)
{
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
}
