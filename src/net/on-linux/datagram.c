/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Datagrams inside the sandbox. A reply must come from the address and port that the command sent
 * to, whichever host that stands for; so must a refusal. Raw sockets make that possible.
 */

#include "net/datagram.h"

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

#include "net/gate-int.h"

/* ---- receiving ---- */

/* Reads the original destination of a datagram. */
static bool read_destination(struct msghdr *m, struct flow_key *k)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        struct sockaddr_storage to = {0};
        bool v4 = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_ORIGDSTADDR;
        bool v6 = c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_ORIGDSTADDR;
        size_t n = v4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        if ((!v4 && !v6) || c->cmsg_len < CMSG_LEN(n))
            continue;
        memcpy(&to, CMSG_DATA(c), n);
        return addr_from_sockaddr(&to, k->to, &k->port);
    }
    return false;
}

ssize_t datagram_receive(int fd, void *data, size_t cap, struct flow_key *k)
{
    struct sockaddr_storage from;
    union {
        struct cmsghdr head;
        char room[256];
    } control;
    struct iovec iov = {data, cap};
    struct msghdr m = {.msg_name = &from,
                       .msg_namelen = sizeof(from),
                       .msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    memset(k, 0, sizeof(*k));
    ssize_t n = recvmsg(fd, &m, 0);
    if (n < 0)
        return n;
    if (!addr_from_sockaddr(&from, k->client, &k->client_port))
        k->client_port = 0;
    if (!read_destination(&m, k))
        k->port = 0;
    return n;
}

/* ---- replying ---- */

/* Sends to the client from the address that it sent to. */
static void send_inside(const struct gate *g, enum netns_socket v4_socket, const struct flow_key *k,
                        const struct iovec *iov, size_t n)
{
    bool v4 = addr_is_v4(k->client);
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
    } control = {.room = {0}};
    struct sockaddr_storage to;
    struct msghdr m = {.msg_name = &to, .msg_iov = (struct iovec *)iov, .msg_iovlen = n};
    m.msg_namelen = addr_to_sockaddr(k->client, 0, &to); /* a raw socket has no port */
    m.msg_control = &control;
    m.msg_controllen = v4 ? CMSG_SPACE(sizeof(struct in_pktinfo)) : sizeof(control);
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (v4) {
        struct in_pktinfo from = {0};
        memcpy(&from.ipi_spec_dst, k->to + 12, 4);
        *c = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(from)), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_PKTINFO};
        memcpy(CMSG_DATA(c), &from, sizeof(from));
    } else {
        struct in6_pktinfo from = {0};
        memcpy(&from.ipi6_addr, k->to, 16);
        *c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(from)),
                              .cmsg_level = IPPROTO_IPV6,
                              .cmsg_type = IPV6_PKTINFO};
        memcpy(CMSG_DATA(c), &from, sizeof(from));
    }
    sendmsg(g->o->sockets.fds[v4 ? v4_socket : v4_socket + 1], &m, MSG_NOSIGNAL);
}

/* Sends no checksum: IPv4 doesn't need one, and the kernel adds it for IPv6. */
void datagram_answer(const struct gate *g, const struct flow_key *k, const void *data, size_t n)
{
    struct udphdr head = {.uh_sport = htons(k->port),
                          .uh_dport = htons(k->client_port),
                          .uh_ulen = htons((uint16_t)(sizeof(head) + n))};
    struct iovec iov[] = {{&head, sizeof(head)}, {(void *)(uintptr_t)data, n}};
    send_inside(g, NETNS_BACK4, k, iov, 2);
}

static uint16_t checksum(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint32_t sum = 0;
    for (size_t i = 0; i + 1 < n; i += 2)
        sum += (uint32_t)(p[i] << 8 | p[i + 1]);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return htons((uint16_t)~sum);
}

/* Sends "port unreachable". It quotes the datagram's header, which the kernel uses to find the
 * sending socket. */
void datagram_refuse(const struct gate *g, const struct flow_key *k)
{
    struct udphdr udp = {.uh_sport = htons(k->client_port),
                         .uh_dport = htons(k->port),
                         .uh_ulen = htons(sizeof(udp))};
    if (addr_is_v4(k->client)) {
        struct {
            struct icmphdr icmp;
            struct iphdr ip;
            struct udphdr udp;
        } m = {.icmp = {.type = ICMP_DEST_UNREACH, .code = ICMP_PORT_UNREACH}, .udp = udp};
        m.ip = (struct iphdr){.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP};
        m.ip.tot_len = htons(sizeof(m.ip) + sizeof(m.udp));
        memcpy(&m.ip.saddr, k->client + 12, 4);
        memcpy(&m.ip.daddr, k->to + 12, 4);
        m.icmp.checksum = checksum(&m, sizeof(m));
        send_inside(g, NETNS_ICMP4, k, &(struct iovec){&m, sizeof(m)}, 1);
        return;
    }
    struct {
        struct icmp6_hdr icmp;
        struct ip6_hdr ip;
        struct udphdr udp;
    } m = {.icmp = {.icmp6_type = ICMP6_DST_UNREACH, .icmp6_code = ICMP6_DST_UNREACH_NOPORT},
           .udp = udp};
    m.ip.ip6_flow = htonl(6u << 28);
    m.ip.ip6_plen = htons(sizeof(m.udp));
    m.ip.ip6_nxt = IPPROTO_UDP;
    m.ip.ip6_hlim = 64;
    memcpy(&m.ip.ip6_src, k->client, 16);
    memcpy(&m.ip.ip6_dst, k->to, 16);
    send_inside(g, NETNS_ICMP4, k, &(struct iovec){&m, sizeof(m)}, 1);
}
