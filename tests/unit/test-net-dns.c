/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Questions, malformed questions, and replies as the C library's parser reads them. */

#include <arpa/nameser.h>
#include <resolv.h>

#include "net/dns.h"
#include "tap.h"

static uint8_t wire[512], reply[DNS_MAX], many[DNS_STREAM_MAX];

/* Encodes a question as the resolver library does. */
static size_t ask(const char *name, int type)
{
    int n = res_mkquery(ns_o_query, name, ns_c_in, type, NULL, 0, NULL, wire, sizeof(wire));
    return n > 0 ? (size_t)n : 0;
}

static struct dns_query q;
static enum dns_code code;

static void test_questions(void)
{
    size_t n = ask("Api.Example.COM", ns_t_a);
    ok(dns_query_read(wire, n, &q, &code) && code == DNS_OK && q.type == DNS_A && q.named,
       "a question for an address");
    is_str(q.host.name, "api.example.com", "in its canonical form");
    n = ask("4.3.2.1.in-addr.arpa", ns_t_ptr);
    ok(dns_query_read(wire, n, &q, &code) && q.reverse, "a question about an address");
    is_str(q.host.name, "1.2.3.4", "the right way round");
    n = ask("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa", ns_t_ptr);
    ok(dns_query_read(wire, n, &q, &code) && q.reverse, "a question about an IPv6 address");
    is_str(q.host.name, "2001:db8::1", "the right way round");
    n = ask("256.3.2.1.in-addr.arpa", ns_t_ptr);
    ok(dns_query_read(wire, n, &q, &code) && code == DNS_OK && !q.reverse, "no address, a name");
    n = ask("127.0.0.1", ns_t_a);
    ok(dns_query_read(wire, n, &q, &code) && code == DNS_OK && !q.named,
       "an address is no name to look up");
    n = ask("_sip._tcp.example.com", ns_t_srv);
    ok(dns_query_read(wire, n, &q, &code) && q.named && q.type == DNS_SRV, "underscores");
}

static void test_malformed(void)
{
    size_t n = ask("a.example", ns_t_a);
    bool refused = true;
    for (size_t cut = 12; cut < n; cut++)
        refused = refused && dns_query_read(wire, cut, &q, &code) && code == DNS_FORMAT;
    ok(refused, "cut anywhere, the format is wrong");
    ok(!dns_query_read(wire, 11, &q, &code), "less than a head is not answered");
    wire[2] |= 0x80;
    ok(!dns_query_read(wire, n, &q, &code), "an answer is not answered");
    ask("a.example", ns_t_a);
    wire[5] = 2;
    ok(dns_query_read(wire, n, &q, &code) && code == DNS_FORMAT, "two questions");
    ask("a.example", ns_t_a);
    wire[2] |= 0x10;
    ok(dns_query_read(wire, n, &q, &code) && code == DNS_NOT_KNOWN, "another kind of request");
    ask("a.example", ns_t_a);
    wire[12] = 0xc0;
    ok(dns_query_read(wire, n, &q, &code) && code == DNS_FORMAT, "a pointer in a question");
    ask("a.example", ns_t_a);
    wire[n - 1] = 3;
    ok(dns_query_read(wire, n, &q, &code) && code == DNS_NOT_KNOWN, "another class");
    ask("a.example", ns_t_a);
    wire[n] = 0;
    ok(dns_query_read(wire, n + 1, &q, &code) && code == DNS_FORMAT, "something behind it");
}

static void add_options(size_t *n)
{
    static const uint8_t opt[] = {0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0};
    memcpy(wire + *n, opt, sizeof(opt));
    *n += sizeof(opt);
    wire[11] = 1;
}

static void test_answers(void)
{
    ns_msg m;
    ns_rr rr;
    char text[256];
    struct peer h;
    size_t n = ask("a.example", ns_t_a);
    dns_query_read(wire, n, &q, &code);
    peer_parse("198.18.1.7", 10, &h);
    size_t len = dns_reply_address(&q, h.addr, 60, reply);
    ok(ns_initparse(reply, (int)len, &m) == 0 && ns_msg_count(m, ns_s_an) == 1 &&
           ns_msg_id(m) == q.id && ns_msg_getflag(m, ns_f_ra),
       "the C library reads the answer");
    ok(ns_parserr(&m, ns_s_an, 0, &rr) == 0 && ns_rr_type(rr) == ns_t_a && ns_rr_rdlen(rr) == 4 &&
           memcmp(ns_rr_rdata(rr), "\xc6\x12\x01\x07", 4) == 0 && ns_rr_ttl(rr) == 60,
       "with the address in it");
    n = ask("a.example", ns_t_aaaa);
    add_options(&n);
    ok(dns_query_read(wire, n, &q, &code) && code == DNS_OK && q.edns, "a question with options");
    peer_parse("fd00::1", 7, &h);
    len = dns_reply_address(&q, h.addr, 60, reply);
    ok(ns_initparse(reply, (int)len, &m) == 0 && ns_parserr(&m, ns_s_an, 0, &rr) == 0 &&
           ns_rr_rdlen(rr) == 16 && ns_msg_count(m, ns_s_ar) == 1,
       "its answer has them too");
    len = dns_reply_code(&q, DNS_NO_NAME, "denied by the policy", reply);
    ok(ns_initparse(reply, (int)len, &m) == 0 && ns_msg_getflag(m, ns_f_rcode) == ns_r_nxdomain &&
           memmem(reply, len, "denied by the policy", 20),
       "a refusal says why");
    n = ask("1.1.18.198.in-addr.arpa", ns_t_ptr);
    dns_query_read(wire, n, &q, &code);
    peer_parse("www.example.com", 15, &h);
    len = dns_reply_name(&q, &h, 60, reply);
    ok(ns_initparse(reply, (int)len, &m) == 0 && ns_parserr(&m, ns_s_an, 0, &rr) == 0 &&
           ns_name_uncompress(reply, reply + len, ns_rr_rdata(rr), text, sizeof(text)) > 0,
       "a name is read back");
    is_str(text, "www.example.com", "as it was");
}

/* Finds a record's data with the C library's parser. */
static const uint8_t *record_data(ns_msg *m, size_t len, int i, uint16_t *size)
{
    ns_rr rr;
    if (ns_initparse(many, (int)len, m) < 0 || ns_parserr(m, ns_s_an, i, &rr) < 0)
        return NULL;
    *size = ns_rr_rdlen(rr);
    return ns_rr_rdata(rr);
}

static void test_records(void)
{
    struct dns_reply r;
    ns_msg m;
    uint16_t size = 0;
    size_t n = ask("_db._tcp.example.com", ns_t_srv);
    dns_query_read(wire, n, &q, &code);
    dns_reply_begin(&r, &q, DNS_OK, many, DNS_PLAIN_MAX);
    dns_reply_service(&r, (uint16_t[]){1, 2, 300}, "a.example", 60);
    dns_reply_service(&r, (uint16_t[]){1, 2, 3}, "no host", 60);
    dns_reply_service(&r, (uint16_t[]){1, 2, 3}, "10.1", 60);
    dns_reply_service(&r, (uint16_t[]){4, 5, 6}, "", 60);
    size_t len = dns_reply_end(&r, &q);
    const uint8_t *data = record_data(&m, len, 0, &size);
    ok(data && size == 17 && memcmp(data, "\0\1\0\2\1\54\1a\7example\0", 17) == 0, "a service");
    data = record_data(&m, len, 1, &size);
    ok(data && size == 7 && memcmp(data, "\0\4\0\5\0\6\0", 7) == 0, "that there is none");
    is_int(ns_msg_count(m, ns_s_an), 2, "what names no host is left out");
    ok(!ns_msg_getflag(m, ns_f_tc), "and that is no cut");

    dns_reply_begin(&r, &q, DNS_OK, many, DNS_PLAIN_MAX);
    for (int i = 0; i < 100; i++)
        dns_reply_mail(&r, 7, "mail.example", 60);
    len = dns_reply_end(&r, &q);
    data = record_data(&m, len, 0, &size);
    ok(data && size == 16 && len <= DNS_PLAIN_MAX && ns_msg_getflag(m, ns_f_tc),
       "what does not fit is cut and marked");
    /* a record: pointer, type, class, time, length and data */
    is_int(ns_msg_count(m, ns_s_an), (int)((DNS_PLAIN_MAX - 11 - n) / (12 + 16)),
           "as late as it can");
}

static void test_texts(void)
{
    static char large[255];
    struct dns_reply r;
    ns_msg m;
    uint16_t size = 0;
    size_t n = ask("example.com", ns_t_txt);
    dns_query_read(wire, n, &q, &code);
    dns_reply_begin(&r, &q, DNS_OK, many, DNS_STREAM_MAX);
    dns_reply_text(&r, true, "ab", 2, 60);
    dns_reply_text(&r, false, "", 0, 60);
    dns_reply_text(&r, true, "c\0d", 3, 60);
    dns_reply_text(&r, true, many, 256, 60);
    size_t len = dns_reply_end(&r, &q);
    const uint8_t *data = record_data(&m, len, 0, &size);
    ok(data && size == 4 && memcmp(data, "\2ab\0", 4) == 0, "a text in two strings");
    data = record_data(&m, len, 1, &size);
    ok(data && size == 4 && memcmp(data, "\3c\0d", 4) == 0, "and one with any bytes");
    is_int(ns_msg_count(m, ns_s_an), 2, "no string is longer than it may be");
    dns_reply_begin(&r, &q, DNS_OK, many, DNS_PLAIN_MAX);
    dns_reply_text(&r, true, "ab", 2, 60);
    dns_reply_text(&r, true, large, sizeof(large), 60);
    dns_reply_text(&r, false, large, sizeof(large), 60);
    dns_reply_text(&r, false, "x", 1, 60);
    len = dns_reply_end(&r, &q);
    data = record_data(&m, len, 0, &size);
    ok(data && ns_msg_count(m, ns_s_an) == 1 && ns_msg_getflag(m, ns_f_tc) && size == 3,
       "half a text is left out");
}

int main(void)
{
    test_questions();
    test_malformed();
    test_answers();
    test_records();
    test_texts();
    return done_testing();
}
