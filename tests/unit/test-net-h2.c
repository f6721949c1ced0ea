/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* HTTP/2 as clients send it. Names are found however fields are compressed and split, and
 * ambiguous input is refused. The library encodes the fields; what it would never produce is
 * written by hand. */

#include <nghttp2/nghttp2.h>
#include <stdlib.h>

#include "net/h2-answer.h"
#include "net/h2.h"
#include "net/h2-fields.h"
#include "tap.h"

enum { DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION };
enum { END_STREAM = 1, END_HEADERS = 4, PADDED = 8 };

static uint8_t wire[200000];
static size_t size;
static char names[4096]; /* the hosts passed to the callback, each followed by a space */
static nghttp2_hd_deflater *packer;
static const uint8_t filler[40000] = {0xff, 0xff, 0xff, 0xff};

static bool on_name(void *arg, const struct peer *host)
{
    (void)arg;
    strcat(strcat(names, host->name), " ");
    return strcmp(host->name, "denied.test") != 0;
}

static void put(const void *data, size_t n)
{
    if (n)
        memcpy(wire + size, data, n);
    size += n;
}

static void put_frame(unsigned type, unsigned flags, uint32_t stream, const void *data, size_t n)
{
    uint8_t head[] = {(uint8_t)(n >> 16),      (uint8_t)(n >> 8),      (uint8_t)n,
                      (uint8_t)type,           (uint8_t)flags,         (uint8_t)(stream >> 24),
                      (uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream};
    put(head, sizeof(head));
    put(data, n);
}

static void begin(void)
{
    size = 0;
    if (packer)
        nghttp2_hd_deflate_del(packer);
    nghttp2_hd_deflate_new(&packer, 4096);
    put(H2_PREFACE, H2_PREFACE_SIZE);
    put_frame(SETTINGS, 0, 0, NULL, 0);
}

/* Encodes a NULL-terminated list of "name=value" fields. */
static size_t pack(const char *const *fields, uint8_t *out, size_t cap)
{
    nghttp2_nv nv[64];
    size_t n = 0;
    for (; fields[n]; n++) {
        const char *equals = strchr(fields[n], '=');
        nv[n] = (nghttp2_nv){.name = (uint8_t *)(uintptr_t)fields[n],
                             .namelen = (size_t)(equals - fields[n]),
                             .value = (uint8_t *)(uintptr_t)(equals + 1),
                             .valuelen = strlen(equals + 1)};
    }
    ssize_t used = nghttp2_hd_deflate_hd(packer, out, cap, nv, n);
    return used < 0 ? 0 : (size_t)used;
}

static void put_request(uint32_t stream, unsigned flags, const char *const *fields)
{
    uint8_t block[8192];
    size_t n = pack(fields, block, sizeof(block));
    put_frame(HEADERS, flags, stream, block, n);
}

static void put_plain(uint32_t stream, const char *authority)
{
    char named[300];
    snprintf(named, sizeof(named), ":authority=%s", authority);
    put_request(stream, END_STREAM | END_HEADERS,
                (const char *[]){":method=GET", ":scheme=http", ":path=/", named, "a=b", NULL});
}

/* Reads the input in pieces. Returns how much may be passed on, or -1. */
static ssize_t read_in(size_t piece, const char **wrong)
{
    struct h2 *h = h2_new(false, on_name, NULL);
    size_t at = 0, there = 0;
    ssize_t used = 0;
    names[0] = '\0';
    while (used >= 0 && there < size) {
        there = size - there < piece ? size : there + piece;
        used = h2_read(h, wire + at, there - at);
        at += used > 0 ? (size_t)used : 0;
    }
    *wrong = used < 0 ? h2_wrong(h) : NULL;
    h2_free(h);
    return used < 0 ? -1 : (ssize_t)at;
}

static void passes(const char *want, const char *what)
{
    const char *wrong;
    bool same = true;
    for (size_t piece = 1; piece < 40; piece++)
        same = same && read_in(piece, &wrong) == (ssize_t)size && strcmp(names, want) == 0;
    ok(same && read_in(size, &wrong) == (ssize_t)size, "%s", what);
    is_str(names, want, "%s: its names", what);
}

/* words: NULL if a name is refused. */
static void fails(const char *words, const char *what)
{
    const char *wrong = NULL;
    bool same = true;
    for (size_t piece = 1; piece < 40; piece++)
        same = same && read_in(piece, &wrong) == -1;
    ok(same && read_in(size, &wrong) == -1, "%s: refused", what);
    if (words)
        ok(wrong && strstr(wrong, words), "%s: because of %s", what, wrong ? wrong : "a name");
    else
        ok(!wrong, "%s: because of its name", what);
}

static void test_requests(void)
{
    begin();
    put_plain(1, "a.test");
    put_plain(3, "A.Test:8080"); /* mostly from the static table */
    put_plain(5, "b.test");
    passes("a.test a.test b.test ", "three requests");
    begin();
    put_plain(1, "a.test");
    put_plain(3, "denied.test");
    fails(NULL, "another name on the second stream");
    begin();
    put_plain(1, "denied.test"); /* now in the dynamic table */
    fails(NULL, "another name");
    begin();
    put_request(1, END_HEADERS,
                (const char *[]){":method=POST", ":scheme=https", ":path=/x", "host=a.test", NULL});
    put_frame(DATA, 0, 1, filler, 1000);
    put_frame(DATA, 0, 1, NULL, 0);
    put_frame(WINDOW, 0, 1, "\0\0\0\1", 4);
    put_request(1, END_STREAM | END_HEADERS, (const char *[]){"grpc-status=0", NULL});
    put_frame(99, 0, 7, "x", 1);
    put_frame(PING, 0, 0, "12345678", 8);
    put_frame(GOAWAY, 0, 0, "12345678910", 11);
    passes("a.test ", "a body and trailers");
    begin();
    put_request(1, END_STREAM | END_HEADERS,
                (const char *[]){":method=CONNECT", ":protocol=websocket", ":scheme=http",
                                 ":path=/", ":authority=a.test", NULL});
    passes("a.test ", "a socket by CONNECT");
}

static void test_pieces(void)
{
    uint8_t block[1000];
    static const char *const fields[] = {":method=GET",       ":scheme=http",           ":path=/",
                                         ":authority=a.test", "x=abcdefghijklmnopqrst", NULL};
    for (size_t cut = 0; cut < 22; cut += 7) {
        begin();
        size_t n = pack(fields, block, sizeof(block));
        put_frame(HEADERS, END_STREAM, 1, block, cut);
        put_frame(CONTINUATION, 0, 1, block + cut, 1);
        put_frame(CONTINUATION, END_HEADERS, 1, block + cut + 1, n - cut - 1);
        passes("a.test ", "fields in three frames");
    }
    begin();
    size_t n = pack(fields, block + 1, sizeof(block) - 20);
    block[0] = 9;
    memset(block + 1 + n, 0, 9);
    put_frame(HEADERS, END_STREAM | END_HEADERS | PADDED, 1, block, n + 10);
    passes("a.test ", "with padding");
}

static void test_upgraded(void)
{
    struct h2 *h = h2_new(true, on_name, NULL);
    begin();
    put_plain(1, "a.test");
    ok(h2_read(h, wire, size) == -1, "after an upgrade the first stream is taken");
    h2_free(h);
    h = h2_new(true, on_name, NULL);
    begin();
    put_plain(3, "a.test");
    ok(h2_read(h, wire, size) == (ssize_t)size, "and the next is not");
    h2_free(h);
}

/* Encodes a field without compression. */
static size_t plain_field(uint8_t *out, const char *name, const char *value, size_t n)
{
    size_t at = 0, len = strlen(name);
    out[at++] = 0;
    out[at++] = (uint8_t)len;
    memcpy(out + at, name, len);
    at += len;
    out[at++] = (uint8_t)n;
    memcpy(out + at, value, n);
    return at + n;
}

static void put_odd(const char *name, const char *value, size_t n)
{
    uint8_t block[1000];
    size_t at = 0;
    begin();
    at += plain_field(block + at, ":method", "GET", 3);
    at += plain_field(block + at, ":scheme", "http", 4);
    at += plain_field(block + at, ":path", "/", 1);
    at += plain_field(block + at, ":authority", "a.test", 6);
    at += plain_field(block + at, name, value, n);
    put_frame(HEADERS, END_STREAM | END_HEADERS, 1, block, at);
}

static void test_fields(void)
{
    static const struct {
        const char *name, *value;
        size_t n;
        const char *words;
    } rows[] = {
        {"host", "denied.test", 11, NULL},
        {"Host", "a.test", 6, "header field"},
        {"", "x", 1, "header field"},
        {"a b", "x", 1, "header field"},
        {"a:b", "x", 1, "header field"},
        {"a", "b\r\nc", 4, "header field"},
        {"a", "b\nc", 3, "header field"},
        {"a", "b\0c", 3, "header field"},
        {"transfer-encoding", "chunked", 7, "header field"},
        {"connection", "close", 5, "header field"},
        {"upgrade", "x", 1, "header field"},
        {":authority", "a.test", 6, "repeated"},
        {":status", "200", 3, "repeated"},
        {":", "x", 1, "repeated"},
        {"host", "a b", 3, "invalid host"},
        {"host", "", 0, "invalid host"},
        {"host", "u@a.test", 8, "invalid host"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        put_odd(rows[i].name, rows[i].value, rows[i].n);
        fails(rows[i].words, rows[i].name);
    }
    put_odd("te", "trailers", 8);
    passes("a.test ", "a field that HTTP/2 has");
}

static void test_forms(void)
{
    static const struct {
        const char *fields[6];
        const char *words;
    } rows[] = {
        {{":method=GET", ":scheme=http", ":path=/", NULL}, "names no host"},
        {{":method=GET", ":scheme=http", ":authority=a.test", NULL}, "lacks"},
        {{":method=GET", ":path=/", ":authority=a.test", NULL}, "lacks"},
        {{":scheme=http", ":path=/", ":authority=a.test", NULL}, "lacks"},
        {{"a=b", NULL}, "lacks"},
        {{":method=get", ":scheme=http", ":path=/", ":authority=a.test", NULL}, "method"},
        {{":method=GET", ":scheme=ftp", ":path=/", ":authority=a.test", NULL}, ":scheme"},
        {{":method=GET", ":scheme=http", ":path=http://b/", ":authority=a.test", NULL}, ":path"},
        {{":method=GET", ":scheme=http", ":path=", ":authority=a.test", NULL}, ":path"},
        {{":method=CONNECT", ":authority=a.test:80", NULL}, "CONNECT"},
        {{":method=CONNECT", ":scheme=http", ":path=/", ":authority=a.test", NULL}, "CONNECT"},
        {{":method=GET", ":scheme=http", ":path=/", "a=b", ":authority=a.test", NULL}, "late"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin();
        put_request(1, END_STREAM | END_HEADERS, rows[i].fields);
        fails(rows[i].words, rows[i].words);
    }
}

static void test_frames(void)
{
    static const struct {
        uint8_t type, flags;
        uint32_t stream;
        size_t n;
        const char *words;
    } rows[] = {
        {SETTINGS, 0, 0, 5, "length"},        {SETTINGS, 1, 0, 6, "length"},
        {SETTINGS, 0, 1, 6, "wrong stream"},  {PING, 0, 0, 7, "length"},
        {PING, 0, 0, 16, "length"},           {PING, 0, 1, 8, "wrong stream"},
        {WINDOW, 0, 0, 3, "length"},          {RST, 0, 1, 5, "length"},
        {RST, 0, 0, 4, "wrong stream"},       {GOAWAY, 0, 0, 7, "length"},
        {PRIORITY, 0, 1, 4, "length"},        {PUSH, 4, 1, 20, "wrong stream"},
        {CONTINUATION, 4, 1, 0, "inside"},    {DATA, 0, 0, 1, "wrong stream"},
        {DATA, 0, 3, 1, "wrong stream"},      {DATA, 0, 2, 1, "wrong stream"},
        {HEADERS, 5, 0, 10, "wrong stream"},  {HEADERS, 5, 2, 10, "wrong stream"},
        {HEADERS, 5, 1, 0, "second request"}, {HEADERS, 4, 1, 0, "second request"},
        {HEADERS, 13, 3, 0, "too short"},     {HEADERS, 37, 3, 4, "too short"},
        {HEADERS, 5, 3, 40000, "length"},     {HEADERS, 5, 3, 10, "decoded"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin();
        put_plain(1, "a.test");
        put_frame(rows[i].type, rows[i].flags, rows[i].stream, filler, rows[i].n);
        if (rows[i].type == HEADERS && rows[i].stream == 1 && rows[i].flags == 5)
            put_plain(1, "a.test"); /* trailers may be empty, and end the stream */
        char what[80];
        snprintf(what, sizeof(what), "frame %d on %u of %zu bytes", rows[i].type, rows[i].stream,
                 rows[i].n);
        fails(rows[i].words, what);
    }
    size = 0;
    put(H2_PREFACE, H2_PREFACE_SIZE);
    put_frame(PING, 0, 0, "12345678", 8);
    fails("SETTINGS", "something before the settings");
    size = 0;
    put("PRI * HTTP/2.0\r\n\r\nXM\r\n\r\n", H2_PREFACE_SIZE);
    fails("preface", "another beginning");
}

static void test_bounds(void)
{
    uint8_t block[30000];
    begin();
    put_plain(1, "a.test");
    memset(block, 0xbe, sizeof(block)); /* the newest table entry, repeated */
    put_frame(HEADERS, END_STREAM | END_HEADERS, 3, block, sizeof(block));
    fails("too many", "fields that unpack to much more");
    begin();
    put_frame(HEADERS, END_STREAM, 1, NULL, 0);
    for (int i = 0; i < 100; i++)
        put_frame(CONTINUATION, 0, 1, NULL, 0);
    fails("too many", "frames without end");
    begin();
    put_frame(HEADERS, END_STREAM, 1, "\0\1a\1b", 5);
    size_t half = size;
    ok(half > 0, "fields whose frame ends in the middle");
    put_frame(CONTINUATION, END_HEADERS, 1, "\0\1", 2);
    fails("decoded", "fields that are cut");
    begin();
    put_request(
        1, END_STREAM | END_HEADERS,
        (const char *[]){":method=GET", ":scheme=http", ":path=/", ":authority=a.test", NULL});
    put_frame(HEADERS, END_STREAM | END_HEADERS, 3, "\x3f\xe2\x1f\x82",
              4); /* a table size of 4097 */
    fails("decoded", "a larger table than the usual one");
}

/* ---- judged requests ---- */

static char asked[256];

static enum h2_verdict on_request(void *arg, const struct h2_asked *q, struct h2_denial *no)
{
    int *later = arg;
    snprintf(asked + strlen(asked), sizeof(asked) - strlen(asked), "%.*s %.*s%s ", (int)q->method.n,
             q->method.s, (int)q->target.n, q->target.s, q->overrides ? "!" : "");
    if (later && (*later)-- > 0)
        return H2_WAIT;
    if (q->target.n >= 4 && memcmp(q->target.s, "/set", 4) == 0) {
        static const char *const removed[] = {"x-gone"};
        const struct head_edit e = {.target = {"/other", 6},
                                    .remove = {removed, 1},
                                    .add = "x-new: 1\r\nx-empty: \r\n",
                                    .nadd = 21};
        h2_fields_edit(q->fields, &e);
    }
    snprintf(no->why, sizeof(no->why), "because");
    return q->overrides || memcmp(q->target.s, "/no", q->target.n < 3 ? q->target.n : 3) == 0
               ? H2_DENY
               : H2_SEND;
}

static void put_path(uint32_t stream, unsigned flags, const char *path, const char *more)
{
    char text[300];
    snprintf(text, sizeof(text), ":path=%s", path);
    put_request(
        stream, flags | END_HEADERS,
        (const char *[]){":method=POST", ":scheme=http", text, ":authority=a.test", more, NULL});
}

static void test_judged(void)
{
    struct h2 *h = h2_new(false, on_name, NULL);
    ok(h2_judge(h, on_request), "judged requests");
    begin();
    put_path(1, END_STREAM, "/yes", NULL);
    put_path(3, 0, "/no", NULL);
    put_frame(DATA, 0, 3, filler, 100);
    put_frame(WINDOW, 0, 3, filler, 4);
    put_path(5, 0, "/yes", "a=b");
    put_frame(DATA, END_STREAM, 5, filler, 7);
    put_frame(DATA, END_STREAM, 3, filler, 5);
    put_path(7, END_STREAM, "/yes", "x-http-method-override=PUT");
    asked[0] = names[0] = '\0';
    is_int(h2_read(h, wire, size), (long long)size, "are read to the end");
    is_str(asked, "POST /yes POST /no POST /yes POST /yes! ", "each is asked about");
    /* the server reads what is left */
    struct buf left = {0};
    buf_add(&left, h2_output(h)->s, h2_output(h)->n);
    struct h2 *server = h2_new(false, on_name, NULL);
    ok(h2_judge(server, on_request), "the server");
    asked[0] = '\0';
    is_int(h2_read(server, (const uint8_t *)left.s, left.n), (long long)left.n, "understands it");
    is_str(asked, "POST /yes POST /yes ", "and sees only those that are allowed");
    ok(left.n < size && !memmem(left.s, left.n, filler, 100), "and no body of another");
    /* the client's answers: 403 and RST_STREAM on 3, two WINDOW_UPDATEs, 403 on 7 */
    const struct h2_answers *a = h2_own_answers(h);
    ok(!h2_answers_may_send(a), "nothing is sent before the server's first frame");
    ok(memmem(a->waiting.s, a->waiting.n,
              "\x08\x03"
              "403",
              5) &&
           memmem(a->waiting.s, a->waiting.n, "\0\0\4\10\0\0\0\0\0\0\0\0\144", 13),
       "an answer, and room for the bytes that were dropped");
    struct h2_answers follow = {0};
    buf_add(&follow.waiting, "x", 1);
    const uint8_t frames[] = {0, 0, 0,    4, 0, 0, 0, 0, 0, 0, 0, 1, 1,    0, 0, 0,
                              0, 1, 0x88, 0, 0, 1, 9, 4, 0, 0, 0, 1, 0x88, 0, 0};
    is_int((long long)h2_answers_follow(&follow, frames, sizeof(frames)), 9, "after SETTINGS");
    is_int((long long)h2_answers_follow(&follow, frames + 9, sizeof(frames) - 9), 20,
           "not inside a header block");
    is_int((long long)h2_answers_follow(&follow, frames + 29, 2), 2, "not inside a frame");
    ok(!h2_answers_may_send(&follow), "which is incomplete");
    buf_free(&follow.waiting);
    buf_free(&left);
    h2_free(server);
    h2_free(h);
}

/* ---- requests that wait ---- */

static enum h2_verdict note_fields(void *arg, const struct h2_asked *q, struct h2_denial *no)
{
    nghttp2_nv list[H2_FIELDS_MAX];
    size_t n = h2_fields_list(q->fields, list, H2_FIELDS_MAX);
    (void)arg;
    (void)no;
    for (size_t i = 0; i < n; i++)
        snprintf(asked + strlen(asked), sizeof(asked) - strlen(asked), "%.*s=%.*s ",
                 (int)list[i].namelen, (char *)list[i].name, (int)list[i].valuelen,
                 (char *)list[i].value);
    return H2_SEND;
}

static void test_waiting(void)
{
    int later = 2;
    struct h2 *h = h2_new(false, on_name, &later);
    ok(h2_judge(h, on_request), "requests that wait");
    begin();
    put_path(1, 0, "/set", "x-gone=1");
    size_t first = size;
    put_frame(DATA, END_STREAM, 1, filler, 100);
    asked[0] = names[0] = '\0';
    is_int(h2_read(h, wire, size), (long long)first, "the client's bytes behind it are not read");
    ok(h2_waits(h) && h2_read(h, wire + first, size - first) == 0, "as long as it waits");
    size_t sent = h2_output(h)->n;
    ok(h2_resume(h) && h2_waits(h) && h2_output(h)->n == sent, "it is asked about again");
    ok(h2_resume(h) && !h2_waits(h) && h2_output(h)->n > sent, "until there is an answer");
    is_str(asked, "POST /set POST /set POST /set ", "three times in all");
    is_int(h2_read(h, wire + first, size - first), (long long)(size - first), "and goes on");
    struct h2 *server = h2_new(false, on_name, NULL);
    ok(h2_judge(server, note_fields), "the server");
    asked[0] = '\0';
    const struct buf *out = h2_output(h);
    is_int(h2_read(server, (const uint8_t *)out->s, out->n), (long long)out->n, "reads all of it");
    is_str(asked, ":method=POST :scheme=http :path=/other :authority=a.test x-new=1 x-empty= ",
           "with the changes");
    h2_free(server);
    h2_free(h);
}

int main(void)
{
    test_requests();
    test_pieces();
    test_upgraded();
    test_fields();
    test_forms();
    test_frames();
    test_bounds();
    test_judged();
    test_waiting();
    nghttp2_hd_deflate_del(packer);
    return done_testing();
}
