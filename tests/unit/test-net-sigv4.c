/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* AWS signatures: those that AWS publishes (its test suite, and the examples in S3's manual), and
 * requests whose signatures are made anew. */

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "net/resign.h"
#include "tap.h"

static struct http_head head, room;

/* ---- published signatures ---- */

#define SUITE "20150830/us-east-1/service/aws4_request"
#define S3 "20130524/us-east-1/s3/aws4_request"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct published {
    const char *name, *scope, *names, *request, *body, *signature;
} published[] = {
    {"get-vanilla", SUITE, "host;x-amz-date",
     "GET / HTTP/1.1\r\nHost:example.amazonaws.com\r\nX-Amz-Date:20150830T123600Z\r\n", "",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"post-vanilla", SUITE, "host;x-amz-date",
     "POST / HTTP/1.1\r\nHost:example.amazonaws.com\r\nX-Amz-Date:20150830T123600Z\r\n", "",
     "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"get-header-key-duplicate", SUITE, "host;my-header1;x-amz-date",
     "GET / HTTP/1.1\r\nHost:example.amazonaws.com\r\nMy-Header1:value2\r\nMy-Header1:value2\r\n"
     "My-Header1:value1\r\nX-Amz-Date:20150830T123600Z\r\n",
     "", "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
    {"get-header-value-trim", SUITE, "host;my-header1;my-header2;x-amz-date",
     "GET / HTTP/1.1\r\nHost:example.amazonaws.com\r\nMy-Header1: value1\r\n"
     "My-Header2: \"a   b   c\"\r\nX-Amz-Date:20150830T123600Z\r\n",
     "", "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
    {"get-vanilla-query-order-key-case", SUITE, "host;x-amz-date",
     "GET /?Param2=value2&Param1=value1 HTTP/1.1\r\nHost:example.amazonaws.com\r\n"
     "X-Amz-Date:20150830T123600Z\r\n",
     "", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {"get-utf8", SUITE, "host;x-amz-date",
     "GET /%E1%88%B4 HTTP/1.1\r\nHost:example.amazonaws.com\r\nX-Amz-Date:20150830T123600Z\r\n", "",
     "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
    {"get-unreserved", SUITE, "host;x-amz-date",
     "GET /-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz HTTP/1.1\r\n"
     "Host:example.amazonaws.com\r\nX-Amz-Date:20150830T123600Z\r\n",
     "", "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
    {"post-x-www-form-urlencoded", SUITE, "content-type;host;x-amz-date",
     "POST / HTTP/1.1\r\nContent-Type:application/x-www-form-urlencoded\r\n"
     "Host:example.amazonaws.com\r\nX-Amz-Date:20150830T123600Z\r\nContent-Length: 13\r\n",
     "Param1=value1", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
    {"S3: part of an object", S3, "host;range;x-amz-content-sha256;x-amz-date",
     "GET /test.txt HTTP/1.1\r\nHost: examplebucket.s3.amazonaws.com\r\nRange: bytes=0-9\r\n"
     "x-amz-content-sha256:" EMPTY "\r\nx-amz-date: 20130524T000000Z\r\n",
     NULL, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
    {"S3: a new object", S3, "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
     "PUT /test%24file.text HTTP/1.1\r\nHost: examplebucket.s3.amazonaws.com\r\n"
     "Date: Fri, 24 May 2013 00:00:00 GMT\r\nx-amz-date: 20130524T000000Z\r\n"
     "x-amz-storage-class: REDUCED_REDUNDANCY\r\nContent-Length: 21\r\nx-amz-content-sha256: "
     "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072\r\n",
     NULL, "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
    {"S3: a parameter without value", S3, "host;x-amz-content-sha256;x-amz-date",
     "GET /?lifecycle HTTP/1.1\r\nHost: examplebucket.s3.amazonaws.com\r\n"
     "x-amz-date: 20130524T000000Z\r\nx-amz-content-sha256:" EMPTY "\r\n",
     NULL, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
    {"S3: a list", S3, "host;x-amz-content-sha256;x-amz-date",
     "GET /?max-keys=2&prefix=J HTTP/1.1\r\nHost: examplebucket.s3.amazonaws.com\r\n"
     "x-amz-date: 20130524T000000Z\r\nx-amz-content-sha256:" EMPTY "\r\n",
     NULL, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
};

static void test_published(void)
{
    static const char *const keys[] = {"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                                       "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
        const struct published *p = &published[i];
        OWN(buf) struct buf text = {0};
        struct sigv4 sig;
        char hash[SHA256_HEX + 1], made[SHA256_HEX + 1] = "";
        buf_fmt(&text,
                "%sAuthorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/%s, SignedHeaders=%s, "
                "Signature=%s\r\n\r\n",
                p->request, p->scope, p->names, p->signature);
        ok(http_head_read(text.s, text.n, &head) == HTTP_FOUND, "%s", p->name);
        const char *why = sigv4_read(&head, false, &sig);
        ok(!why, "is understood: %s", why ? why : "");
        sha256_hex(p->body ? p->body : "", p->body ? strlen(p->body) : 0, hash);
        struct slice payload = p->body ? (struct slice){hash, SHA256_HEX} : sig.payload;
        const char *key = keys[strcmp(p->scope, S3) == 0];
        if (!why)
            sigv4_sign(&head, &sig, SIGV4_AS_SENT, payload, key, strlen(key), made);
        is_str(made, p->signature, "%s: its signature", p->name);
    }
}

static void test_presigned(void)
{
    static const char text[] =
        "GET /test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F"
        "20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&"
        "X-Amz-SignedHeaders=host&X-Amz-Signature="
        "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404 HTTP/1.1\r\n"
        "Host: examplebucket.s3.amazonaws.com\r\n\r\n";
    static const char key[] = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    struct sigv4 sig;
    char made[SHA256_HEX + 1] = "";
    ok(http_head_read(text, strlen(text), &head) == HTTP_FOUND && !sigv4_read(&head, true, &sig),
       "a presigned request");
    sigv4_sign(&head, &sig, SIGV4_AS_SENT, (struct slice){"UNSIGNED-PAYLOAD", 16}, key, strlen(key),
               made);
    is_str(made, "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404",
           "its signature");
}

/* ---- what is not understood ---- */

static void test_refused(void)
{
    static const char *const wrong[] = {
        "AWS4-ECDSA-P256-SHA256 Credential=A/20150830/r/s/aws4_request, SignedHeaders=host, "
        "Signature=" EMPTY,
        "AWS4-HMAC-SHA256 Credential=A/20150830/r/s/aws4_request, SignedHeaders=host",
        "AWS4-HMAC-SHA256 Credential=A/20150830/r/s/aws4_request, SignedHeaders=x-amz-date, "
        "Signature=" EMPTY,
        "AWS4-HMAC-SHA256 Credential=A/20150830/r/s/aws4_request, SignedHeaders=host;a, "
        "Signature=" EMPTY,
        "AWS4-HMAC-SHA256 Credential=A/20150830/r/s/aws4_request, SignedHeaders=host;Z, "
        "Signature=" EMPTY,
        "AWS4-HMAC-SHA256 Credential=A/20150830/r/s/aws4_request, SignedHeaders=host, "
        "Signature=0" EMPTY,
        "AWS4-HMAC-SHA256 Credential=A/20150831/r/s/aws4_request, SignedHeaders=host, "
        "Signature=" EMPTY,
        "AWS4-HMAC-SHA256 Credential=A/20150830/r/aws4_request, SignedHeaders=host, "
        "Signature=" EMPTY,
        "AWS4-HMAC-SHA256 Credential=A/20150830/r/s/aws4_request, Credential=B, "
        "SignedHeaders=host, Signature=" EMPTY,
        "AWS A:signature",
        "",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        OWN(buf) struct buf text = {0};
        struct sigv4 sig;
        buf_fmt(&text,
                "GET / HTTP/1.1\r\nHost: a\r\nX-Amz-Date: 20150830T123600Z\r\nAuthorization: "
                "%s\r\n\r\n",
                wrong[i]);
        ok(http_head_read(text.s, text.n, &head) == HTTP_FOUND && sigv4_read(&head, false, &sig),
           "not understood: %.60s", wrong[i]);
    }
}

/* ---- signing anew ---- */

static const struct secret_place place = {.host = "a.b"};
static const char id_value[] = "AKIAREALREALREAL", id_fake[] = "AKIAFAKEFAKEFAKE";
static const char key_value[] = "realrealrealrealrealrealrealreal",
                  key_fake[] = "fakefakefakefakefakefakefakefake";

/* A request, signed with this key, as a client would. */
static void write_signed(struct buf *out, const char *start, const char *id, const char *key,
                         enum sigv4_path how, const char *body)
{
    char hash[SHA256_HEX + 1], made[SHA256_HEX + 1] = EMPTY;
    sha256_hex(body, strlen(body), hash);
    for (int i = 0; i < 2; i++) {
        struct sigv4 sig;
        out->n = 0;
        buf_fmt(out,
                "%sX-Amz-Date: 20150830T123600Z\r\nAuthorization: AWS4-HMAC-SHA256 Credential=%s/"
                "20150830/r/s/aws4_request, SignedHeaders=host;x-amz-date, Signature=%s\r\n",
                start, id, made);
        buf_str(out, i == 1 ? "Accept-Encoding: identity\r\n\r\n" : "\r\n");
        http_head_read(out->s, out->n, &room);
        sigv4_read(&room, false, &sig);
        sigv4_sign(&room, &sig, how, sig.payload.n ? sig.payload : (struct slice){hash, SHA256_HEX},
                   key, strlen(key), made);
    }
}

static const char *sign_anew(const struct secrets *s, const struct buf *request, const char *body,
                             struct buf *out)
{
    http_head_read(request->s, request->n, &head);
    const struct secrets_pair *pair = resign_find(s, 3, &head);
    if (!pair)
        return "no pair";
    secrets_write_head(s, 3, true, request->s, request->n, out);
    return resign(s, pair, &head, (struct slice){body, strlen(body)}, out, &room);
}

static void test_anew(const struct secrets *s)
{
    static const char hashed[] = "PUT /x HTTP/1.1\r\nHost: a.b\r\nContent-Length: 4\r\n"
                                 "X-Amz-Content-Sha256: UNSIGNED-PAYLOAD\r\n";
    static const char *const starts[] = {
        "GET /a%20b/c?b=2&a=%2F HTTP/1.1\r\nHost: a.b\r\n",
        "POST / HTTP/1.1\r\nHost: a.b\r\nContent-Length: 4\r\n",
        hashed,
    };
    for (size_t i = 0; i < 6; i++) {
        OWN(buf) struct buf request = {0}, want = {0}, out = {0};
        const char *body = i % 3 ? "body" : "";
        write_signed(&request, starts[i % 3], id_fake, key_fake, (enum sigv4_path)(i / 3), body);
        write_signed(&want, starts[i % 3], id_value, key_value, (enum sigv4_path)(i / 3), body);
        const char *why = sign_anew(s, &request, body, &out);
        is_str(why ? why : out.s, want.s, "signed anew: %.20s", starts[i % 3]);
        char *last = strstr(request.s, "Signature=");
        last[12] = last[12] == '0' ? '1' : '0';
        out.n = 0;
        ok(sign_anew(s, &request, body, &out), "not with another signature");
    }
    OWN(buf) struct buf request = {0}, out = {0};
    write_signed(&request, starts[1], id_fake, key_fake, SIGV4_AS_SENT, "body");
    ok(sign_anew(s, &request, "Body", &out), "not with another body");
    http_head_read(request.s, request.n, &head);
    ok(resign_needs_body(s, 3, &head), "whose bytes have to be there");
    ok(!resign_find(s, 0, &head), "for another host there is no pair");
    request.n = 0;
    write_signed(&request,
                 "PUT / HTTP/1.1\r\nHost: a.b\r\nContent-Length: 4\r\nX-Amz-Content-Sha256: "
                 "STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\n",
                 id_fake, key_fake, SIGV4_AS_SENT, "");
    out.n = 0;
    ok(sign_anew(s, &request, "", &out), "not if each chunk is signed");
}

int main(void)
{
    struct secrets s = {0};
    const unsigned parts = SECRET_IN_HEADER | SECRET_IN_QUERY;
    test_published();
    test_presigned();
    test_refused();
    secrets_add(&s, &(struct secret){id_value, id_fake, strlen(id_fake), &place, 1, parts});
    secrets_add(&s, &(struct secret){key_value, key_fake, strlen(key_fake), &place, 1, parts});
    is_int(secrets_add_pair(&s, 0, 1), 0, "a pair");
    test_anew(&s);
    secrets_free(&s);
    return done_testing();
}
