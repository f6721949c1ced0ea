/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Connections of runtimes. Each sends one message with descriptors; a runtime closes the connection
 * then, and waits for no answer. A connection that sends too much, too many descriptors, or nothing
 * for too long is closed, and so are its descriptors: then the container cannot start.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "kernel/shared/fd-pass.h"
#include "node/agent-int.h"

static void end(struct agent *a, struct connection *c)
{
    agent_forget(a, &c->in);
    for (size_t i = 0; i < c->nfds; i++)
        if (c->fds[i] >= 0)
            close(c->fds[i]);
    free(c->text);
    c->text = NULL;
    c->n = c->nfds = 0;
    c->toomany = false;
}

static bool is_listener(int fd)
{
    static const char is[] = "anon_inode:seccomp notify";
    char name[32], what[64];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, what, sizeof(what));
    return n == sizeof(is) - 1 && memcmp(what, is, sizeof(is) - 1) == 0;
}

static void complete(struct agent *a, struct connection *c, const struct state *s)
{
    if (c->toomany || c->nfds != s->nfds) {
        container_refuse(a, s, "the runtime sent another number of descriptors than it says");
    } else if (!is_listener(c->fds[s->seccomp])) {
        container_refuse(a, s, "seccompFd is no seccomp listener");
    } else {
        int listener = c->fds[s->seccomp];
        c->fds[s->seccomp] = -1;
        container_begin(a, s, listener);
    }
    end(a, c);
}

/* Keeps the descriptors that came with some bytes. */
static void keep(struct connection *c, const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (c->nfds < STATE_FDS) {
            c->fds[c->nfds++] = fds[i];
            continue;
        }
        close(fds[i]);
        c->toomany = true;
    }
}

static void on_bytes(struct agent *a, struct source *in)
{
    struct connection *c = in->owner;
    struct state s;
    struct bk_err err;
    int fds[FD_PASS_MANY];
    size_t nfds;
    if (!c->text && !(c->text = malloc(STATE_BYTES))) {
        end(a, c);
        return;
    }
    ssize_t n =
        fd_pass_poll_many(in->fd, c->text + c->n, STATE_BYTES - c->n, fds, FD_PASS_MANY, &nfds);
    if (n == -EAGAIN)
        return;
    keep(c, fds, nfds);
    c->n += n > 0 ? (size_t)n : 0;
    int got = n > 0 || c->n ? state_parse(c->text, c->n, &s, &err) : 1;
    if (got == 0) {
        complete(a, c, &s);
    } else if (got < 0) {
        container_refuse(a, NULL, err.msg);
        end(a, c);
    } else if (n <= 0 || c->n == STATE_BYTES) {
        container_refuse(a, NULL,
                         n > 0 ? "the runtime's message is too long"
                               : "the runtime's message ends too early");
        end(a, c);
    }
}

/* Only root's runtimes, and our own user's. */
static bool is_trusted(int fd)
{
    struct ucred peer;
    socklen_t n = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

static void on_connect(struct agent *a, struct source *in)
{
    OWN(fd) int fd = accept4(in->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0 || !is_trusted(fd))
        return;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct connection *c = &a->connections[i];
        if (c->in.fd >= 0)
            continue;
        c->in = (struct source){steal_fd(&fd), on_bytes, c};
        c->until = now_ms() + CONNECTION_MS;
        if (agent_watch(a, &c->in) < 0)
            end(a, c);
        return;
    }
    container_refuse(a, NULL, "too many runtimes are connected at once");
}

int connections_expire(struct agent *a)
{
    uint64_t now = now_ms(), next = UINT64_MAX;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct connection *c = &a->connections[i];
        if (c->in.fd < 0)
            continue;
        if (c->until <= now) {
            container_refuse(a, NULL, "the runtime sent no complete message in time");
            end(a, c);
        } else if (c->until < next) {
            next = c->until;
        }
    }
    return next == UINT64_MAX ? -1 : (int)(next - now);
}

/* A socket that nobody listens at is an agent's that was killed. */
static int clear_place(const char *path, const struct sockaddr_un *at, struct bk_err *err)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : err_sys(err, "%s", path);
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, BK_E_INPUT, "%s exists and is no socket", path);
    OWN(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0)
        return err_set(err, BK_E_INPUT, "another agent listens at %s", path);
    return unlink(path) < 0 ? err_sys(err, "%s", path) : 0;
}

/* A socket at the same address that an agent before us kept, or that systemd listens at. */
static int kept_listener(struct agent *a, const struct sockaddr_un *at)
{
    struct stat st;
    for (size_t i = 0; i < a->keep.nsets; i++) {
        struct kept *set = &a->keep.sets[i];
        struct sockaddr_un its = {0};
        socklen_t n = sizeof(its), len = sizeof(int);
        int listens = 0;
        if (set->n == 1 && set->fds[0] >= 0 &&
            getsockopt(set->fds[0], SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens &&
            getsockname(set->fds[0], (struct sockaddr *)&its, &n) == 0 &&
            strcmp(its.sun_path, at->sun_path) == 0 && lstat(at->sun_path, &st) == 0)
            return steal_fd(&set->fds[0]);
    }
    return -1;
}

static int new_listener(const struct sockaddr_un *at, struct bk_err *err)
{
    if (clear_place(at->sun_path, at, err) < 0)
        return -1;
    OWN(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    mode_t before = umask(0177);
    bool bound =
        fd >= 0 && bind(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 && listen(fd, 128) == 0;
    umask(before);
    return bound ? steal_fd(&fd) : err_sys(err, "cannot listen at %s", at->sun_path);
}

int connections_listen(struct agent *a, struct bk_err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    for (size_t i = 0; i < CONNECTIONS; i++)
        a->connections[i].in.fd = -1;
    if (strlen(a->o->socket) >= sizeof(at.sun_path))
        return err_set(err, BK_E_INPUT, "the name of the socket %.60s… is too long", a->o->socket);
    strcpy(at.sun_path, a->o->socket);
    int fd = kept_listener(a, &at);
    bool kept = fd >= 0;
    if (!kept)
        fd = new_listener(&at, err);
    if (fd < 0)
        return -1;
    a->listener = (struct source){fd, on_connect, NULL};
    if (!kept)
        keep_store(&a->keep, "socket", &fd, 1);
    return agent_watch(a, &a->listener) == 0 ? 0 : err_sys(err, "cannot listen at %s", at.sun_path);
}
