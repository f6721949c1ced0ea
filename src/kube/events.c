/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * From the agent's socket to the API server. The agent never waits for this process: lines that are
 * lost while a request is under way are made good by the totals in the next ones (tally.h).
 *
 * The API server is protected from us: an object for each container and reason, updated at most
 * every UPDATE_MS; BURST requests at once and one in a second after that; and after an error a
 * pause that doubles up to PAUSE_MOST_MS.
 */

#include "kube/events.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "kube/api.h"
#include "kube/tally.h"

enum {
    LINE_BYTES = 64 << 10,
    AGAIN_MS = 1000, /* between attempts to reach the agent */
    UPDATE_MS = 30000,
    BURST = 25,
    PAUSE_MS = 1000,
    PAUSE_MOST_MS = 60000,
    LAST_MS = 5000, /* for what is left at the end */
};

struct sender {
    struct api api;
    const char *node;
    struct tallies tallies;
    uint64_t tokens_at, pause_until, pause, made;
    unsigned tokens;
    int last_problem;
};

static volatile sig_atomic_t stop;
static struct sender the_sender; /* large */

static void on_signal(int number)
{
    stop |= number != SIGALRM;
}

/* ---- sending ---- */

static void complain(struct sender *p, int status, const char *what)
{
    if (status == p->last_problem)
        return; /* it has been said */
    p->last_problem = status;
    if (status < 0)
        fprintf(stderr, "buckle-kube: %s\n", what);
    else
        fprintf(stderr, "buckle-kube: the API server answers %d to %s\n", status, what);
}

/* As client-go names them: the object's name, a dot, and what no other event has. */
static void name_event(struct sender *p, struct tally *r)
{
    snprintf(r->event, sizeof(r->event), "%.220s.%016" PRIx64, r->pod[0] ? r->pod : p->node,
             date_ns() + p->made++);
}

static int send_row(struct sender *p, struct tally *r, bool fresh, struct bk_err *err)
{
    OWN(buf) struct buf body = {0};
    char path[700];
    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/events%s%s", tally_namespace(r),
             fresh ? "" : "/", fresh ? "" : r->event);
    if (fresh)
        tally_object(r, p->node, &body);
    else
        tally_patch(r, &body);
    if (!buf_ok(&body))
        return err_nomem(err);
    return api_send(&p->api, fresh ? "POST" : "PATCH", path,
                    fresh ? "application/json" : "application/merge-patch+json", &body, err);
}

static void send_event(struct sender *p, struct tally *r)
{
    struct bk_err err;
    uint64_t count = r->count;
    bool fresh = !r->event[0];
    if (fresh)
        name_event(p, r);
    int status = send_row(p, r, fresh, &err);
    bool gone = !fresh && status == 404; /* events expire */
    if (gone || (fresh && status != 201 && status != 409))
        r->event[0] = '\0';
    if (gone) {
        send_event(p, r); /* anew */
        return;
    }
    if ((status >= 200 && status < 300) || status == 409) {
        p->pause = 0;
        p->last_problem = 0;
        tally_posted(r, count, now_ms() + UPDATE_MS);
        return;
    }
    complain(p, status, status < 0 ? err.msg : fresh ? "POST" : "PATCH");
    if (status < 0 || status == 429 || status >= 500) {
        p->pause = !p->pause                      ? PAUSE_MS
                   : p->pause * 2 > PAUSE_MOST_MS ? PAUSE_MOST_MS
                                                  : p->pause * 2;
        p->pause_until = now_ms() + p->pause;
    } else {
        tally_posted(r, count, now_ms() + UPDATE_MS); /* it would be refused again */
    }
}

/* Milliseconds until a request may be made. */
static int wait_for_token(struct sender *p)
{
    uint64_t now = now_ms(), gained = (now - p->tokens_at) / 1000;
    p->tokens_at += gained * 1000;
    p->tokens = p->tokens + gained > BURST ? BURST : p->tokens + (unsigned)gained;
    if (p->pause_until > now)
        return (int)(p->pause_until - now);
    return p->tokens ? 0 : (int)(1000 - (now - p->tokens_at));
}

/* Sends what is due. Returns milliseconds until something is, or -1. */
static int send_due(struct sender *p)
{
    int wait, until;
    struct tally *r = tally_next(&p->tallies, now_ms(), &wait);
    if (!r)
        return wait;
    until = wait_for_token(p);
    if (until == 0) {
        p->tokens--;
        send_event(p, r);
    }
    return until;
}

/* At the end nothing waits for its turn. */
static void send_rest(struct sender *p)
{
    uint64_t end = now_ms() + LAST_MS;
    for (size_t i = 0; i < TALLIES && now_ms() < end && p->pause_until <= now_ms(); i++) {
        struct tally *r = &p->tallies.rows[i];
        if (r->used && r->count != r->posted)
            send_event(p, r);
    }
}

/* ---- reading ---- */

static int reach_agent(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(at.sun_path))
        return -1;
    strcpy(at.sun_path, path);
    OWN(fd) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 ? steal_fd(&fd)
                                                                                 : -1;
}

/* Returns false if the agent has left. */
static bool read_lines(struct sender *p, int fd)
{
    static char line[LINE_BYTES];
    ssize_t n;
    while ((n = recv(fd, line, sizeof(line), MSG_DONTWAIT)) > 0)
        tally_note(&p->tallies, line, (size_t)n);
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static int soonest(int a, int b)
{
    return a < 0 ? b : b < 0 ? a : a < b ? a : b;
}

static void loop(struct sender *p, const char *from, const sigset_t *while_waiting)
{
    OWN(fd) int fd = -1;
    uint64_t again = 0;
    while (!stop) {
        if (fd < 0 && now_ms() >= again) {
            fd = reach_agent(from);
            again = now_ms() + AGAIN_MS;
        }
        int wait = soonest(send_due(p), fd < 0 ? AGAIN_MS : -1);
        struct timespec t = {wait / 1000, wait % 1000 * 1000000L};
        struct pollfd in = {fd, POLLIN, 0};
        if (ppoll(&in, 1, wait < 0 ? NULL : &t, while_waiting) > 0 && !read_lines(p, fd)) {
            close(fd);
            fd = -1;
        }
    }
}

int events_run(const struct events_options *o)
{
    struct sigaction act = {.sa_handler = on_signal}; /* without SA_RESTART */
    struct bk_err err;
    struct sender *p = &the_sender;
    sigset_t blocked, before;
    if (!o->node[0] || strlen(o->node) >= TALLY_NAME) {
        fprintf(stderr, "buckle-kube: this node needs a name\n");
        return 2;
    }
    if (api_open(&p->api, o->api, o->token_file, o->ca_file, &err) < 0) {
        fprintf(stderr, "buckle-kube: %s\n", err.msg);
        return 2;
    }
    p->node = o->node;
    p->tokens = BURST;
    p->tokens_at = now_ms();
    sigaction(SIGALRM, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    loop(p, o->from, &before);
    send_rest(p);
    return 0;
}
