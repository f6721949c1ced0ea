/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Unix datagram sockets. Every message may carry an address, which is in memory and can name any
 * socket file. So the target never gets a socket that can send:
 *
 *   socketpair()  gives a pair that keeps message boundaries and knows no addresses
 *                 (SOCK_SEQPACKET)
 *   socket()      gives a socket that is shut down for sending, for good. It can be bound, and can
 *                 receive. The judge judges messages with an address and sends them itself
 *   connect()     replaces the socket by one end of such a pair; a thread, the courier, forwards
 *                 messages between the other end and a socket connected to the judged peer
 *
 * That is why the kernel may perform sends on all other sockets: whatever takes such a socket's
 * place meanwhile cannot send to an address either. A socket that is bound to a path has a twin
 * here of the same name, so that its receivers know where to answer.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/own.h"
#include "base/proc-text.h"
#include "graph/net.h"
#include "kernel/judge/handle-datagram.h"
#include "kernel/judge/handle-socket.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/kept-socket.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/target.h"
#include "kernel/judge/waiting-calls.h"

enum {
    MESSAGE_BYTES = XATTR_BYTES, /* longest message that is forwarded */
    MESSAGE_PARTS = 64,
    MESSAGE_FDS = 253, /* the kernel's limit */
    MESSAGE_CONTROL = 4096,
    COURIERS = 64,
};

/* ---- making ---- */

/* Installs a descriptor in the target; at: its number there, or -1 for any. Returns the number or a
 * negative errno. */
static int install_fd(const struct judge *j, const struct request *r, int fd, int at, bool cloexec)
{
    struct seccomp_notif_addfd add = {.id = r->id,
                                      .flags = at >= 0 ? SECCOMP_ADDFD_FLAG_SETFD : 0,
                                      .srcfd = (uint32_t)fd,
                                      .newfd = at >= 0 ? (uint32_t)at : 0,
                                      .newfd_flags = cloexec ? O_CLOEXEC : 0};
    int got;
    do
        got = ioctl(j->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

static struct answer make_pair(const struct judge *j, const struct request *r)
{
    int flags = (int)r->args[1] & (SOCK_CLOEXEC | SOCK_NONBLOCK), ends[2], theirs[2];
    bool cloexec = flags & SOCK_CLOEXEC;
    if (r->args[2] > PF_UNIX)
        return answer_errno(EPROTONOSUPPORT);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0, ends) < 0)
        return answer_errno(errno);
    OWN(fd) int one = ends[0];
    OWN(fd) int other = ends[1];
    theirs[0] = install_fd(j, r, one, -1, cloexec);
    theirs[1] = theirs[0] < 0 ? theirs[0] : install_fd(j, r, other, -1, cloexec);
    if (theirs[1] < 0)
        return answer_value(theirs[1]);
    return answer_value(target_write(j, r, r->args[3], theirs, sizeof(theirs)));
}

static bool is_datagram(int type)
{
    return type == SOCK_DGRAM || type == SOCK_RAW; /* the same for a Unix socket */
}

static struct answer make_socket(struct judge *j, const struct request *r)
{
    enum { TYPE = 0xf };
    int domain = (int)r->args[0], type = (int)r->args[1] & TYPE;
    int flags = (int)r->args[1] & (SOCK_CLOEXEC | SOCK_NONBLOCK);
    bool datagrams = domain == AF_UNIX && is_datagram(type);
    OWN(fd) int sock = socket(domain, type | SOCK_CLOEXEC | flags, (int)r->args[2]);
    if (sock < 0 || (datagrams && shutdown(sock, SHUT_WR) < 0))
        return answer_errno(errno);
    int err = j->net.makes_sockets ? kept_socket_add(&j->net.kept, sock) : 0;
    if (err < 0)
        return answer_value(err);
    j->net.datagrams |= datagrams;
    judge_send_fd(j->listener, r->id, steal_fd(&sock), flags & SOCK_CLOEXEC);
    return (struct answer){.sent = true};
}

/* Whether a rule about the caller's command denies the network: no address matters. */
static int ask_command_network(struct judge *j, const struct request *r)
{
    struct graph_fact any = {.filter = FILTER_REMOTE,
                             .net = {.proto = NET_TCP, .host = NET_HOST_ANY, .port_hi = 65535}};
    return j->commands.now ? ask_narrowed(j, r, OP_NETWORK_OUTBOUND, &any, 1, "an Internet socket")
                           : 0;
}

struct answer handle_socket(struct judge *j, const struct request *r)
{
    enum { TYPE = 0xf };
    int domain = (int)r->args[0], type = (int)r->args[1] & TYPE;
    if (domain == AF_UNIX)
        return r->nr == SYS_socketpair ? make_pair(j, r) : make_socket(j, r);
    if (j->commands.net && (domain == AF_INET || domain == AF_INET6)) {
        if (ask_command_network(j, r) < 0)
            return answer_errno(EACCES);
        if (!j->net.dials || (!is_datagram(type) && !j->net.makes_sockets))
            return answer_continue();
    }
    if (domain == AF_NETLINK || !j->net.dials) {
        struct answer a = j->net.judged ? handle_system_socket(j, r) : answer_continue();
        return a.proceed && j->net.makes_sockets ? make_socket(j, r) : a;
    }
    /* datagrams cannot be redirected to the gate */
    return is_datagram(type) ? answer_errno(EPERM) : make_socket(j, r);
}

/* ---- twins ---- */

static ino_t inode_of(int sock)
{
    struct stat st;
    return fstat(sock, &st) < 0 ? 0 : st.st_ino;
}

/* Returns the socket that sends for one of the target's: its twin, or a nameless one. *own: to be
 * closed. */
static int sender_of(const struct judge *j, int sock, int *own)
{
    ino_t number = inode_of(sock);
    for (unsigned i = 0; i < j->twins.n && number; i++)
        if (j->twins.list[i].of == number)
            return j->twins.list[i].fd;
    *own = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return *own < 0 ? -errno : *own;
}

static void keep_twin(struct judge *j, int fd, int sock)
{
    if (j->twins.n == TWINS) { /* drop the oldest; its socket has no name any more */
        close(j->twins.list[0].fd);
        memmove(j->twins.list, j->twins.list + 1, --j->twins.n * sizeof(j->twins.list[0]));
    }
    j->twins.list[j->twins.n++] = (struct twin){fd, inode_of(sock)};
}

/* Binds the twin first; it keeps the name after its file is removed. */
int datagram_bind(struct judge *j, const struct pinned *p, int sock, const union address *to,
                  socklen_t len, bind_fn *bind_to)
{
    OWN(fd) int twin = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    union address has;
    socklen_t n = sizeof(has);
    if (twin < 0 || getsockname(sock, &has.any, &n) < 0)
        return -errno;
    if (n > offsetof(struct sockaddr_un, sun_path))
        return -EINVAL; /* already bound */
    int err = bind_to(j, p->parent, twin, to, len);
    if (err < 0)
        return err;
    if (unlinkat(p->parent, p->name, 0) < 0)
        return -errno;
    err = bind_to(j, p->parent, sock, to, len);
    if (err == 0)
        keep_twin(j, steal_fd(&twin), sock);
    return err;
}

/* ---- messages ---- */

/* A message that the judge sends. */
struct message {
    union address to;
    socklen_t to_len;
    size_t size;
    int fds[MESSAGE_FDS]; /* copied from the target, to pass on */
    size_t nfds;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(MESSAGE_FDS * sizeof(int))];
};

static void message_close(struct message *m)
{
    while (m->nfds)
        close(m->fds[--m->nfds]);
}

/* The parts of a message, as the target gave them. */
struct wanted {
    uint64_t name, name_len;
    struct iovec parts[MESSAGE_PARTS]; /* addresses in the target */
    size_t nparts;
    uint64_t control, control_len;
    int flags;
    uint64_t count_at; /* where sendmmsg() puts the number of bytes, or 0 */
};

static int read_wanted(const struct request *r, struct wanted *x)
{
    struct msghdr m;
    memset(x, 0, sizeof(*x));
    if (r->nr == SYS_sendto) {
        x->name = r->args[4];
        x->name_len = r->args[5];
        x->parts[0] = (struct iovec){(void *)(uintptr_t)r->args[1], r->args[2]};
        x->nparts = 1;
        x->flags = (int)r->args[3];
        return 0;
    }
    x->flags = (int)r->args[r->nr == SYS_sendmmsg ? 3 : 2];
    x->count_at = r->nr == SYS_sendmmsg ? r->args[1] + offsetof(struct mmsghdr, msg_len) : 0;
    int err = target_read(r, r->args[1], &m, sizeof(m));
    if (err < 0)
        return err;
    if (m.msg_iovlen > MESSAGE_PARTS)
        return -EMSGSIZE;
    x->name = (uint64_t)(uintptr_t)m.msg_name;
    x->name_len = x->name ? m.msg_namelen : 0;
    x->nparts = m.msg_iovlen;
    x->control = (uint64_t)(uintptr_t)m.msg_control;
    x->control_len = x->control ? m.msg_controllen : 0;
    size_t bytes = x->nparts * sizeof(x->parts[0]);
    return bytes ? target_read(r, (uint64_t)(uintptr_t)m.msg_iov, x->parts, bytes) : 0;
}

static int read_bytes(struct judge *j, const struct request *r, const struct wanted *x,
                      struct message *m)
{
    for (size_t i = 0; i < x->nparts; i++) {
        size_t n = x->parts[i].iov_len;
        if (n > MESSAGE_BYTES - m->size)
            return -EMSGSIZE;
        int err =
            n ? target_read(r, (uint64_t)(uintptr_t)x->parts[i].iov_base, j->value + m->size, n)
              : 0;
        if (err < 0)
            return err;
        m->size += n;
    }
    return 0;
}

/* Copies passed descriptors. Leaves out SCM_CREDENTIALS, because the judge is the sender. */
static int read_control(struct judge *j, const struct request *r, const struct wanted *x,
                        struct message *m)
{
    char *at = j->path[0]; /* larger than MESSAGE_CONTROL */
    size_t left = x->control_len;
    if (left == 0)
        return 0;
    if (left > MESSAGE_CONTROL)
        return -ENOBUFS;
    int err = target_read(r, x->control, at, left), fd;
    while (err == 0 && left >= sizeof(struct cmsghdr)) {
        struct cmsghdr c;
        memcpy(&c, at, sizeof(c));
        if (c.cmsg_len < sizeof(c) || c.cmsg_len > left)
            return -EINVAL;
        bool rights = c.cmsg_level == SOL_SOCKET && c.cmsg_type == SCM_RIGHTS;
        for (size_t i = CMSG_LEN(0); rights && i + sizeof(fd) <= c.cmsg_len; i += sizeof(fd)) {
            memcpy(&fd, at + i, sizeof(fd));
            fd = m->nfds < MESSAGE_FDS ? target_take_fd(j, r, fd) : -EINVAL;
            if (fd < 0)
                return fd;
            m->fds[m->nfds++] = fd;
        }
        size_t step = CMSG_ALIGN(c.cmsg_len);
        at += step;
        left -= step < left ? step : left;
    }
    return err;
}

static struct msghdr header_of(struct message *m, struct iovec *bytes)
{
    struct msghdr h = {
        .msg_name = &m->to, .msg_namelen = m->to_len, .msg_iov = bytes, .msg_iovlen = 1};
    if (m->nfds) {
        struct cmsghdr *head = (struct cmsghdr *)m->control;
        *head = (struct cmsghdr){.cmsg_len = CMSG_LEN(m->nfds * sizeof(int)),
                                 .cmsg_level = SOL_SOCKET,
                                 .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(head), m->fds, m->nfds * sizeof(int));
        h.msg_control = &m->control;
        h.msg_controllen = CMSG_SPACE(m->nfds * sizeof(int));
    }
    return h;
}

/* ---- sending with an address ---- */

static int64_t write_count(const struct judge *j, const struct request *r, uint64_t count_at,
                           ssize_t n)
{
    uint32_t count = (uint32_t)n;
    if (n < 0 || !count_at)
        return n;
    int err = target_write(j, r, count_at, &count, sizeof(count));
    return err < 0 ? err : 1;
}

static struct answer send_from(struct judge *j, const struct request *r, int sock,
                               const struct wanted *x, struct message *m)
{
    OWN(fd) int own = -1;
    struct iovec bytes = {j->value, m->size};
    struct msghdr h = header_of(m, &bytes);
    int from = sender_of(j, sock, &own);
    if (from < 0)
        return answer_value(from);
    ssize_t n = sendmsg(from, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
    bool waits = !(x->flags & MSG_DONTWAIT) && !(fcntl(sock, F_GETFL) & O_NONBLOCK);
    if (n < 0 && errno == EAGAIN && waits)
        return wait_again(j, r, sock, EAGAIN, ENOBUFS);
    return answer_value(n < 0 ? -errno : write_count(j, r, x->count_at, n));
}

static int read_message(struct judge *j, const struct request *r, const struct wanted *x,
                        struct message *m)
{
    /* the socket cannot send by itself, so it has no known peer */
    if (x->name_len == 0)
        return -ENOTCONN;
    int err = address_copy(r, x->name, x->name_len, &m->to, &m->to_len);
    if (err == 0 && m->to.any.sa_family != AF_UNIX)
        err = -EINVAL;
    if (err == 0)
        err = read_bytes(j, r, x, m);
    if (err == 0)
        err = read_control(j, r, x, m);
    return err == 0 && !request_is_valid(j, r) ? -EPERM : err;
}

/* Asks only to report it: the kernel performs the call, which reaches no other process. */
static int ask_isolated(struct judge *j, const struct request *r)
{
    struct msghdr m = {.msg_name = (void *)(uintptr_t)r->args[4],
                       .msg_namelen = (socklen_t)r->args[5]};
    union address to;
    socklen_t len;
    if (r->nr != SYS_sendto && target_read(r, r->args[1], &m, sizeof(m)) < 0)
        return 0;
    if (!m.msg_name ||
        address_copy(r, (uint64_t)(uintptr_t)m.msg_name, m.msg_namelen, &to, &len) < 0)
        return 0;
    return dial_ask_isolated(j, r, NET_UDP, &to, len);
}

struct answer handle_send(struct judge *j, const struct request *r)
{
    static struct message message; /* large, and only one is sent at a time */
    static struct wanted x;
    bool nowhere = r->nr == SYS_sendto && r->args[4] == 0;
    bool none = r->nr == SYS_sendmmsg && r->args[2] == 0;
    int lost = j->net.isolated && !nowhere && !none ? ask_isolated(j, r) : 0;
    if (lost < 0)
        return answer_value(lost);
    if (!j->net.datagrams || nowhere || none)
        return answer_continue();
    OWN(fd) int sock = target_take_fd(j, r, (int)r->args[0]);
    if (sock == -EPERM || sock == -EISCONN)
        return answer_continue(); /* not a Unix datagram socket; what takes its place cannot send to
                                     an address either */
    if (sock < 0)
        return answer_value(sock);
    if (!is_unix_datagram(sock))
        return answer_continue();
    OWN(pinned) struct pinned p = {.fd = -1, .parent = -1};
    memset(&message, 0, offsetof(struct message, fds));
    message.nfds = 0;
    int err = read_wanted(r, &x);
    if (err == 0)
        err = read_message(j, r, &x, &message);
    if (err == 0)
        err = ask_peer(j, r, &message.to, &message.to_len, &p);
    struct answer a = err < 0 ? answer_value(err) : send_from(j, r, sock, &x, &message);
    message_close(&message);
    return a;
}

/* ---- couriers ---- */

/* Forwards messages between the target's end and its peer. */
struct courier {
    bool taken, busy; /* atomic */
    int inner;        /* the other end of the target's socket */
    int outer;        /* connected to the peer */
    int inbox;        /* the target's previous socket: answers to its name arrive there; or -1 */
};

static struct courier couriers[COURIERS];

/* One buffer for all couriers; each uses it for two calls at most. */
static char buffer[MESSAGE_BYTES];
static pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER;

static bool can_send(int to, int ms)
{
    struct pollfd p = {.fd = to, .events = POLLOUT};
    return poll(&p, 1, ms) != 0;
}

/* Waits until `to` can take a message, which stays queued meanwhile: the kernel limits how many do.
 * Returns false if it never will. */
static bool wait_until_writable(int from, int to, bool ended)
{
    char byte;
    if (can_send(to, 0))
        return true;
    if (ended && recv(from, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        return false;
    while (!can_send(to, 1000))
        ;
    return true;
}

static bool is_temporary(ssize_t put)
{
    return put < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS);
}

/* Another sender was faster. Copies the message and leaves the buffer to others. */
static ssize_t send_when_possible(int to, struct msghdr *h)
{
    struct iovec *bytes = h->msg_iov;
    OWN(mem) char *copy = malloc(bytes->iov_len + 1);
    if (copy)
        bytes->iov_base = memcpy(copy, buffer, bytes->iov_len);
    pthread_mutex_unlock(&buffer_lock);
    ssize_t put = -1;
    while (copy && is_temporary(put = sendmsg(to, h, MSG_NOSIGNAL | MSG_DONTWAIT)))
        (void)can_send(to, 1000);
    if (!copy)
        errno = ENOMEM;
    return put;
}

/* Closes the passed descriptors, sent or not. */
static void close_passed(struct msghdr *h)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c))
        for (size_t i = 0; c->cmsg_type == SCM_RIGHTS && CMSG_LEN(i + sizeof(int)) <= c->cmsg_len;
             i += sizeof(int)) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i, sizeof(fd));
            close(fd);
        }
}

/* Forwards one message with its descriptors. Returns false if one side has ended. */
static bool forward_message(int from, int to, bool ended)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(MESSAGE_FDS * sizeof(int))];
    } control;
    struct iovec bytes = {buffer, MESSAGE_BYTES};
    struct msghdr h = {.msg_iov = &bytes,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    if (!wait_until_writable(from, to, ended))
        return false;
    pthread_mutex_lock(&buffer_lock);
    ssize_t n = recvmsg(from, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC), put;
    if (n < 0 || (n == 0 && ended)) { /* an end of file, not an empty message */
        bool later = n < 0 && (errno == EAGAIN || errno == EINTR);
        pthread_mutex_unlock(&buffer_lock);
        return later;
    }
    bytes.iov_len = (size_t)n;
    h.msg_flags = 0;
    h.msg_name = NULL;
    put = sendmsg(to, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (is_temporary(put))
        put = send_when_possible(to, &h);
    else
        pthread_mutex_unlock(&buffer_lock);
    int err = put < 0 ? errno : 0;
    close_passed(&h);
    return err == 0 || err == EMSGSIZE;
}

static void *courier_thread(void *arg)
{
    struct courier *c = arg;
    struct pollfd fds[] = {{c->inner, POLLIN, 0}, {c->outer, POLLIN, 0}, {c->inbox, POLLIN, 0}};
    bool both = true;
    while (both && (poll(fds, 3, -1) >= 0 || errno == EINTR)) {
        __atomic_store_n(&c->busy, true, __ATOMIC_SEQ_CST);
        if (fds[0].revents)
            both = forward_message(c->inner, c->outer, fds[0].revents & POLLHUP);
        for (size_t i = 1; i < 3 && both; i++)
            if (fds[i].revents & (POLLIN | POLLERR))
                both = forward_message(fds[i].fd, c->inner, false);
        __atomic_store_n(&c->busy, false, __ATOMIC_SEQ_CST);
    }
    close(c->outer);
    if (c->inbox >= 0)
        close(c->inbox);
    close(c->inner);
    __atomic_store_n(&c->taken, false, __ATOMIC_RELEASE);
    return NULL;
}

/* If a thread has ended meanwhile, its descriptor number may belong to another file; then we wait
 * in vain, but briefly. */
static bool has_work(const struct courier *c)
{
    struct pollfd p = {.fd = c->inner, .events = POLLIN};
    return __atomic_load_n(&c->taken, __ATOMIC_ACQUIRE) &&
           (__atomic_load_n(&c->busy, __ATOMIC_SEQ_CST) || poll(&p, 1, 0) > 0);
}

void datagram_drain(void)
{
    enum { MOMENTS = 250 };
    for (int i = 0, waits = 1; i < MOMENTS && waits; i++) {
        waits = 0;
        for (size_t c = 0; c < COURIERS && !waits; c++)
            waits = has_work(&couriers[c]);
        if (waits)
            usleep(1000);
    }
}

static bool closes_on_exec(const struct judge *j, const struct request *r, int fd)
{
    char text[256];
    (void)proc_read(j->proc, text, sizeof(text), "%d/fdinfo/%d", r->tid, fd);
    const char *flags = proc_field(text, "\nflags:");
    return flags && (strtoul(flags, NULL, 8) & O_CLOEXEC);
}

static int start_courier(int inner, int outer, int inbox)
{
    pthread_t thread;
    struct courier *c = couriers;
    while (c < couriers + COURIERS && __atomic_load_n(&c->taken, __ATOMIC_ACQUIRE))
        c++;
    if (c == couriers + COURIERS)
        return -ENOBUFS;
    *c = (struct courier){.taken = true, .inner = inner, .outer = outer, .inbox = inbox};
    if (pthread_create(&thread, NULL, courier_thread, c) == 0)
        return pthread_detach(thread);
    c->taken = false;
    return -EAGAIN;
}

struct answer datagram_connect(struct judge *j, const struct request *r, int sock,
                               const union address *to, socklen_t len)
{
    OWN(fd) int inbox = sock;
    OWN(fd) int outer = -1;
    int ends[2], from = sender_of(j, sock, &outer), waits = fcntl(sock, F_GETFL) & O_NONBLOCK;
    if (outer < 0 && from >= 0)
        outer = fcntl(from, F_DUPFD_CLOEXEC, 3); /* a twin */
    if (outer < 0)
        return answer_errno(ENOBUFS);
    if (connect(outer, &to->any, len) < 0)
        return answer_errno(errno);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return answer_errno(ENOBUFS);
    OWN(fd) int inner = ends[0];
    OWN(fd) int theirs = ends[1];
    fcntl(theirs, F_SETFL, waits);
    int fd = (int)r->args[0], got = install_fd(j, r, theirs, fd, closes_on_exec(j, r, fd));
    int err = got < 0 ? got : start_courier(inner, outer, inbox);
    if (err == 0)
        kept_socket_release(&j->net.kept, inbox);
    if (err == 0) /* the courier owns them now */
        inner = outer = inbox = -1;
    return answer_value(err);
}
