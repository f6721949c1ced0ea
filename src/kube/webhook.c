/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A process for each connection: the handshake, one request, one answer. A profile that makes its
 * reader crash or hang harms nobody else. A process has WEBHOOK_S seconds and as much of the
 * processor's time; there are WEBHOOK_CHILDREN of them, and a new connection ends the oldest, so
 * that slow clients cannot keep the API server out.
 */

#include "kube/webhook.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "graph/peer.h"
#include "kube/review.h"
#include "kube/stream.h"
#include "net/http.h"

enum { WEBHOOK_CHILDREN = 16, WEBHOOK_S = 10, HEAD_BYTES = 16 << 10 };

static volatile sig_atomic_t stop;
static pid_t children[WEBHOOK_CHILDREN]; /* the oldest first */
static size_t nchildren;

/* ---- one request ---- */

static void reply(struct stream *s, const char *status, const char *type, const char *text)
{
    OWN(buf) struct buf out = {0};
    buf_fmt(&out,
            "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
            "Connection: close\r\n\r\n%s",
            status, type, strlen(text), text);
    if (buf_ok(&out))
        (void)stream_write(s, out.s, out.n);
}

static void reply_error(struct stream *s, const char *status, const char *what)
{
    char text[400];
    snprintf(text, sizeof(text), "%.390s\n", what);
    reply(s, status, "text/plain; charset=utf-8", text);
}

static bool is(struct slice s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.s, text, s.n) == 0;
}

static bool is_json(const struct http_head *h)
{
    static const char json[] = "application/json";
    for (size_t i = 0; i < h->nfields; i++)
        if (h->fields[i].name.n == 12 && strncasecmp(h->fields[i].name.s, "content-type", 12) == 0)
            return h->fields[i].value.n >= sizeof(json) - 1 &&
                   strncasecmp(h->fields[i].value.s, json, sizeof(json) - 1) == 0;
    return false;
}

/* What is wrong with a request, as a status; NULL: it is a question. "": answered otherwise. */
static const char *refusal(const struct http_head *h)
{
    struct slice path = h->path;
    const char *query = memchr(path.s, '?', path.n);
    path.n = query ? (size_t)(query - path.s) : path.n;
    if (h->form == HTTP_ORIGIN && (is(path, "/healthz") || is(path, "/readyz")))
        return is(h->method, "GET") ? "" : "405 Method Not Allowed";
    if (h->form != HTTP_ORIGIN || !is(path, "/validate"))
        return "404 Not Found";
    if (!is(h->method, "POST"))
        return "405 Method Not Allowed";
    if (h->framing != HTTP_LENGTH)
        return "411 Length Required";
    if (h->length > REVIEW_BYTES)
        return "413 Content Too Large";
    return is_json(h) ? NULL : "415 Unsupported Media Type";
}

static bool read_more(struct stream *s, struct buf *in, size_t most)
{
    char part[16384];
    size_t want = most - in->n < sizeof(part) ? most - in->n : sizeof(part);
    ssize_t n = want ? stream_read(s, part, want) : 0;
    if (n > 0)
        buf_add(in, part, (size_t)n);
    return n > 0 && buf_ok(in);
}

static void serve(struct stream *s)
{
    static struct http_head head;
    OWN(buf) struct buf in = {0}, out = {0};
    struct bk_err err;
    enum http_result got = HTTP_MORE;
    while (got == HTTP_MORE && read_more(s, &in, HEAD_BYTES))
        got = http_head_read(in.s, in.n, &head);
    const char *wrong = got == HTTP_FOUND ? refusal(&head) : "400 Bad Request";
    if (wrong && !wrong[0])
        reply_error(s, "200 OK", "ok");
    else if (wrong)
        reply_error(s, wrong, wrong);
    if (wrong)
        return;
    size_t start = head.size, n = (size_t)head.length; /* the text may move now */
    while (in.n < start + n && read_more(s, &in, start + n))
        ;
    if (in.n < start + n)
        reply_error(s, "400 Bad Request", "the body ends too early");
    else if (review_answer(in.s + start, n, &out, &err) < 0)
        reply_error(s, "400 Bad Request", err.msg);
    else
        reply(s, "200 OK", "application/json", out.s);
}

/* ---- processes ---- */

static void __attribute__((noreturn)) be_child(const struct webhook_options *o, int fd)
{
    struct stream s;
    struct bk_err err;
    struct rlimit seconds = {WEBHOOK_S, WEBHOOK_S}, none = {0, 0};
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    alarm(WEBHOOK_S);
    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_CORE, &none);
    if (stream_accept(&s, fd, o->cert, o->key, &err) < 0) {
        fprintf(stderr, "buckle-kube: %s\n", err.msg);
        _exit(1);
    }
    serve(&s);
    stream_close(&s);
    _exit(0);
}

static void reap(void)
{
    size_t kept = 0;
    for (size_t i = 0; i < nchildren; i++)
        if (waitpid(children[i], NULL, WNOHANG) == 0)
            children[kept++] = children[i];
    nchildren = kept;
}

static void make_place(void)
{
    if (nchildren < WEBHOOK_CHILDREN)
        return;
    kill(children[0], SIGKILL);
    waitpid(children[0], NULL, 0);
    memmove(children, children + 1, --nchildren * sizeof(children[0]));
}

static void take(const struct webhook_options *o, int listener)
{
    OWN(fd) int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    make_place();
    pid_t pid = fork();
    if (pid == 0) {
        close(listener);
        be_child(o, steal_fd(&fd));
    }
    if (pid > 0)
        children[nchildren++] = pid;
}

static void on_signal(int number)
{
    if (number != SIGCHLD)
        stop = 1;
}

static int open_port(const char *text)
{
    struct peer host;
    struct sockaddr_storage at;
    uint16_t port;
    int on = 1;
    if (!peer_parse_authority(text, strlen(text), 0, &host, &port) || !host.address) {
        fprintf(stderr, "buckle-kube: where to listen must be ADDRESS:PORT\n");
        return -1;
    }
    socklen_t n = addr_to_sockaddr(host.addr, port, &at);
    OWN(fd) int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, (const struct sockaddr *)&at, n) < 0 || listen(fd, 64) < 0) {
        fprintf(stderr, "buckle-kube: cannot listen at %s: %s\n", text, strerror(errno));
        return -1;
    }
    return steal_fd(&fd);
}

int webhook_serve(const struct webhook_options *o)
{
    struct sigaction act = {.sa_handler = on_signal};
    sigset_t waited, before;
    if (!o->cert[0] != !o->key[0]) {
        fprintf(stderr, "buckle-kube: certificates and key go together\n");
        return 2;
    }
    OWN(fd) int listener = open_port(o->listen);
    if (listener < 0)
        return 2;
    sigemptyset(&waited);
    const int numbers[] = {SIGTERM, SIGINT, SIGCHLD};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sigaddset(&waited, numbers[i]);
        sigaction(numbers[i], &act, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    sigprocmask(SIG_BLOCK, &waited, &before);
    while (!stop) {
        struct pollfd p = {listener, POLLIN, 0};
        if (ppoll(&p, 1, NULL, &before) > 0)
            take(o, listener);
        reap();
    }
    for (size_t i = 0; i < nchildren; i++)
        kill(children[i], SIGKILL);
    return 0;
}
