/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* TLS that ends in the gate: what the gate asks of buckle-tls, in calls and in batches of jobs. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/tls-end.h"
#include "net/tls-turn.h"
#include "tls/serve.h"
#include "tls/tls-library.h"
#include "tap.h"

static struct peer named(const char *name)
{
    struct peer p;
    peer_parse(name, strlen(name), &p);
    return p;
}

/* ---- one call after the other ---- */

static struct tls_helper *start(pid_t *pid, const char *names, struct buf *pem)
{
    int ends[2];
    struct tls_areas *areas =
        mmap(NULL, sizeof(*areas), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (areas == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return NULL;
    *pid = fork();
    if (*pid == 0) {
        close(ends[0]);
        _exit(tls_serve(ends[1], areas) < 0);
    }
    close(ends[1]);
    return tls_helper_new(ends[0], areas, names, NULL, pem);
}

static void carry_end(struct tls_end *from, struct tls_end *to)
{
    size_t n;
    const char *data = tls_end_output(from, &n);
    if (n)
        tls_end_feed(to, data, n);
    tls_end_sent(from);
}

static enum tls_result shake_ends(struct tls_end *server, struct tls_end *client)
{
    enum tls_result one = TLS_MORE, two = TLS_MORE;
    for (int i = 0; i < 10 && (one == TLS_MORE || two == TLS_MORE); i++) {
        if (two != TLS_DONE)
            two = tls_end_shake(client);
        carry_end(client, server);
        one = tls_end_shake(server);
        if (tls_end_is_asking(server)) {
            tls_end_answer(server, TLS_HTTP1);
            one = tls_end_shake(server);
        }
        carry_end(server, client);
    }
    return two;
}

static void test_large(struct tls_end *from, struct tls_end *to)
{
    static char sent[60000], got[60000];
    size_t n, all = 0;
    for (size_t i = 0; i < sizeof(sent); i++)
        sent[i] = (char)(i * 7 / 5);
    ok(tls_end_write(from, sent, sizeof(sent)), "many bytes");
    carry_end(from, to);
    while (tls_end_read(to, got + all, sizeof(got) - all < 1000 ? sizeof(got) - all : 1000, &n) ==
               TLS_DONE &&
           n)
        all += n;
    ok(all == sizeof(sent) && memcmp(sent, got, all) == 0, "arrive in small parts");
    is_int(tls_end_read(to, got, sizeof(got), &n), TLS_MORE, "and no more");
    ok(!tls_end_write(from, sent, TLS_AREA), "too many at once are refused");
}

static void test_helper(void)
{
    struct peer host = named("a.test"), strange = named("c.example");
    struct buf pem = {0};
    pid_t pid;
    char path[] = "/tmp/test-tls-XXXXXX", text[64];
    size_t n;
    int fd = mkstemp(path), status;
    setenv("SSL_CERT_FILE", path, 1); /* empty */
    struct tls_helper *h = start(&pid, "critical,permitted;DNS:test", &pem);
    ok(h && pem.s && strstr(pem.s, "BEGIN CERTIFICATE"), "a helper");
    struct tls_end *server = tls_end_accept(h, &host, "", 0),
                   *client = tls_end_connect(h, &host, TLS_H2 | TLS_HTTP1);
    is_int(shake_ends(server, client), TLS_FAILED, "nobody trusts it yet");
    uint8_t alert[TLS_ALERT];
    tls_end_alert(client, alert);
    is_int(alert[6], 48, "unknown authority: %s", tls_end_wrong(client));
    tls_end_free(server);
    tls_end_free(client);
    tls_helper_free(h);
    ok(waitpid(pid, &status, 0) == pid && status == 0, "it ends with its socket");
    buf_free(&pem);

    h = start(&pid, NULL, &pem);
    server = tls_end_accept(h, &strange, "", 0);
    client = tls_end_connect(h, &strange, 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    is_int(tls_end_shake(client), TLS_MORE, "without bytes there is nothing to do");
    ok(tls_end_feed(client, "x", 1), "with bytes there is");
    is_int(tls_end_shake(client), TLS_FAILED, "if it dies, its ends fail");
    ok(strstr(tls_end_wrong(client), "ended"), "with a reason");
    is_int(tls_end_read(server, text, sizeof(text), &n), TLS_MORE,
           "without bytes there is nothing");
    ok(tls_end_feed(server, "x", 1), "bytes are accepted");
    is_int(tls_end_read(server, text, sizeof(text), &n), TLS_FAILED, "and fail");
    ok(!tls_end_accept(h, &host, "", 0), "there are no new ones");
    tls_end_free(server);
    tls_end_free(client);
    tls_helper_free(h);
    buf_free(&pem);
    close(fd);
    unlink(path);
}

/* What one end reads is encrypted for another one of the same process. */
static void test_pass(struct tls_end *server, struct tls_end *client, struct tls_helper *h,
                      struct tls_helper *k)
{
    struct peer host = named("a.test");
    struct tls_end *server2 = tls_end_accept(h, &host, "", 0),
                   *client2 = tls_end_connect(k, &host, TLS_HTTP1);
    char text[64];
    size_t n;
    is_int(shake_ends(server2, client2), TLS_DONE, "another connection");
    ok(tls_end_write(client, "hello", 5), "bytes");
    carry_end(client, server);
    is_int(tls_end_pass(server, server2, text, sizeof(text), &n), TLS_DONE, "are passed on");
    ok(n == 5 && memcmp(text, "hello", 5) == 0, "and read");
    is_int(tls_end_pass(server, server2, text, sizeof(text), &n), TLS_MORE, "once");
    carry_end(server2, client2);
    is_int(tls_end_read(client2, text, sizeof(text), &n), TLS_DONE, "the other end");
    ok(n == 5 && memcmp(text, "hello", 5) == 0, "gets them");
    tls_end_feed(server, "what is no TLS at all", 21);
    is_int(tls_end_pass(server, server2, text, sizeof(text), &n), TLS_FAILED, "no TLS");
    ok(n == 0 && tls_end_wrong(server)[0], "is not passed on: %s", tls_end_wrong(server));
    ok(tls_end_write(server2, "x", 1), "and the other connection is as before");
    tls_end_free(server2);
    tls_end_free(client2);
}

/* ---- jobs ---- */

enum { MANY = 10, BAD = 3 };

struct pairs {
    struct tls_helper *helper; /* of the servers */
    struct tls_end *server[MANY], *client[MANY];
};

static void connect_all(struct pairs *p, struct tls_helper *h, struct tls_helper *k)
{
    struct peer host = named("a.test");
    unsigned done = 0;
    for (int i = 0; i < MANY; i++) {
        p->server[i] = tls_end_accept(h, &host, "", 0);
        p->client[i] = tls_end_connect(k, &host, TLS_HTTP1);
        done += shake_ends(p->server[i], p->client[i]) == TLS_DONE;
    }
    is_int(done, MANY, "many connections");
}

static void free_all(struct pairs *p)
{
    for (int i = 0; i < MANY; i++) {
        tls_end_free(p->server[i]);
        tls_end_free(p->client[i]);
    }
}

/* Receives what an end wrote, as from a socket. */
static bool receive(struct tls_end *from, struct tls_end *to, struct tls_end *pass_to)
{
    size_t n, room;
    const char *data = tls_end_output(from, &n);
    char *at = tls_end_room(to, &room);
    if (!at || n > room)
        return false;
    memcpy(at, data, n);
    tls_end_sent(from);
    tls_end_read_later(to, pass_to, n);
    return true;
}

static bool reads(struct tls_end *t, const char *wanted)
{
    char text[64] = "";
    size_t n;
    return tls_end_read(t, text, sizeof(text), &n) == TLS_DONE && n == strlen(wanted) &&
           memcmp(text, wanted, n) == 0 && tls_end_read(t, text, sizeof(text), &n) == TLS_MORE;
}

/* Ten connections in one call, and one of them says what is no TLS. */
static void test_one_bad(struct pairs *p)
{
    char text[64];
    size_t room, n;
    unsigned right = 0, sent = 0;
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof(text), "request %d", i);
        tls_end_write(p->client[i], text, strlen(text));
        if (i != BAD)
            ok(receive(p->client[i], p->server[i], NULL), "room for %d", i);
    }
    memcpy(tls_end_room(p->server[BAD], &room), "what is no TLS at all", 21);
    tls_end_read_later(p->server[BAD], NULL, 21);
    tls_helper_settle(p->helper);
    ok(tls_end_has_failed(p->server[BAD]) && tls_end_wrong(p->server[BAD])[0],
       "one fails, with a reason: %s", tls_end_wrong(p->server[BAD]));
    ok(!tls_end_room(p->server[BAD], &room), "and gets no room any more");
    /* a call in between does not cost what was read */
    ok(tls_end_write(p->server[0], "early", 5), "another call");
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof(text), "request %d", i);
        right += i != BAD && reads(p->server[i], text);
    }
    is_int(right, MANY - 1, "the others have read theirs");
    for (int i = 0; i < MANY; i++)
        sent += tls_end_write_later(p->server[i], "answer", 6);
    is_int(sent, MANY - 1, "and write");
    tls_helper_settle(p->helper);
    right = 0;
    for (int i = 1; i < MANY; i++) {
        carry_end(p->server[i], p->client[i]);
        right += i != BAD && reads(p->client[i], "answer");
    }
    is_int(right, MANY - 2, "to their clients");
    carry_end(p->server[0], p->client[0]);
    ok(tls_end_read(p->client[0], text, sizeof(text), &n) == TLS_DONE && n == 11 &&
           memcmp(text, "earlyanswer", 11) == 0,
       "in the order in which it was written");
}

/* Several jobs of one end; one that is passed on; one whose end is gone. */
static void test_other_jobs(struct pairs *p)
{
    static char large[50000], got[150001], output[TLS_OUT];
    char text[64];
    size_t n, all = 0, noutput;
    memset(large, 'x', sizeof(large));
    for (int i = 0; i < 3; i++) /* more than fits: the third makes the call */
        ok(tls_end_write_later(p->server[1], large, sizeof(large)), "a large part");
    tls_helper_settle(p->helper);
    const char *data = tls_end_output(p->server[1], &noutput);
    memcpy(output, data, noutput);
    tls_end_sent(p->server[1]);
    for (size_t at = 0; at < noutput; at += 60000) { /* a call takes less than all */
        tls_end_feed(p->client[1], output + at, noutput - at < 60000 ? noutput - at : 60000);
        while (tls_end_read(p->client[1], got + all, sizeof(got) - all, &n) == TLS_DONE && n)
            all += n;
    }
    is_int((long long)all, 3 * sizeof(large), "all parts arrive");
    ok(memchr(got, 'x', all) == got && !memchr(got, 0, all), "as they were");
    tls_end_output(p->server[1], &n);
    is_int((long long)n, 0, "nothing is sent twice");

    tls_end_write(p->client[4], "hello", 5);
    tls_end_write(p->client[5], "gone", 4);
    ok(receive(p->client[5], p->server[5], NULL), "a job of an end that leaves");
    ok(receive(p->client[4], p->server[4], p->server[6]), "a job that passes on");
    tls_end_free(p->server[5]);
    p->server[5] = NULL;
    tls_helper_settle(p->helper);
    ok(tls_end_was_passed(p->server[4]), "it was passed on");
    is_int(tls_end_pass(p->server[4], p->server[6], text, sizeof(text), &n), TLS_DONE, "and read");
    ok(n == 5 && !tls_end_was_passed(p->server[4]), "once");
    carry_end(p->server[6], p->client[6]);
    ok(reads(p->client[6], "hello"), "the other client has it");
    tls_end_write(p->client[4], "again", 5);
    ok(receive(p->client[4], p->server[4], p->server[7]), "a job that passes on");
    tls_end_free(p->server[7]);
    p->server[7] = NULL;
    tls_helper_settle(p->helper);
    ok(tls_end_has_failed(p->server[4]), "to an end that leaves fails");
    ok(tls_end_write(p->server[8], "x", 1), "and the rest goes on");

    size_t room;
    memcpy(tls_end_room(p->server[8], &room), "no TLS", 6);
    tls_end_read_later(p->server[8], NULL, 6);
    tls_end_feed(p->server[8], "more", 4);
    ok(!tls_end_write(p->server[8], "x", 1), "an end whose job fails in a later call stays failed");
    is_int(tls_end_read(p->server[8], text, sizeof(text), &n), TLS_FAILED, "for reads, too");
}

static void test_jobs(struct tls_helper *h, struct tls_helper *k)
{
    struct pairs p = {.helper = h};
    connect_all(&p, h, k);
    test_one_bad(&p);
    test_other_jobs(&p);
    free_all(&p);
}

/* What another process must not say about two jobs. */
static const struct lie {
    const char *what;
    struct tls_reply replies[2];
    bool holds;
} lies[] = {
    {"nothing wrong", {{.result = TLS_DONE, .nplain = 5}, {.result = TLS_DONE, .nplain = 6}}, true},
    {"more than is there",
     {{.result = TLS_DONE, .nplain = TLS_AREA + 1}, {.result = TLS_MORE}},
     false},
    {"more than is there, together",
     {{.result = TLS_DONE, .nplain = TLS_AREA}, {.result = TLS_DONE, .nplain = 1}},
     false},
    {"more to send than is there, together",
     {{.result = TLS_MORE, .nout = TLS_OUT}, {.result = TLS_MORE, .nout = 1}},
     false},
    {"sums that overflow",
     {{.result = TLS_MORE, .nplain = UINT32_MAX, .nout = UINT32_MAX}, {.nplain = 1, .nout = 1}},
     false},
    {"a result that there is not", {{.result = TLS_FAILED + 1}, {.result = TLS_MORE}}, false},
    {"a later result that there is not", {{.result = TLS_MORE}, {.after = 77}}, false},
};

static void test_lie(const struct lie *lie)
{
    const struct peer host = {.name = "a.test", .len = 6};
    const struct tls_reply begun = {.result = TLS_DONE, .nplain = 8},
                           made = {.result = TLS_MORE, .created = 1}, done = {.result = TLS_DONE};
    struct buf pem = {0};
    int ends[2];
    size_t room;
    struct tls_areas *areas =
        mmap(NULL, sizeof(*areas), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
    send(ends[1], &begun, sizeof(begun), 0);
    send(ends[1], &made, sizeof(made), 0);
    send(ends[1], &made, sizeof(made), 0);
    send(ends[1], &done, sizeof(done), 0);
    memcpy(areas->replies, lie->replies, sizeof(lie->replies));
    struct tls_helper *h = tls_helper_new(ends[0], areas, "", NULL, &pem);
    struct tls_end *one = tls_end_accept(h, &host, "", 0), *two = tls_end_accept(h, &host, "", 0);
    memcpy(areas->plain, "first second", 11);
    for (int i = 0; i < 2; i++)
        if (tls_end_room(i ? two : one, &room))
            tls_end_read_later(i ? two : one, NULL, 10);
    tls_helper_settle(h);
    if (lie->holds)
        ok(reads(one, "first") && reads(two, " secon"), "%s", lie->what);
    else
        ok(tls_end_has_failed(one) && tls_end_has_failed(two), "%s: both fail", lie->what);
    tls_end_free(one);
    tls_end_free(two);
    tls_helper_free(h);
    close(ends[1]);
    buf_free(&pem);
}

static const struct tls_means means = {NULL, tls_turn_wait, tls_turn_wake};

/* With calls in memory. */
static void test_death(struct tls_helper *h, pid_t pid)
{
    struct peer host = named("a.test");
    struct tls_end *t = tls_end_connect(h, &host, TLS_HTTP1);
    ok(t && tls_end_shake(t) == TLS_MORE, "an end");
    kill(pid, SIGKILL);
    ok(tls_end_feed(t, "x", 1) && tls_end_shake(t) == TLS_FAILED, "of a process that dies");
    tls_end_free(t);
}

/* Both ends in helpers: the client's trusts the authority of the server's. */
static void test_through(bool quick)
{
    struct peer host = named("a.test");
    struct buf pem = {0}, other = {0};
    pid_t one, two;
    char path[] = "/tmp/test-tls-XXXXXX", text[64];
    size_t n;
    struct tls_helper *h = start(&one, "critical,permitted;DNS:test", &pem);
    int fd = mkstemp(path);
    ok(h && fd >= 0 && write(fd, pem.s, pem.n) == (ssize_t)pem.n, "a store");
    setenv("SSL_CERT_FILE", path, 1);
    struct tls_helper *k = start(&two, NULL, &other);
    if (quick) {
        tls_helper_use(h, &means);
        tls_helper_use(k, &means);
    }
    struct tls_end *server = tls_end_accept(h, &host, "", 0),
                   *client = tls_end_connect(k, &host, TLS_H2 | TLS_HTTP1);
    is_int(shake_ends(server, client), TLS_DONE, "a handshake");
    is_int(tls_end_chosen(client), TLS_HTTP1, "with HTTP/1");
    is_int(tls_end_offered(server), TLS_H2 | TLS_HTTP1, "what was offered");
    test_large(client, server);
    test_large(server, client);
    tls_end_close(client);
    carry_end(client, server);
    is_int(tls_end_read(server, text, sizeof(text), &n), TLS_CLOSED, "the end");
    is_int(tls_end_read(server, text, sizeof(text), &n), TLS_CLOSED, "stays the end");
    tls_end_free(server);
    tls_end_free(client);
    server = tls_end_accept(h, &host, "", 0);
    client = tls_end_connect(k, &host, TLS_HTTP1);
    is_int(shake_ends(server, client), TLS_DONE, "another handshake with that server");
    test_pass(server, client, h, k);
    test_jobs(h, k);
    if (quick)
        test_death(k, two);
    tls_end_free(server);
    tls_end_free(client);
    tls_helper_free(h);
    tls_helper_free(k);
    waitpid(one, NULL, 0);
    waitpid(two, NULL, 0);
    buf_free(&pem);
    buf_free(&other);
    close(fd);
    unlink(path);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
        test_lie(&lies[i]);
    if (!tls_library_load()) {
        skip("libssl.so.3 is not installed");
        return done_testing();
    }
    test_helper();
    test_through(false);
    test_through(true);
    return done_testing();
}
