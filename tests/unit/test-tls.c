/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* TLS that ends in the gate: our declarations of OpenSSL's functions, and both ends of a connection
 * in memory. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_include(<openssl/ssl.h>)
#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#define HEADERS 1
#else
#define HEADERS 0
#endif

#include "tls/tls.h"
#include "tap.h"

/* ---- declarations ---- */

#if HEADERS
#define SAME(name)                                                                                 \
    ok(__builtin_types_compatible_p(__typeof__(&name),                                             \
                                    __typeof__(((struct tls_library *)0)->name)),                  \
       "%s", #name)

static void test_declarations(void)
{
    SAME(TLS_server_method);
    SAME(TLS_client_method);
    SAME(SSL_CTX_new);
    SAME(SSL_CTX_free);
    SAME(SSL_CTX_ctrl);
    SAME(SSL_CTX_set_options);
    SAME(SSL_CTX_set_default_verify_paths);
    SAME(SSL_CTX_set_client_hello_cb);
    SAME(SSL_CTX_set_alpn_select_cb);
    SAME(SSL_CTX_set_client_cert_cb);
    SAME(SSL_client_hello_get0_ext);
    SAME(SSL_new);
    SAME(SSL_free);
    SAME(SSL_ctrl);
    SAME(SSL_set_bio);
    SAME(SSL_set_accept_state);
    SAME(SSL_set_connect_state);
    SAME(SSL_set_ex_data);
    SAME(SSL_get_ex_data);
    SAME(SSL_set_alpn_protos);
    SAME(SSL_get0_alpn_selected);
    SAME(SSL_set1_host);
    SAME(SSL_get_verify_result);
    SAME(SSL_use_certificate);
    SAME(SSL_use_PrivateKey);
    SAME(SSL_do_handshake);
    SAME(SSL_read);
    SAME(SSL_write);
    SAME(SSL_shutdown);
    SAME(SSL_get_error);
    SAME(BIO_new);
    SAME(BIO_s_mem);
    SAME(BIO_free);
    SAME(BIO_read);
    SAME(BIO_write);
    SAME(BIO_ctrl);
    SAME(ERR_peek_last_error);
    SAME(ERR_clear_error);
    SAME(ERR_reason_error_string);
    SAME(X509_verify_cert_error_string);
    SAME(EVP_PKEY_free);
    SAME(EVP_sha256);
    SAME(X509_new);
    SAME(X509_free);
    SAME(X509_set_version);
    SAME(X509_get_serialNumber);
    SAME(ASN1_INTEGER_set_uint64);
    SAME(X509_getm_notBefore);
    SAME(X509_getm_notAfter);
    SAME(X509_gmtime_adj);
    SAME(X509_get_subject_name);
    SAME(X509_set_issuer_name);
    SAME(X509_NAME_add_entry_by_txt);
    SAME(X509_set_pubkey);
    SAME(X509_sign);
    SAME(X509_add_ext);
    SAME(X509_EXTENSION_free);
    SAME(PEM_write_bio_X509);
    SAME(SSL_CTX_callback_ctrl);
    SAME(SSL_CTX_get_cert_store);
    SAME(SSL_get0_verified_chain);
    SAME(OPENSSL_sk_num);
    SAME(OPENSSL_sk_value);
    SAME(OPENSSL_sk_pop_free);
    SAME(X509_get_ext_d2i);
    SAME(ASN1_INTEGER_get);
    SAME(ASN1_INTEGER_free);
    SAME(EVP_sha1);
    SAME(SSL_session_reused);
    SAME(d2i_OCSP_RESPONSE);
    SAME(OCSP_RESPONSE_free);
    SAME(OCSP_response_status);
    SAME(OCSP_response_get1_basic);
    SAME(OCSP_BASICRESP_free);
    SAME(OCSP_basic_verify);
    SAME(OCSP_cert_to_id);
    SAME(OCSP_CERTID_free);
    SAME(OCSP_resp_find_status);
    SAME(OCSP_check_validity);
    ok(sizeof(X509V3_CTX) <= 512, "a certificate's context fits into its room");
    is_int(SSL_CTRL_MODE, TLS_CTRL_MODE, "constants");
    is_int(SSL_CTRL_SET_SESS_CACHE_MODE, TLS_CTRL_SESSION_CACHE, "constants");
    is_int(SSL_CTRL_SET_TLSEXT_HOSTNAME, TLS_CTRL_HOST_NAME, "constants");
    is_int(SSL_CTRL_SET_MIN_PROTO_VERSION, TLS_CTRL_MIN_VERSION, "constants");
    is_int(SSL_MODE_RELEASE_BUFFERS, TLS_MODE_RELEASE_BUFFERS, "constants");
    is_int(TLS1_2_VERSION, TLS_VERSION_1_2, "constants");
    is_int((long long)SSL_OP_NO_RENEGOTIATION, TLS_OP_NO_RENEGOTIATION, "constants");
    is_int(SSL_ERROR_WANT_READ, TLS_ERROR_WANT_READ, "constants");
    is_int(SSL_ERROR_ZERO_RETURN, TLS_ERROR_CLOSED, "constants");
    is_int(SSL_ERROR_WANT_CLIENT_HELLO_CB, TLS_ERROR_HELLO, "constants");
    is_int(SSL_CLIENT_HELLO_RETRY, TLS_HELLO_LATER, "constants");
    is_int(SSL_TLSEXT_ERR_NOACK, TLS_ALPN_NONE, "constants");
    is_int(BIO_CTRL_INFO, TLS_BIO_BYTES, "constants");
    is_int(BIO_CTRL_RESET, TLS_BIO_RESET, "constants");
    is_int(NID_name_constraints, TLS_NID_NAME_CONSTRAINTS, "constants");
    is_int(NID_subject_alt_name, TLS_NID_ALT_NAME, "constants");
    is_int(NID_basic_constraints, TLS_NID_BASIC_CONSTRAINTS, "constants");
    is_int(NID_key_usage, TLS_NID_KEY_USAGE, "constants");
    is_int(NID_ext_key_usage, TLS_NID_EXTENDED_KEY_USAGE, "constants");
    is_int(NID_subject_key_identifier, TLS_NID_SUBJECT_KEY, "constants");
    is_int(NID_authority_key_identifier, TLS_NID_AUTHORITY_KEY, "constants");
    is_int(SSL_CTRL_SET_TLSEXT_STATUS_REQ_CB, TLS_CTRL_STATUS_CALL, "constants");
    is_int(SSL_CTRL_SET_TLSEXT_STATUS_REQ_CB_ARG, TLS_CTRL_STATUS_ARG, "constants");
    is_int(SSL_CTRL_SET_TLSEXT_STATUS_REQ_TYPE, TLS_CTRL_STATUS_TYPE, "constants");
    is_int(SSL_CTRL_GET_TLSEXT_STATUS_REQ_OCSP_RESP, TLS_CTRL_STATUS_ANSWER, "constants");
    is_int(TLSEXT_STATUSTYPE_ocsp, TLS_STATUS_OCSP, "constants");
    is_int(NID_tlsfeature, TLS_NID_FEATURE, "constants");
    is_int(OCSP_RESPONSE_STATUS_SUCCESSFUL, TLS_OCSP_ANSWERED, "constants");
    is_int(V_OCSP_CERTSTATUS_GOOD, TLS_OCSP_GOOD, "constants");
    is_int(V_OCSP_CERTSTATUS_REVOKED, TLS_OCSP_REVOKED, "constants");
}
#else
static void test_declarations(void)
{
    skip("OpenSSL's headers are not installed");
}
#endif

/* ---- connections ---- */

static struct peer named(const char *name)
{
    struct peer p;
    peer_parse(name, strlen(name), &p);
    return p;
}

static void carry(struct tls *from, struct tls *to)
{
    size_t n;
    const char *data = tls_output(from, &n);
    if (n)
        tls_feed(to, data, n);
    tls_sent(from);
}

/* Both handshakes; the server answers with this protocol. Returns the client's result. */
static enum tls_result shake(struct tls *server, struct tls *client, unsigned protocol)
{
    enum tls_result one = TLS_MORE, two = TLS_MORE;
    for (int i = 0; i < 10 && (one == TLS_MORE || two == TLS_MORE); i++) {
        if (two != TLS_DONE)
            two = tls_handshake(client);
        carry(client, server);
        one = tls_handshake(server);
        if (tls_is_asking(server)) {
            tls_answer(server, protocol);
            one = tls_handshake(server);
        }
        carry(server, client);
    }
    return two;
}

static void test_connection(struct tls_engine *e)
{
    struct peer host = named("a.test"), other = named("b.test"), strange = named("c.example");
    char text[64];
    size_t n;
    struct tls *server = tls_accept(e, &host), *client = tls_connect(e, &host, TLS_H2 | TLS_HTTP1);
    is_int(shake(server, client, TLS_H2), TLS_DONE, "a handshake");
    is_int(tls_chosen(client), TLS_H2, "with HTTP/2");
    ok(tls_write(client, "hello", 5), "writing");
    carry(client, server);
    is_int(tls_read(server, text, sizeof(text), &n), TLS_DONE, "reading");
    ok(n == 5 && memcmp(text, "hello", 5) == 0, "what was written");
    is_int(tls_read(server, text, sizeof(text), &n), TLS_MORE, "and no more");
    tls_close(client);
    carry(client, server);
    is_int(tls_read(server, text, sizeof(text), &n), TLS_CLOSED, "the end");
    tls_free(server);
    tls_free(client);

    server = tls_accept(e, &host);
    client = tls_connect(e, &other, TLS_HTTP1);
    is_int(shake(server, client, TLS_HTTP1), TLS_FAILED, "a certificate for another host");
    ok(strstr(tls_wrong(client), "ostname mismatch"), "the reason: %s", tls_wrong(client));
    tls_free(server);
    tls_free(client);

    server = tls_accept(e, &strange);
    client = tls_connect(e, &strange, TLS_HTTP1);
    is_int(shake(server, client, TLS_HTTP1), TLS_FAILED, "a host outside the authority's names");
    ok(strstr(tls_wrong(client), "subtree"), "the reason: %s", tls_wrong(client));
    tls_free(server);
    tls_free(client);
}

static void test_bytes(struct tls_engine *e)
{
    struct peer host = named("a.test");
    struct tls *t = tls_accept(e, &host);
    ok(tls_feed(t, "GET / HTTP/1.1\r\n\r\n", 18), "bytes that are not TLS");
    is_int(tls_handshake(t), TLS_FAILED, "fail");
    is_int(tls_handshake(t), TLS_FAILED, "and stay so");
    ok(!tls_write(t, "x", 1), "writing fails as well");
    tls_free(t);
    tls_free(NULL);
}

int main(void)
{
    struct buf pem = {0};
    char path[] = "/tmp/test-tls-XXXXXX";
    test_declarations();
    const struct tls_library *lib = tls_library_load();
    if (!lib) {
        skip("libssl.so.3 is not installed");
        return done_testing();
    }
    struct tls_authority *a = tls_authority_new(lib, "critical,permitted;DNS:test");
    ok(a && tls_authority_pem(a, &pem), "an authority");
    ok(pem.s && strstr(pem.s, "BEGIN CERTIFICATE") && !strstr(pem.s, "PRIVATE"), "its certificate");
    int fd = mkstemp(path);
    ok(fd >= 0 && write(fd, pem.s, pem.n) == (ssize_t)pem.n, "a store");
    setenv("SSL_CERT_FILE", path, 1);
    struct tls_engine *e = tls_engine_new(a, lib);
    ok(e, "an engine");
    test_connection(e);
    test_bytes(e);
    struct peer host = named("a.test"), other = named("b.test");
    X509 *leaf = tls_authority_leaf(a, &host);
    ok(leaf && leaf == tls_authority_leaf(a, &host), "leaves are kept");
    ok(leaf != tls_authority_leaf(a, &other), "one for each host");
    tls_engine_free(e);
    close(fd);
    unlink(path);
    buf_free(&pem);
    return done_testing();
}
