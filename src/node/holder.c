/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The holder does so little that there is hardly a reason for it to fail. An agent that connects
 * gets all sets; from then on it adds and removes. When the connection ends, the agent has, and a
 * time begins. An agent that connects in time goes on. After it, everything is closed: the calls of
 * containers fail then, instead of waiting for good.
 */

#include "node/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "kernel/shared/fd-pass.h"

struct holder {
    int listener, agent; /* agent: its connection, or -1 */
    struct kept *sets;
    size_t n, cap;
    uint64_t until; /* without an agent */
};

int holder_address(const char *socket, char out[108], struct bk_err *err)
{
    if (snprintf(out, 108, "%s.hold", socket) >= 108)
        return err_set(err, BK_E_INPUT, "the name of the socket %.60s… is too long", socket);
    return 0;
}

/* ---- sets ---- */

static void close_set(struct kept *s)
{
    for (size_t i = 0; i < s->n; i++)
        close(s->fds[i]);
    s->n = 0;
}

static void drop(struct holder *h, const char *name)
{
    for (size_t i = 0; i < h->n; i++) {
        if (strcmp(h->sets[i].name, name) != 0)
            continue;
        close_set(&h->sets[i]);
        h->sets[i] = h->sets[--h->n];
        return;
    }
}

static void add(struct holder *h, struct kept *s)
{
    drop(h, s->name);
    if (h->n == h->cap) {
        size_t cap = h->cap ? h->cap * 2 : 64;
        struct kept *more = reallocarray(h->sets, cap, sizeof(*more));
        if (!more) {
            close_set(s);
            return;
        }
        h->sets = more;
        h->cap = cap;
    }
    h->sets[h->n++] = *s;
}

static void drop_all(struct holder *h)
{
    while (h->n)
        close_set(&h->sets[--h->n]);
}

/* ---- agents ---- */

static void agent_gone(struct holder *h, unsigned wait)
{
    close(h->agent);
    h->agent = -1;
    h->until = now_ms() + wait * 1000ull;
}

static void on_message(struct holder *h, unsigned wait)
{
    struct hold_message m;
    struct kept s = {0};
    ssize_t n = fd_pass_poll_many(h->agent, &m, sizeof(m), s.fds, KEEP_FDS, &s.n);
    if (n == -EAGAIN)
        return;
    if (n != (ssize_t)sizeof(m) || memchr(m.name, '\0', sizeof(m.name)) == NULL) {
        close_set(&s);
        agent_gone(h, wait);
        return;
    }
    memcpy(s.name, m.name, sizeof(s.name));
    if (m.op == HOLD_KEEP && s.n) {
        add(h, &s);
        return;
    }
    close_set(&s);
    if (m.op == HOLD_DROP)
        drop(h, m.name);
}

static int send_all(const struct holder *h, int to)
{
    struct hold_message m = {.op = HOLD_KEEP};
    for (size_t i = 0; i < h->n; i++) {
        memcpy(m.name, h->sets[i].name, sizeof(m.name));
        if (fd_pass_send_many(to, &m, sizeof(m), h->sets[i].fds, h->sets[i].n) < 0)
            return -1;
    }
    m = (struct hold_message){.op = HOLD_END};
    return fd_pass_send(to, &m, sizeof(m), -1);
}

static void on_connect(struct holder *h)
{
    static const struct hold_message busy = {.op = HOLD_BUSY};
    struct ucred peer;
    socklen_t len = sizeof(peer);
    OWN(fd) int fd = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
        (peer.uid != 0 && peer.uid != geteuid()))
        return;
    if (h->agent >= 0)
        fd_pass_send(fd, &busy, sizeof(busy), -1);
    else if (send_all(h, fd) == 0)
        h->agent = steal_fd(&fd);
}

static int time_left(const struct holder *h)
{
    uint64_t now = now_ms();
    return h->agent >= 0 ? -1 : h->until > now ? (int)(h->until - now) : 0;
}

static void hold(struct holder *h, unsigned wait, bool stay)
{
    h->until = now_ms() + wait * 1000ull;
    for (;;) {
        struct pollfd p[] = {{h->agent, POLLIN, 0}, {h->listener, POLLIN, 0}};
        bool idle = h->agent < 0 && stay && !h->n;
        int n = poll(p, 2, idle ? -1 : time_left(h));
        if (n > 0 && p[0].revents)
            on_message(h, wait);
        if (n > 0 && p[1].revents && !(p[0].revents & POLLIN))
            on_connect(h);
        if (h->agent < 0 && !stay && !h->n && n > 0 && p[0].revents)
            return; /* the agent has ended, and left nothing */
        if (h->agent < 0 && n == 0 && time_left(h) == 0) {
            drop_all(h);
            if (!stay)
                return;
        }
    }
}

/* ---- the start ---- */

static int listen_at(const struct sockaddr_un *at)
{
    OWN(fd) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    mode_t before = umask(0177);
    bool good =
        fd >= 0 && bind(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 && listen(fd, 8) == 0;
    umask(before);
    return good ? steal_fd(&fd) : -1;
}

static int open_listener(const char *socket, struct sockaddr_un *at, struct bk_err *err)
{
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    struct stat st;
    if (holder_address(socket, at->sun_path, err) < 0)
        return -1;
    if (lstat(at->sun_path, &st) == 0 && S_ISSOCK(st.st_mode))
        unlink(at->sun_path);
    int fd = listen_at(at);
    return fd < 0 ? err_sys(err, "cannot listen at %s", at->sun_path) : fd;
}

static void __attribute__((noreturn)) be_holder(int listener, const char *path, unsigned wait)
{
    struct holder h = {.listener = 3, .agent = -1};
    sigset_t none;
    setsid();
    prctl(PR_SET_NAME, "buckle-holder", 0, 0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_IGN);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2 && null >= 0;
         fd++) /* readers wait for the end of the agent's output */
        dup2(null, fd);
    dup2(listener, 3);
    syscall(SYS_close_range, 4u, ~0u, 0);
    hold(&h, wait, false);
    unlink(path);
    _exit(0);
}

/* Twice, so that it is no child of the agent's. */
static int start_holder(const char *socket, unsigned wait, struct bk_err *err)
{
    struct sockaddr_un at;
    OWN(fd) int fd = open_listener(socket, &at, err);
    if (fd < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        pid = fork();
        if (pid == 0)
            be_holder(fd, at.sun_path, wait);
        _exit(pid < 0);
    }
    int status = 1;
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
        return err_sys(err, "cannot start the holder");
    return 0;
}

static int try_connect(const struct sockaddr_un *at)
{
    OWN(fd) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 ? steal_fd(&fd)
                                                                                 : -1;
}

int holder_connect(const char *socket, unsigned wait, struct bk_err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (holder_address(socket, at.sun_path, err) < 0)
        return -1;
    int fd = try_connect(&at);
    if (fd >= 0)
        return fd;
    if (start_holder(socket, wait, err) < 0)
        return -1;
    fd = try_connect(&at);
    return fd < 0 ? err_sys(err, "cannot connect to the holder at %s", at.sun_path) : fd;
}

int holder_serve(const char *socket, unsigned wait, bool stay, struct bk_err *err)
{
    struct sockaddr_un at;
    struct holder h = {.agent = -1, .listener = open_listener(socket, &at, err)};
    if (h.listener < 0)
        return -1;
    signal(SIGPIPE, SIG_IGN);
    hold(&h, wait, stay);
    unlink(at.sun_path);
    return 0;
}
