/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Three paths over HTTP, in the agent's loop. One answer for each connection, which then closes.
 *
 * Nobody can hold the agent up. A request's head has at most STATUS_HEAD bytes and STATUS_MS to
 * arrive. An answer is smaller than a socket's buffer, so one send() takes it; if it does not, the
 * connection ends. There are STATUS_SLOTS connections, and a new one ends the oldest: those that
 * keep a connection open without asking lose it to those that ask.
 *
 * The gate's reader of requests reads them, because it is strict and has been fuzzed.
 */

#include "node/status-port.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "graph/peer.h"
#include "net/http.h"
#include "node/agent-int.h"
#include "node/metrics.h"

enum { STATUS_SLOTS = 16, STATUS_HEAD = 4096, STATUS_MS = 2000 };

struct asker {
    struct source in;
    uint64_t until;
    size_t n;
    char head[STATUS_HEAD];
};

static struct source listener = {.fd = -1}; /* a process has only one agent */
static struct asker askers[STATUS_SLOTS];

/* ---- answers ---- */

static void reply(int fd, const char *status, const char *type, const struct buf *body)
{
    OWN(buf) struct buf out = {0};
    buf_fmt(&out,
            "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
            "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n",
            status, type, body->n);
    if (strncmp(status, "405", 3) == 0)
        buf_str(&out, "Allow: GET\r\n");
    buf_str(&out, "\r\n");
    buf_add(&out, body->s ? body->s : "", body->n);
    if (buf_ok(&out))
        (void)!send(fd, out.s, out.n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void reply_text(int fd, const char *status, const char *text)
{
    OWN(buf) struct buf body = {0};
    buf_fmt(&body, "%s\n", text);
    reply(fd, status, "text/plain; charset=utf-8", &body);
}

static void reply_metrics(const struct agent *a, int fd)
{
    OWN(buf) struct buf body = {0};
    struct metrics m = {.denied = a->denied,
                        .started = a->started,
                        .ended = a->ended,
                        .refused = a->refused,
                        .restarts = a->restarts,
                        .skipped = a->skipped,
                        .lost = a->lost,
                        .spent_ns = a->spent_ns};
    memcpy(m.took, a->took, sizeof(m.took)); /* of those that have ended */
    for (const struct node_container *c = a->first; c; c = c->next) {
        m.running += c->fds.record->told;
        metrics_add_book(&m, c->fds.book);
    }
    metrics_text(&m, &body);
    reply(fd, "200 OK", "text/plain; version=0.0.4; charset=utf-8", &body);
}

/* Why a container could not start now, or NULL. */
static const char *not_ready(const struct agent *a)
{
    struct stat st;
    if (a->stop)
        return "the agent stops";
    if (lstat(a->o->socket, &st) < 0 || !S_ISSOCK(st.st_mode))
        return "the socket for runtimes is gone";
    if (fstatat(a->profiles.folder, ".", &st, 0) < 0 || st.st_nlink == 0)
        return "the folder of profiles is gone";
    return NULL;
}

static void reply_health(const struct agent *a, int fd)
{
    (void)a; /* that the loop answers is the answer */
    reply_text(fd, "200 OK", "ok");
}

static void reply_ready(const struct agent *a, int fd)
{
    const char *why = not_ready(a);
    reply_text(fd, why ? "503 Service Unavailable" : "200 OK", why ? why : "ready");
}

static const struct {
    const char *path;
    void (*reply)(const struct agent *a, int fd);
} paths[] = {{"/metrics", reply_metrics}, {"/healthz", reply_health}, {"/readyz", reply_ready}};

static bool is(struct slice s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.s, text, s.n) == 0;
}

static void answer(const struct agent *a, int fd, const struct http_head *h)
{
    struct slice path = h->path;
    const char *query = memchr(path.s, '?', path.n);
    path.n = query ? (size_t)(query - path.s) : path.n;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (h->form != HTTP_ORIGIN || !is(path, paths[i].path))
            continue;
        if (is(h->method, "GET"))
            paths[i].reply(a, fd);
        else
            reply_text(fd, "405 Method Not Allowed", "only GET");
        return;
    }
    reply_text(fd, "404 Not Found", "there are /metrics, /healthz and /readyz");
}

/* ---- connections ---- */

static void on_bytes(struct agent *a, struct source *s)
{
    static struct http_head head;
    struct asker *k = s->owner;
    ssize_t n = recv(s->fd, k->head + k->n, STATUS_HEAD - k->n, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    k->n += n > 0 ? (size_t)n : 0;
    enum http_result got = n > 0 ? http_head_read(k->head, k->n, &head) : HTTP_BAD;
    if (got == HTTP_MORE && k->n < STATUS_HEAD)
        return;
    if (got == HTTP_FOUND)
        answer(a, s->fd, &head);
    else if (n > 0)
        reply_text(s->fd, "400 Bad Request", got == HTTP_BAD ? "bad request" : "too long");
    agent_forget(a, s);
}

static struct asker *free_slot(struct agent *a)
{
    struct asker *oldest = &askers[0];
    for (size_t i = 0; i < STATUS_SLOTS; i++) {
        if (askers[i].in.fd < 0)
            return &askers[i];
        if (askers[i].until < oldest->until)
            oldest = &askers[i];
    }
    agent_forget(a, &oldest->in);
    return oldest;
}

static void on_connect(struct agent *a, struct source *s)
{
    OWN(fd) int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct asker *k = free_slot(a);
    k->in = (struct source){steal_fd(&fd), on_bytes, k};
    k->until = now_ms() + STATUS_MS;
    k->n = 0;
    if (agent_watch(a, &k->in) < 0)
        agent_forget(a, &k->in);
}

int status_expire(struct agent *a)
{
    uint64_t now = now_ms(), next = UINT64_MAX;
    for (size_t i = 0; listener.fd >= 0 && i < STATUS_SLOTS; i++) {
        if (askers[i].in.fd >= 0 && askers[i].until <= now)
            agent_forget(a, &askers[i].in);
        else if (askers[i].in.fd >= 0 && askers[i].until < next)
            next = askers[i].until;
    }
    return next == UINT64_MAX ? -1 : (int)(next - now);
}

/* ADDRESS:PORT; a port alone is one of 127.0.0.1. */
static int read_address(const char *text, struct sockaddr_storage *to, socklen_t *n,
                        struct bk_err *err)
{
    struct peer host;
    uint16_t port;
    char whole[64];
    snprintf(whole, sizeof(whole), "%s%.50s", strchr(text, ':') ? "" : "127.0.0.1:", text);
    if (strlen(text) > 50 || !peer_parse_authority(whole, strlen(whole), 0, &host, &port) ||
        !host.address)
        return err_set(err, BK_E_INPUT,
                       "the address of the metrics must be ADDRESS:PORT or PORT, not %.60s", text);
    *n = addr_to_sockaddr(host.addr, port, to);
    return 0;
}

int status_listen(struct agent *a, struct bk_err *err)
{
    struct sockaddr_storage at;
    socklen_t n = 0;
    for (size_t i = 0; i < STATUS_SLOTS; i++)
        askers[i].in.fd = -1;
    if (!a->o->metrics)
        return 0;
    if (read_address(a->o->metrics, &at, &n, err) < 0)
        return -1;
    listener = (struct source){socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                               on_connect, NULL};
    int on = 1;
    return listener.fd >= 0 &&
                   setsockopt(listener.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
                   bind(listener.fd, (const struct sockaddr *)&at, n) == 0 &&
                   listen(listener.fd, 64) == 0 && agent_watch(a, &listener) == 0
               ? 0
               : err_sys(err, "cannot listen at %s", a->o->metrics);
}
