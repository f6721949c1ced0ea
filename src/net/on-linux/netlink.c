/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Builds netlink messages in one buffer and sends them in one call. Each message that sets
 * NLM_F_ACK is acknowledged; netlink_send() waits for all acknowledgements.
 */

#include "net/on-linux/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

static void add_bytes(struct netlink *b, const void *data, size_t n)
{
    size_t padded = NLMSG_ALIGN(n);
    if (padded > sizeof(b->bytes) - b->n) {
        b->full = true;
        return;
    }
    memset(b->bytes + b->n, 0, padded);
    if (n)
        memcpy(b->bytes + b->n, data, n);
    b->n += padded;
}

void netlink_begin(struct netlink *b, uint16_t type, uint16_t flags, const void *head, size_t n)
{
    struct nlmsghdr h = {
        .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | flags, .nlmsg_seq = ++b->sequence};
    b->acks_due += flags & NLM_F_ACK ? 1 : 0;
    b->message = b->n;
    add_bytes(b, &h, sizeof(h));
    add_bytes(b, head, n);
}

static void set_length(struct netlink *b, size_t at, uint32_t n, bool attribute)
{
    uint16_t small = (uint16_t)n;
    if (b->full)
        return;
    if (attribute)
        memcpy(b->bytes + at + offsetof(struct nlattr, nla_len), &small, sizeof(small));
    else
        memcpy(b->bytes + at + offsetof(struct nlmsghdr, nlmsg_len), &n, sizeof(n));
}

void netlink_end(struct netlink *b)
{
    set_length(b, b->message, (uint32_t)(b->n - b->message), false);
}

void netlink_attr(struct netlink *b, uint16_t type, const void *data, size_t n)
{
    struct nlattr a = {.nla_type = type, .nla_len = (uint16_t)(sizeof(a) + n)};
    add_bytes(b, &a, sizeof(a));
    add_bytes(b, data, n);
}

void netlink_str(struct netlink *b, uint16_t type, const char *s)
{
    netlink_attr(b, type, s, strlen(s) + 1);
}

void netlink_be32(struct netlink *b, uint16_t type, uint32_t v)
{
    v = htonl(v);
    netlink_attr(b, type, &v, sizeof(v));
}

size_t netlink_open(struct netlink *b, uint16_t type)
{
    size_t at = b->n;
    netlink_attr(b, type | NLA_F_NESTED, NULL, 0);
    return at;
}

void netlink_close(struct netlink *b, size_t at)
{
    set_length(b, at, (uint32_t)(b->n - at), true);
}

/* Reads one datagram of answers. Returns the number of acknowledgements, or the first error. */
static int count_answers(const uint8_t *data, size_t n)
{
    int answers = 0;
    for (size_t at = 0; n - at >= sizeof(struct nlmsghdr);) {
        struct nlmsghdr h;
        int32_t error;
        memcpy(&h, data + at, sizeof(h));
        if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > n - at)
            return -EBADMSG;
        if (h.nlmsg_type == NLMSG_ERROR) {
            if (h.nlmsg_len < sizeof(h) + sizeof(error))
                return -EBADMSG;
            memcpy(&error, data + at + sizeof(h), sizeof(error));
            if (error)
                return error;
            answers++;
        }
        at += NLMSG_ALIGN(h.nlmsg_len) < n - at ? NLMSG_ALIGN(h.nlmsg_len) : n - at;
    }
    return answers;
}

int netlink_send(int fd, const struct netlink *b)
{
    uint8_t answer[NETLINK_BYTES];
    if (b->full)
        return -EMSGSIZE;
    if (send(fd, b->bytes, b->n, 0) != (ssize_t)b->n)
        return -errno;
    for (uint32_t left = b->acks_due; left > 0;) {
        ssize_t n = recv(fd, answer, sizeof(answer), 0);
        if (n < 0 && errno == EINTR)
            continue;
        int got = n < 0 ? -errno : count_answers(answer, (size_t)n);
        if (got < 0)
            return got;
        left -= (uint32_t)got < left ? (uint32_t)got : left;
    }
    return 0;
}
