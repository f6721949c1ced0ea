/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Credentials: placeholders, where they are replaced, and answers in every division. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "net/secrets.h"
#include "tap.h"

static const char value[] = "sk-ant-Ab3dEf6hIj9/kLm+No1pQ";
static char fake[sizeof(value)];
static const struct secret_place places[] = {
    {.host = "api.example.com", .path = "/v1/", .below = true},
    {.host = "*.example.org", .port = 443},
};

static struct peer named(const char *name)
{
    struct peer p;
    peer_parse(name, strlen(name), &p);
    return p;
}

static void test_fake(void)
{
    char out[64];
    ok(secret_fake(value, sizeof(value) - 1, fake), "a placeholder");
    ok(memcmp(fake, "sk-ant-", 7) == 0, "keeps the prefix: %s", fake);
    ok(strcmp(fake, value) != 0, "and is another");
    for (size_t i = 0; i < sizeof(value) - 1; i++)
        if ((value[i] == '/') != (fake[i] == '/') || (value[i] == '+') != (fake[i] == '+'))
            ok(0, "byte %zu has another shape", i);
    ok(!secret_fake("1234567", 7, out), "too short");
    ok(!secret_fake("----------------", 16, out), "nothing to change");
    ok(secret_fake("12345678", 8, out), "eight digits do");
}

static void test_hosts(const struct secrets *s)
{
    struct peer api = named("api.example.com"), other = named("example.com");
    struct peer below = named("a.b.example.org"), bare = named("example.org");
    struct request r = {.paths = {{"/v1/x", 5}}, .npaths = 1};
    is_int(secrets_for_host(s, &api, 443), 1, "a host");
    is_int(secrets_for_host(s, &other, 443), 0, "another");
    is_int(secrets_for_host(s, &below, 443), 1, "a name below");
    is_int(secrets_for_host(s, &below, 8443), 0, "at another port");
    is_int(secrets_for_host(s, &bare, 443), 0, "not the name itself");
    is_int(secrets_for_host(NULL, &api, 443), 0, "without secrets");
    is_int(secrets_for_request(s, &api, 443, &r), 1, "a path below");
    r.paths[1] = (struct slice){"/v2/x", 5};
    r.npaths = 2;
    is_int(secrets_for_request(s, &api, 443, &r), 0, "each reading counts");
    is_int(secrets_for_request(s, &below, 443, &r), 1, "no path: all");
}

static void test_head(const struct secrets *s)
{
    OWN(buf) struct buf in = {0}, want = {0}, out = {0};
    for (int i = 0; i < 2; i++) {
        const char *t = i ? value : fake;
        struct buf *b = i ? &want : &in;
        buf_fmt(b, "GET /%s?a=%s HTTP/1.1\r\nHost: %s\r\n", fake, t, fake);
        if (!i)
            buf_str(b, "Accept-Encoding: gzip\r\nrange: bytes=0-1\r\nTE: trailers\r\n");
        buf_fmt(b, "Authorization: Bearer %s\r\nX-%s: a %s,%s\r\n", t, fake, t, t);
        buf_str(b, i ? "Accept-Encoding: identity\r\n\r\n" : "\r\n");
    }
    secrets_write_head(s, 1, false, in.s, in.n, &out);
    is_str(out.s, want.s,
           "a header: fields' values and the query, not the path, names and the host");
    out.n = 0;
    secrets_write_head(s, 0, false, in.s, in.n, &out);
    ok(!strstr(out.s, value), "none for this request");
}

static void test_basic(const struct secrets *s)
{
    OWN(buf) struct buf in = {0}, out = {0};
    buf_str(&in,
            "GET / HTTP/1.1\r\nAuthorization: basic !!notbase64\r\nAuthorization: Basic =\r\n\r\n");
    secrets_write_head(s, 1, false, in.s, in.n, &out);
    ok(strstr(out.s, "basic !!notbase64\r\n"), "what is no base64 stays");
    ok(strstr(out.s, "Basic =\r\n"), "nothing, too");
    OWN(buf) struct buf want = {0}, query = {0};
    buf_str(&query, "GET /?a=");
    for (size_t i = 0; fake[i]; i++) {
        bool plain = fake[i] != '/' && fake[i] != '+';
        const char *escape = fake[i] == '/' ? "%2F" : "%2B";
        buf_add(&query, plain ? &fake[i] : escape, plain ? 1 : 3);
        buf_add(&want, plain ? &value[i] : escape, plain ? 1 : 3);
    }
    buf_str(&query, " HTTP/1.1\r\n\r\n");
    out.n = 0;
    secrets_write_head(s, 1, false, query.s, query.n, &out);
    ok(strstr(out.s, want.s), "escaped in the query: %s", out.s);
}

/* Feeds the answer in two parts, and compares. */
static void test_divided(const struct secrets *s, const char *text, const char *marks)
{
    size_t n = strlen(text);
    unsigned wrong = 0;
    for (size_t cut = 0; cut <= n; cut++) {
        struct secrets_flow a = {0};
        OWN(buf) struct buf got = {0};
        for (size_t i = 0; i < n; i++) {
            secrets_flow_add(&a, text + i, 1, !marks || marks[i] == 'x');
            if (i + 1 != cut && i + 1 != n)
                continue;
            ssize_t ready = secrets_flow_ready(s, 1, &a, i + 1 == n);
            buf_add(&got, a.raw.s, (size_t)ready);
            secrets_flow_sent(&a, (size_t)ready);
        }
        wrong += got.n != n || memmem(got.s, got.n, value, strlen(value)) != NULL;
        secrets_flow_free(&a);
    }
    is_int(wrong, 0, "an answer, divided anywhere: %.40s", text);
}

/* A request's body, divided anywhere: the placeholder becomes the secret. */
static void test_bodies(const struct secrets *s)
{
    char text[256], want[256];
    snprintf(text, sizeof(text), "{\"a\": \"%s\"}", fake);
    snprintf(want, sizeof(want), "{\"a\": \"%s\"}", value);
    size_t n = strlen(text);
    unsigned wrong = 0;
    for (size_t cut = 1; cut <= n; cut++) {
        struct secrets_flow f = {.way = SECRETS_INSERT};
        OWN(buf) struct buf got = {0};
        for (size_t from = 0; from < n; from += cut) {
            size_t part = n - from < cut ? n - from : cut;
            secrets_flow_add(&f, text + from, part, true);
            ssize_t ready = secrets_flow_ready(s, 1, &f, from + part == n);
            buf_add(&got, f.raw.s, (size_t)ready);
            secrets_flow_sent(&f, (size_t)ready);
        }
        wrong += got.n != n || memcmp(got.s, want, n) != 0;
        secrets_flow_free(&f);
    }
    is_int(wrong, 0, "a body gets the secret");
    struct secrets_flow f = {.way = SECRETS_INSERT};
    secrets_flow_add(&f, text, n, false);
    is_int(secrets_flow_ready(s, 1, &f, true), (long long)n, "framing");
    ok(memcmp(f.raw.s, text, n) == 0, "does not");
    secrets_flow_free(&f);
    is_int(secrets_in(s, 1, SECRET_IN_BODY), 0, "only if its rule says so");
    is_int(secrets_in(s, 1, SECRET_IN_QUERY), 1, "as for the query");
}

static void test_answers(const struct secrets *s)
{
    char text[512], marks[512];
    snprintf(text, sizeof(text), "before %s after %s", value, value);
    test_divided(s, text, NULL);
    snprintf(text, sizeof(text), "sk-ant-sk-ant-Ab3%s%.20s", value, value);
    test_divided(s, text, NULL);
    /* chunks of one byte; the last is a space, since a placeholder may end as the secret begins */
    size_t n = 0;
    for (size_t i = 0; i <= strlen(value); i++) {
        memcpy(text + n, "1\r\n \r\n", 6);
        memcpy(marks + n, "---x--", 6);
        if (value[i])
            text[n + 3] = value[i];
        n += 6;
    }
    text[n] = '\0';
    struct secrets_flow a = {0};
    for (size_t i = 0; i < n; i++)
        secrets_flow_add(&a, text + i, 1, marks[i] == 'x');
    is_int(secrets_flow_ready(s, 1, &a, false), (long long)n, "all of it is known");
    size_t same = 0;
    for (size_t i = 0; value[i]; i++)
        same += a.raw.s[6 * i + 3] == fake[i];
    is_int((long long)same, (long long)strlen(value), "chunks of one byte");
    secrets_flow_free(&a);
    ok(secrets_answer_is_encoded("HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\n", 42),
       "compressed");
    ok(secrets_answer_is_encoded("HTTP/1.1 200 OK\r\nContent-Encoding: identity, br\r\n\r\n", 52),
       "also after identity");
    ok(!secrets_answer_is_encoded("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\n\r\n", 48),
       "not");
}

/* A process that needs none has them nowhere: not in its set, nor in a variable. */
static void test_forget(void)
{
    static const struct secret_place place = {.host = "a.b"};
    char text[] = "ghp_Ab3dEf6hIj9/kLm", other[] = "ghp_Zz0zZz0zZz0/zZz";
    struct secrets s = {0};
    setenv("CARRIES", "before ghp_Ab3dEf6hIj9/kLm after", 1);
    const struct secret one = {text, other, strlen(text), &place, 1, SECRET_IN_HEADER};
    is_int(secrets_add(&s, &one), 0, "a secret");
    ok(s.nforms > 3, "has forms");
    secrets_forget(&s);
    is_str(getenv("CARRIES"), "before ******************* after", "a variable loses it");
    ok(!memchr(text, 'A', sizeof(text)), "so does its place");
    bool left = false;
    for (size_t i = 0; i < s.nforms; i++)
        for (size_t k = 0; k < s.forms[i].n; k++)
            left = left || s.forms[i].value[k];
    ok(!left, "and every form");
    secrets_free(&s);
}

int main(void)
{
    struct secrets s = {0};
    test_fake();
    struct secret one = {value,  fake, sizeof(value) - 1,
                         places, 2,    SECRET_IN_HEADER | SECRET_IN_QUERY};
    is_int(secrets_add(&s, &one), 0, "a secret");
    test_hosts(&s);
    test_head(&s);
    test_basic(&s);
    test_bodies(&s);
    test_answers(&s);
    secrets_free(&s);
    test_forget();
    return done_testing();
}
