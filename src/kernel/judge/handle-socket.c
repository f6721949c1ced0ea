/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Sockets. A pathname socket leads out of every namespace (the session bus, docker.sock), so Unix
 * sockets are judged by path: the judge connects and binds copies of the target's socket to a copy
 * of its address. The policy sees abstract names as "@name"; in its own network namespace, only the
 * command has any. The judge passes on other families unchanged.
 *
 * It first tries to connect without blocking, which nearly always suffices, and retries the rest
 * (waiting-calls.h). Sockets that cannot be tried so use a few threads.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/own.h"
#include "graph/net.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/handle-datagram.h"
#include "kernel/judge/handle-socket.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/kept-socket.h"
#include "kernel/judge/own-socket.h"
#include "kernel/judge/pidfd-cache.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/target.h"
#include "kernel/judge/waiting-calls.h"
#include "kernel/launch/layers.h"
#include "kernel/shared/roles.h"

/* Without pidfd_getfd(), the judge can do nothing on the target's behalf, and refuses without
 * asking. */
static void report_untaken(struct judge *j, const struct request *r, const union address *to)
{
    enum vocab_op op = j->handler[r->nr] == HANDLE_BIND ? OP_NETWORK_BIND : OP_NETWORK_OUTBOUND;
    bool named = to->any.sa_family == AF_UNIX && to->un.sun_path[0];
    report_refused(j, r, op, named ? to->un.sun_path : "a socket");
}

int address_copy(const struct request *r, uint64_t from, uint64_t size, union address *to,
                 socklen_t *len)
{
    if ((int64_t)size < 0 || size > sizeof(*to) - 1)
        return -EINVAL;
    *len = (socklen_t)size;
    memset(to, 0, sizeof(*to));
    return *len ? target_read(r, from, to, *len) : 0;
}

static int copy_socket_and_address(struct judge *j, const struct request *r, union address *to,
                                   socklen_t *len, int *sock, int *domain)
{
    socklen_t n = sizeof(*domain);
    int err = address_copy(r, r->args[1], r->args[2], to, len);
    if (err < 0)
        return err;
    *sock = pidfd_cache_take_fd(j, r, (int)r->args[0]);
    if (*sock == -EPERM)
        report_untaken(j, r, to);
    if (*sock < 0)
        return *sock;
    if (getsockopt(*sock, SOL_SOCKET, SO_DOMAIN, domain, &n) < 0 || !request_is_valid(j, r)) {
        err = errno == ENOTSOCK ? -ENOTSOCK : -EPERM;
        close(*sock);
        *sock = -1;
    }
    return err;
}

static bool is_pathname(const union address *a, socklen_t len)
{
    return a->any.sa_family == AF_UNIX && len > offsetof(struct sockaddr_un, sun_path) &&
           a->un.sun_path[0] != '\0';
}

/* ---- connecting ---- */

enum { CONNECTING_MAX = 16 };

struct connecting {
    struct judge *j;
    struct request r;
    int sock;
    union address to;
    socklen_t len;
};

static int connecting; /* atomic: running threads */

static void note_connected(struct judge *j, int sock, int err, const struct dialled *d)
{
    if (err == 0 || err == -EINPROGRESS) {
        kept_socket_release(&j->net.kept, sock);
        dial_announce(j, sock, d);
    }
}

/* The timer interrupts connect(): then checks whether the target still waits, and has no signal. */
static void *connect_thread(void *arg)
{
    struct connecting *c = arg;
    timer_t timer;
    bool ticks = judge_interrupt_waits(c->j, &timer) == 0;
    int err = ticks ? -EINTR : -EAGAIN;
    while (err == -EINTR && request_is_valid(c->j, &c->r)) {
        err = connect(c->sock, &c->to.any, c->len) < 0 ? -errno : 0;
        if (err == -EINTR && target_is_interrupted(c->j, &c->r))
            break;
    }
    if (ticks)
        timer_delete(timer);
    if (err == 0 || err == -EINPROGRESS)
        kept_socket_release(&c->j->net.kept, c->sock);
    judge_send(c->j->listener, c->r.id, err);
    close(c->sock);
    free(c);
    __atomic_sub_fetch(&connecting, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* Takes over sock. If all threads are busy, fails: waiting would mean to wait for other processes.
 */
static struct answer connect_in_thread(struct judge *j, const struct request *r, int sock,
                                       const union address *to, socklen_t len)
{
    pthread_t thread;
    OWN(fd) int own = sock;
    if (__atomic_load_n(&connecting, __ATOMIC_SEQ_CST) >= CONNECTING_MAX)
        return answer_errno(EAGAIN);
    struct connecting *c = malloc(sizeof(*c));
    if (!c)
        return answer_errno(ENOMEM);
    *c = (struct connecting){j, *r, own, *to, len};
    __atomic_add_fetch(&connecting, 1, __ATOMIC_SEQ_CST);
    if (pthread_create(&thread, NULL, connect_thread, c) != 0) {
        __atomic_sub_fetch(&connecting, 1, __ATOMIC_SEQ_CST);
        free(c);
        return answer_errno(EAGAIN);
    }
    pthread_detach(thread);
    (void)steal_fd(&own);
    return (struct answer){.sent = true};
}

static int type_of(int sock)
{
    int type = 0;
    socklen_t n = sizeof(type);
    return getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &n) < 0 ? -1 : type;
}

bool is_unix_datagram(int sock)
{
    int domain = 0;
    socklen_t n = sizeof(domain);
    return getsockopt(sock, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && domain == AF_UNIX &&
           type_of(sock) == SOCK_DGRAM;
}

/* On loopback it takes no time, but a second call to find out. O_NONBLOCK also affects the target's
 * copy, but no other thread can use that before it is connected. */
int socket_connect_at_once(int sock, const union address *to, socklen_t len)
{
    int flags = fcntl(sock, F_GETFL);
    if (flags < 0)
        return -errno;
    if (flags & O_NONBLOCK)
        return connect(sock, &to->any, len) < 0 ? -errno : 0;
    if (fcntl(sock, F_SETFL, flags | O_NONBLOCK) < 0)
        return -errno;
    struct pollfd p = {sock, POLLOUT, 0};
    int err = connect(sock, &to->any, len) < 0 ? -errno : 0;
    if (err == -EINPROGRESS && poll(&p, 1, 0) > 0)
        err = connect(sock, &to->any, len) < 0 ? -errno : 0;
    fcntl(sock, F_SETFL, flags);
    return err;
}

static bool must_wait(int sock, int err)
{
    bool under_way = err == -EINPROGRESS || err == -EALREADY || err == -EAGAIN;
    return err == -EINTR || (under_way && !(fcntl(sock, F_GETFL) & O_NONBLOCK));
}

/* Takes over sock. Announces a connection in progress to the gate; a kept socket stays kept until
 * it is connected. */
static struct answer connect_later(struct judge *j, const struct request *r, int sock, int err,
                                   const struct dialled *d)
{
    OWN(fd) int own = sock;
    if (err == -EINPROGRESS)
        dial_announce(j, own, d);
    return wait_again(j, r, own, err == -EALREADY ? EINPROGRESS : -err, EAGAIN);
}

/* Families that support connecting without blocking. */
static bool connects_without_blocking(int domain)
{
    return domain == AF_INET || domain == AF_INET6 || domain == AF_UNIX;
}

/* Takes over sock. */
static struct answer connect_now(struct judge *j, const struct request *r, int sock, int domain,
                                 const union address *to, socklen_t len, struct dialled *d)
{
    int type = type_of(sock);
    bool datagrams = type == SOCK_DGRAM;
    if (!datagrams && !connects_without_blocking(domain))
        return connect_in_thread(j, r, sock, to, len);
    if (datagrams && to->any.sa_family == AF_UNIX && domain == AF_UNIX)
        return datagram_connect(j, r, sock, to, len);
    bool loopback = j->net.own_ns && type == SOCK_STREAM && domain != AF_UNIX;
    int err = datagrams                          ? connect(sock, &to->any, len) < 0 ? -errno : 0
              : loopback && loopback_is(to, len) ? loopback_connect(j, r, sock, to, len, d)
                                                 : socket_connect_at_once(sock, to, len);
    if (!datagrams && must_wait(sock, err))
        return connect_later(j, r, sock, err, d);
    if (!datagrams)
        note_connected(j, sock, err, d);
    close(sock);
    return answer_value(err);
}

/* Pins the socket file that the path names and asks about its canonical path. *to becomes an
 * address that leads to the pin. */
static int ask_path_peer(struct judge *j, const struct request *r, union address *to,
                         socklen_t *len, struct pinned *p)
{
    size_t n = strnlen(to->un.sun_path, *len - offsetof(struct sockaddr_un, sun_path));
    int err = pin_object_copied(j, r, to->un.sun_path, n, p);
    bool own =
        err == 0 && (own_socket_is(&j->net.own, p->fd) ||
                     (j->layers && layers_has_bound(j->layers, p->path, p->path_len, p->fd)));
    if (err == 0)
        err = ask_unix(j, r, OP_NETWORK_OUTBOUND, p->path, p->path_len, own);
    if (err < 0)
        return err;
    int below = j->layers && !own ? layers_open_socket(j->layers, p->path, p->path_len) : -1;
    if (below >= 0) {
        close(p->fd);
        p->fd = below;
    }
    /* a process outside may pass datagram sockets in */
    j->net.datagrams |= !own;
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)snprintf(to->un.sun_path, sizeof(to->un.sun_path), "self/fd/%d",
                                        p->fd));
    return 0;
}

/* Asks about an abstract name, shown as @name. */
static int ask_abstract(struct judge *j, const struct request *r, enum vocab_op op,
                        const union address *to, socklen_t len)
{
    size_t n = len - offsetof(struct sockaddr_un, sun_path);
    char *shown = j->canonical[0];
    memcpy(shown, to->un.sun_path, n);
    shown[0] = '@';
    shown[n] = '\0';
    /* A process that binds or reaches the control socket of this or another run could impersonate
     * the user. An inherited socket leads to names outside, even with our own network namespace. */
    if (control_socket_is_name(shown + 1, n - 1) && (op == OP_NETWORK_OUTBOUND || !j->net.own_ns)) {
        report_refused(j, r, op, shown);
        return -EPERM;
    }
    j->net.datagrams |= !j->net.own_ns;
    return ask_unix(j, r, op, shown, n, j->net.own_ns);
}

int ask_peer(struct judge *j, const struct request *r, union address *to, socklen_t *len,
             struct pinned *p)
{
    if (is_pathname(to, *len))
        return ask_path_peer(j, r, to, len, p);
    if (to->any.sa_family == AF_UNIX && *len > offsetof(struct sockaddr_un, sun_path))
        return ask_abstract(j, r, OP_NETWORK_OUTBOUND, to, *len);
    return 0;
}

struct answer handle_connect(struct judge *j, const struct request *r)
{
    union address to;
    socklen_t len;
    OWN(fd) int sock = -1;
    OWN(pinned) struct pinned p = {.fd = -1, .parent = -1};
    int domain = 0, err = copy_socket_and_address(j, r, &to, &len, &sock, &domain);
    struct dialled d = {.announced = false};
    if (err == 0 && domain == AF_UNIX)
        err = ask_peer(j, r, &to, &len, &p);
    else if (err == 0 && j->net.dials && domain != AF_NETLINK)
        err = dial_redirect(j, r, sock, &to, &len, &d);
    else if (err == 0 && j->net.isolated)
        err = dial_ask_isolated(j, r, type_of(sock) == SOCK_STREAM ? NET_TCP : NET_UDP, &to, len);
    return err < 0 ? answer_value(err) : connect_now(j, r, steal_fd(&sock), domain, &to, len, &d);
}

/* ---- binding ---- */

/* Servers pass on what getsockname() returns (Python's multiprocessing does). So a bare name stays
 * as it is. Any other path becomes the canonical path, which means the same to all processes, if it
 * is short enough; nothing in the sandbox can change it before this thread uses it. Otherwise only
 * the bare name is left. */
static int address_of(const struct pinned *p, bool bare, union address *to, socklen_t *len)
{
    size_t cap = sizeof(to->un.sun_path), n = strlen(p->name);
    bool fits = !bare && p->path[0] == '/' && p->path_len < cap;
    if (bare)
        return 0;
    if (!fits && n >= cap)
        return -ENAMETOOLONG;
    n = fits ? p->path_len : n;
    memcpy(to->un.sun_path, fits ? p->path : p->name, n);
    to->un.sun_path[n] = '\0';
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
    return 0;
}

static int ask_path_bind(struct judge *j, const struct request *r, union address *to,
                         socklen_t *len, struct pinned *p)
{
    size_t n = strnlen(to->un.sun_path, *len - offsetof(struct sockaddr_un, sun_path));
    size_t dot = n > 2 && memcmp(to->un.sun_path, "./", 2) == 0 ? 2 : 0;
    bool bare = !memchr(to->un.sun_path + dot, '/', n - dot);
    int err = pin_parent_copied(j, r, to->un.sun_path, n, p);
    if (err == 0 && p->found)
        err = -EADDRINUSE;
    if (err == 0)
        err = ask_create(j, r, p, S_IFSOCK);
    if (err == 0)
        err = ask_unix(j, r, OP_NETWORK_BIND, p->path, p->path_len, true);
    if (err == 0)
        err = judge_take_umask(j, r);
    return err < 0 ? err : address_of(p, bare, to, len);
}

static int ask_bind(struct judge *j, const struct request *r, union address *to, socklen_t *len,
                    struct pinned *p)
{
    if (is_pathname(to, *len))
        return ask_path_bind(j, r, to, len, p);
    if (*len > offsetof(struct sockaddr_un, sun_path))
        return ask_abstract(j, r, OP_NETWORK_BIND, to, *len);
    return 0;
}

/* The kernel looks up a bare name in the working directory, so makes the folder that for a moment.
 */
static int bind_in(const struct judge *j, int folder, int sock, const union address *to,
                   socklen_t len)
{
    if (folder >= 0 && fchdir(folder) < 0)
        return -errno;
    int err = bind(sock, &to->any, len) < 0 ? -errno : 0;
    if (folder >= 0 && fchdir(j->proc) < 0)
        abort(); /* paths of pins would be looked up in a folder of the target */
    return err;
}

struct answer handle_bind(struct judge *j, const struct request *r)
{
    union address to;
    socklen_t len;
    OWN(fd) int sock = -1;
    OWN(pinned) struct pinned p = {.fd = -1, .parent = -1};
    int domain = 0, err = copy_socket_and_address(j, r, &to, &len, &sock, &domain);
    if (err == 0 && domain == AF_UNIX)
        err = ask_bind(j, r, &to, &len, &p);
    else if (err == 0 && j->net.dials && domain != AF_NETLINK)
        err = dial_ask_bind(j, r, &to);
    if (err == 0 && p.parent >= 0 && is_unix_datagram(sock))
        err = datagram_bind(j, &p, sock, &to, len, bind_in);
    else if (err == 0)
        err = bind_in(j, p.parent, sock, &to, len);
    /* a process outside may have moved the folder meanwhile; then the socket is not ours */
    if (err == 0 && p.parent >= 0)
        err = own_socket_add(&j->net.own, p.parent, p.name);
    return answer_value(err);
}
