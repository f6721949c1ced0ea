/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "net/consent.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

static struct consent_question question(const char *host)
{
    struct consent_question q;
    memset(&q, 0, sizeof(q));
    q.id = 7;
    q.port = 443;
    snprintf(q.host, sizeof(q.host), "%s", host);
    snprintf(q.program, sizeof(q.program), "/bin/x");
    return q;
}

static bool reads(struct consent_question q)
{
    struct consent_question out;
    return consent_question_read(&q, sizeof(q), &out);
}

static void test_questions(void)
{
    static const char *const wrong[] = {"",     "Example.com", "example.com.", "127.1",
                                        "a b",  "a\033[2Jb",   "a\nb",         "[::1]",
                                        "a..b", "0x7f000001"};
    struct consent_question q = question("example.com"), out;
    ok(reads(q) && reads(question("::1")) && reads(question("127.0.0.1")),
       "hosts as they are written");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ok(!reads(question(wrong[i])), "no host in its one form: %zu", i);
    ok(!consent_question_read(&q, sizeof(q) - 1, &out), "cut off");
    q.id = 0;
    ok(!reads(q), "without a number");
    q = question("example.com");
    memset(q.program, 'x', sizeof(q.program));
    ok(!reads(q), "a program without an end");
    q = question("example.com");
    memset(q.host, 'x', sizeof(q.host));
    ok(!reads(q), "a host without an end");
    q = question("example.com");
    memset((char *)&q + offsetof(struct consent_question, udp), 2, 1);
    ok(!consent_question_read(&q, sizeof(q), &out), "neither yes nor no");
    q = question("");
    q.withdrawn = true;
    ok(reads(q), "what is withdrawn names nobody");
}

static void test_replies(void)
{
    struct consent_reply r = {7, CONSENT_RUN}, out;
    int ends[2];
    ok(consent_reply_read(&r, sizeof(r), &out) && out.answer == CONSENT_RUN, "an answer");
    ok(!consent_reply_read(&r, sizeof(r) - 1, &out), "cut off");
    r.answer = CONSENT_COUNT;
    ok(!consent_reply_read(&r, sizeof(r), &out), "one that does not exist");
    r.answer = 0;
    ok(!consent_reply_read(&r, sizeof(r), &out), "none");
    ok(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "a channel");
    ok(consent_answer(ends[0], 9, CONSENT_DENY) == 0, "answering");
    char bytes[64];
    ssize_t n = recv(ends[1], bytes, sizeof(bytes), 0);
    ok(n > 0 && consent_reply_read(bytes, (size_t)n, &out) && out.id == 9 &&
           out.answer == CONSENT_DENY,
       "arrives");
    close(ends[1]);
    ok(consent_answer(ends[0], 9, CONSENT_DENY) < 0, "nobody there");
    close(ends[0]);
    for (int a = CONSENT_ONCE; a < CONSENT_COUNT; a++)
        ok(!consent_reason((enum consent)a) == (a <= CONSENT_ALWAYS), "refusals have words: %d", a);
}

int main(void)
{
    test_questions();
    test_replies();
    return done_testing();
}
