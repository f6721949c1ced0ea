/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* First lines that are HTTP requests, in any spelling that a server might accept, and others. */

#include "net/first-line.h"
#include "tap.h"

/* Reads the text in pieces of this size. */
static enum first_line_result read_in(const char *text, size_t piece, struct first_line *f)
{
    size_t n = strlen(text);
    enum first_line_result got = FIRST_MORE;
    *f = (struct first_line){0};
    for (size_t at = 0; at < n && got == FIRST_MORE; at += piece)
        got = first_line_read(f, text + at, n - at < piece ? n - at : piece);
    return got;
}

static void check(const char *text, enum first_line_result want)
{
    struct first_line f;
    bool same = true;
    for (size_t piece = 1; piece < 9; piece++)
        same = same && read_in(text, piece, &f) == want;
    ok(same && read_in(text, 1000, &f) == want, "%s", text);
}

static void test_requests(void)
{
    static const char *const rows[] = {
        "GET / HTTP/1.1\r\n",
        "get / http/1.1\n",
        "G!T / HTTP/0.9\r",
        "\r\nGET / HTTP/1.1\r\n",
        "\n\n  \t\r\nGET / HTTP/1.1\r\n",
        " GET / HTTP/1.1\r\n",
        "GET\t/\tHTTP/1.1\r\n",
        "GET\v/\fHTTP/1.1\n",
        "GET / HTTP/1.1 \t \r\n",
        "GET / HTTP/1.1x\r\n",
        "GET / HTTP/3\r\n",
        "GET / HTTP/1.1\rX\n",
        "PRI * HTTP/2.0\r\n",
        "CONNECT a:443 HTTP/1.1\r\n",
        "\x01GET / HTTP/1.1\r\n",
        "HTTP/1.1\r\n",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check(rows[i], FIRST_HTTP);
    struct first_line f;
    read_in("\r\nGET / HTTP/1.1\r\n", 1, &f);
    ok(f.blank_first, "what comes before it is remembered");
    read_in("GET / HTTP/1.1\r\n", 1, &f);
    ok(!f.blank_first, "where there is something");
}

static void test_others(void)
{
    static const char *const rows[] = {
        "USER anonymous\r\n",
        "EHLO me.example\r\n",
        "CONNECT {\"verbose\":false}\r\n",
        "NICK a\r\n",
        "OPTIONS rtsp://a/b RTSP/1.0\r\n",
        "REGISTER sip:a SIP/2.0\r\n",
        "SET key value\r\n",
        "SET HTTP/1.1 value\r\n",
        "GET /\r\n",
        "GET / HTTP/\r\n",
        "GET / XHTTP/1.1\r\n",
        "GET / HTTPS/1.1\r\n",
        "HTTP/1.1 200 OK\r\n",
        "*1\r\n$4\r\nPING\r\n",
        "SSH-2.0-x\r\n",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check(rows[i], FIRST_OTHER);
    static const char *const unfinished[] = {"",      "\r\n",           " \r\n\n",
                                             "hello", "GET / HTTP/1.1", "GET / HTTP/1.1 "};
    for (size_t i = 0; i < sizeof(unfinished) / sizeof(unfinished[0]); i++)
        check(unfinished[i], FIRST_MORE);
}

static void test_ends(void)
{
    struct first_line f;
    read_in("QUIT", 2, &f);
    ok(first_line_end(&f) == FIRST_OTHER, "what ends without a line is something else");
    read_in("GET / HTTP/1.0 ", 2, &f);
    ok(first_line_end(&f) == FIRST_HTTP, "unless it is a request");
    f = (struct first_line){0};
    enum first_line_result got = FIRST_MORE;
    size_t n = 0;
    while (got == FIRST_MORE && n < 2 * (size_t)FIRST_MAX) {
        got = first_line_read(&f, "aaaa bbbb", 9);
        n += 9;
    }
    ok(got == FIRST_OTHER && n >= FIRST_MAX, "a line longer than any request's");
    char nul[] = "GET /\0 HTTP/1.1\0\r\n";
    f = (struct first_line){0};
    ok(first_line_read(&f, nul, sizeof(nul) - 1) == FIRST_HTTP, "bytes that belong to no line");
}

/* Lines after a first line that is not a request. */
static void test_following(void)
{
    static const struct {
        const char *text;
        enum first_line_result want;
    } rows[] = {
        {"GET / HTTP/1.1\r\n", FIRST_HTTP},     {"PASS x\r\n\r\nget\t/ http/1.0 \n", FIRST_HTTP},
        {"a b c d HTTP/1.1\r\n", FIRST_MORE},   {"10.0.0.1 - - \"GET / HTTP/1.1\"\n", FIRST_MORE},
        {"HTTP/1.1\nx HTTP/1.1\n", FIRST_MORE}, {"GET / HTTP/1.1 x\n", FIRST_MORE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct first_line whole, cut;
        enum first_line_result got = FIRST_MORE;
        first_line_follow(&whole);
        first_line_follow(&cut);
        for (size_t k = 0; k < strlen(rows[i].text) && got == FIRST_MORE; k++)
            got = first_line_read(&cut, rows[i].text + k, 1);
        ok(first_line_read(&whole, rows[i].text, strlen(rows[i].text)) == rows[i].want &&
               got == rows[i].want,
           "following: %s", rows[i].text);
    }
    struct first_line f = {0};
    ok(first_line_read(&f, "EHLO a\r\nabc", 11) == FIRST_OTHER && f.left == 3,
       "how much is behind the first");
    first_line_follow(&f);
    enum first_line_result got = FIRST_MORE;
    size_t n = 0;
    while (got == FIRST_MORE && n < FIRST_MAX) {
        got = first_line_read(&f, "line\n", 5);
        n += 5;
    }
    ok(got == FIRST_OTHER && n >= FIRST_FOLLOWING && n < FIRST_FOLLOWING + 10,
       "so much and no more is looked at");
}

int main(void)
{
    test_following();
    test_requests();
    test_others();
    test_ends();
    return done_testing();
}
