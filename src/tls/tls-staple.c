/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Whether the server's certificate was revoked, as the server itself shows it: by the signed answer
 * of its authority that it staples to the handshake (RFC 6066), and must staple if the certificate
 * says so (RFC 7633). The client inside sees only the gate's certificate, so the gate has to look.
 * A signed "revoked" always counts. An answer that proves nothing (of another certificate, by a
 * stranger, too old) counts as none: a server with a revoked certificate could as well send none.
 */

#include "tls/tls-staple.h"

#include <stdbool.h>
#include <stddef.h>

enum { LATE_S = 300, ANY_AGE = -1, FEATURE_STAPLE = 5 };

static const struct {
    const char *text;
    uint8_t alert;
} meanings[] = {
    [STAPLE_FINE] = {"", 0},
    [STAPLE_REVOKED] = {"its authority has revoked it (stapled OCSP answer)", 44},
    [STAPLE_UNKNOWN] = {"its authority does not know it (stapled OCSP answer)", 113},
    [STAPLE_MISSING] = {"it demands a stapled OCSP answer, and the server sends none", 113},
    [STAPLE_UNUSABLE] = {"it demands a stapled OCSP answer, and the server's is not valid", 113},
};

void staple_ask(const struct tls_library *l, SSL_CTX *client, int (*then)(SSL *, void *), void *arg)
{
    l->SSL_CTX_ctrl(client, TLS_CTRL_STATUS_TYPE, TLS_STATUS_OCSP, NULL);
    l->SSL_CTX_ctrl(client, TLS_CTRL_STATUS_ARG, 0, arg);
    l->SSL_CTX_callback_ctrl(client, TLS_CTRL_STATUS_CALL, (void (*)(void))then);
}

/* An extension that cannot be read is taken for the demand. */
static bool demands_staple(const struct tls_library *l, const X509 *x)
{
    enum { NOT_THERE = -1 };
    int found;
    bool demands = false;
    OPENSSL_STACK *features = l->X509_get_ext_d2i(x, TLS_NID_FEATURE, &found, NULL);
    if (!features)
        return found != NOT_THERE;
    for (int i = 0; i < l->OPENSSL_sk_num(features); i++)
        if (l->ASN1_INTEGER_get(l->OPENSSL_sk_value(features, i)) == FEATURE_STAPLE)
            demands = true;
    l->OPENSSL_sk_pop_free(features, (void (*)(void *))l->ASN1_INTEGER_free);
    return demands;
}

/* What a verified answer says about the certificate. */
static enum staple read_status(const struct tls_library *l, OCSP_BASICRESP *answer, const X509 *x,
                               const X509 *issuer)
{
    /* the answer names the certificate by hashes of the responder's choice */
    const EVP_MD *hashes[] = {l->EVP_sha1(), l->EVP_sha256()};
    int status = 0, found = 0;
    ASN1_TIME *from = NULL, *until = NULL;
    for (size_t i = 0; i < 2 && !found; i++) {
        OCSP_CERTID *id = l->OCSP_cert_to_id(hashes[i], x, issuer);
        found = id && l->OCSP_resp_find_status(answer, id, &status, NULL, NULL, &from, &until);
        if (id)
            l->OCSP_CERTID_free(id);
    }
    if (found && status == TLS_OCSP_REVOKED)
        return STAPLE_REVOKED;
    if (!found || !l->OCSP_check_validity(from, until, LATE_S, ANY_AGE))
        return STAPLE_UNUSABLE;
    return status == TLS_OCSP_GOOD ? STAPLE_FINE : STAPLE_UNKNOWN;
}

static enum staple read_answer(const struct tls_library *l, const SSL_CTX *client, SSL *ssl,
                               const unsigned char *der, long n)
{
    /* the chain is of verified certificates, the server's first */
    struct stack_st_X509 *chain = l->SSL_get0_verified_chain(ssl);
    const OPENSSL_STACK *certificates = (const OPENSSL_STACK *)(const void *)chain;
    int length = chain ? l->OPENSSL_sk_num(certificates) : 0;
    OCSP_RESPONSE *whole = l->d2i_OCSP_RESPONSE(NULL, &der, n);
    OCSP_BASICRESP *answer = NULL;
    enum staple result = STAPLE_UNUSABLE;
    if (whole && l->OCSP_response_status(whole) == TLS_OCSP_ANSWERED)
        answer = l->OCSP_response_get1_basic(whole);
    if (answer && length > 0 &&
        l->OCSP_basic_verify(answer, chain, l->SSL_CTX_get_cert_store(client), 0) == 1)
        result = read_status(l, answer, l->OPENSSL_sk_value(certificates, 0),
                             l->OPENSSL_sk_value(certificates, length > 1));
    if (answer)
        l->OCSP_BASICRESP_free(answer);
    if (whole)
        l->OCSP_RESPONSE_free(whole);
    return result;
}

enum staple staple_check(const struct tls_library *l, const SSL_CTX *client, SSL *ssl)
{
    unsigned char *der = NULL;
    /* the session's first handshake has shown both, and this one has no certificate */
    if (l->SSL_session_reused(ssl))
        return STAPLE_FINE;
    struct stack_st_X509 *chain = l->SSL_get0_verified_chain(ssl);
    const X509 *own = chain ? l->OPENSSL_sk_value((const OPENSSL_STACK *)(void *)chain, 0) : NULL;
    if (!own)
        return STAPLE_UNUSABLE;
    long n = l->SSL_ctrl(ssl, TLS_CTRL_STATUS_ANSWER, 0, &der);
    enum staple s = der && n > 0 ? read_answer(l, client, ssl, der, n) : STAPLE_MISSING;
    l->ERR_clear_error(); /* what an answer is not is no error of the connection */
    bool proves_nothing = s == STAPLE_MISSING || s == STAPLE_UNUSABLE;
    return proves_nothing && !demands_staple(l, own) ? STAPLE_FINE : s;
}

const char *staple_text(enum staple s)
{
    return meanings[s].text;
}

uint8_t staple_alert(enum staple s)
{
    return meanings[s].alert;
}
