/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * OpenSSL with memory buffers on both sides. The client's handshake stops at its hello until the
 * server's is complete, because only then it is known which protocol both can speak, and whether
 * the server is who it says. A server that asks for the client's certificate is refused: only the
 * client has its key. A host's last session is resumed, which spares both ends the certificates: it
 * was verified for that host.
 */

#include "tls/tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tls/tls-staple.h"

enum { SESSIONS = 64 };

struct tls_engine {
    const struct tls_library *lib;
    struct tls_authority *authority;
    SSL_CTX *server, *client; /* what the gate is */
    struct kept {
        SSL_SESSION *session; /* or NULL */
        struct peer host;
    } kept[SESSIONS]; /* by a hash of the name; another host replaces it */
};

struct tls {
    const struct tls_library *lib;
    struct kept *kept; /* of the server; or NULL */
    struct peer host;  /* that it is */
    SSL *ssl;
    BIO *in, *out;
    bool asking, answered, wants_certificate, others, failed;
    enum staple staple; /* of the server */
    bool keeps;         /* it has given a session */
    uint8_t offered, protocol;
    char wrong[160];
};

/* ---- protocols ---- */

static const struct {
    uint8_t bit, n;
    const char *name;
} protocols[] = {{TLS_H2, 2, "h2"}, {TLS_HTTP1, 8, "http/1.1"}};
enum { PROTOCOLS = sizeof(protocols) / sizeof(protocols[0]) };

/* A list of names, each with its length in front. */
static unsigned read_names(const unsigned char *s, size_t n, bool *others)
{
    unsigned found = 0;
    for (size_t at = 0; at < n && s[at] <= n - at - 1; at += (size_t)s[at] + 1) {
        bool known = false;
        for (size_t i = 0; i < PROTOCOLS; i++)
            if (s[at] == protocols[i].n && memcmp(s + at + 1, protocols[i].name, s[at]) == 0) {
                found |= protocols[i].bit;
                known = true;
            }
        *others = *others || !known;
    }
    return found;
}

static int on_hello(SSL *ssl, int *alert, void *arg)
{
    const struct tls_engine *e = arg;
    struct tls *t = e->lib->SSL_get_ex_data(ssl, 0);
    const unsigned char *names;
    size_t n;
    (void)alert;
    if (t->answered)
        return TLS_HELLO_GO_ON;
    if (e->lib->SSL_client_hello_get0_ext(ssl, TLS_EXTENSION_ALPN, &names, &n) && n > 2)
        t->offered = (uint8_t)read_names(names + 2, n - 2, &t->others);
    t->asking = true;
    return TLS_HELLO_LATER;
}

static int on_protocols(SSL *ssl, const unsigned char **out, unsigned char *n,
                        const unsigned char *in, unsigned nin, void *arg)
{
    const struct tls_engine *e = arg;
    const struct tls *t = e->lib->SSL_get_ex_data(ssl, 0);
    (void)in;
    (void)nin;
    for (size_t i = 0; i < PROTOCOLS; i++)
        if (t->protocol == protocols[i].bit) {
            *out = (const unsigned char *)protocols[i].name;
            *n = protocols[i].n;
            return TLS_ALPN_CHOSEN;
        }
    return TLS_ALPN_NONE;
}

/* There is no argument, so that the engine is found with the connection. */
static int on_certificate_wanted(SSL *ssl, X509 **x, EVP_PKEY **key)
{
    struct tls *t = tls_library_load()->SSL_get_ex_data(ssl, 0);
    (void)x;
    (void)key;
    t->wants_certificate = true;
    return 0;
}

static int on_staple(SSL *ssl, void *arg)
{
    const struct tls_engine *e = arg;
    struct tls *t = e->lib->SSL_get_ex_data(ssl, 0);
    t->staple = staple_check(e->lib, e->client, ssl);
    return t->staple == STAPLE_FINE;
}

/* ---- sessions ---- */

static struct kept *kept_of(struct tls_engine *e, const struct peer *host)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < host->len; i++)
        hash = (hash ^ (uint8_t)host->name[i]) * 16777619u;
    return &e->kept[hash % SESSIONS];
}

static void forget(const struct tls_library *l, struct kept *k)
{
    if (k->session)
        l->SSL_SESSION_free(k->session);
    k->session = NULL;
}

/* The library makes a session unusable when its connection is freed before both sides have closed
 * it. So what is kept is a copy, and so is what a connection resumes. */
static void resume(const struct tls_library *l, SSL *ssl, const SSL_SESSION *kept)
{
    SSL_SESSION *session = kept ? l->SSL_SESSION_dup(kept) : NULL;
    if (!session)
        return;
    l->SSL_set_session(ssl, session); /* if it fails, without */
    l->SSL_SESSION_free(session);
}

static int on_session(SSL *ssl, SSL_SESSION *session)
{
    const struct tls_library *l = tls_library_load();
    struct tls *t = l->SSL_get_ex_data(ssl, 0);
    /* a server may send several at once; one is enough */
    if (t->keeps || !t->kept || t->failed || t->wants_certificate || l->SSL_get_verify_result(ssl))
        return 0;
    forget(l, t->kept);
    *t->kept = (struct kept){l->SSL_SESSION_dup(session), t->host};
    t->keeps = true;
    return 0;
}

/* ---- what connections share ---- */

static SSL_CTX *new_context(const struct tls_library *l, const SSL_METHOD *method)
{
    SSL_CTX *c = l->SSL_CTX_new(method);
    if (!c)
        return NULL;
    l->SSL_CTX_ctrl(c, TLS_CTRL_MIN_VERSION, TLS_VERSION_1_2, NULL);
    l->SSL_CTX_ctrl(c, TLS_CTRL_MODE, TLS_MODE_RELEASE_BUFFERS, NULL);
    l->SSL_CTX_ctrl(c, TLS_CTRL_SESSION_CACHE, TLS_SESSIONS_OFF, NULL);
    l->SSL_CTX_set_options(c, TLS_OP_NO_RENEGOTIATION);
    return c;
}

struct tls_engine *tls_engine_new(struct tls_authority *a, const struct tls_library *l)
{
    struct tls_engine *e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    *e = (struct tls_engine){.lib = l,
                             .server = new_context(l, l->TLS_server_method()),
                             .client = new_context(l, l->TLS_client_method())};
    if (!e->server || !e->client || !l->SSL_CTX_set_default_verify_paths(e->client)) {
        tls_engine_free(e);
        return NULL;
    }
    e->authority = a;
    l->SSL_CTX_set_client_hello_cb(e->server, on_hello, e);
    l->SSL_CTX_set_alpn_select_cb(e->server, on_protocols, e);
    l->SSL_CTX_set_verify(e->client, TLS_VERIFY_PEER, NULL);
    l->SSL_CTX_set_client_cert_cb(e->client, on_certificate_wanted);
    l->SSL_CTX_ctrl(e->client, TLS_CTRL_SESSION_CACHE, TLS_SESSIONS_OURS, NULL);
    l->SSL_CTX_sess_set_new_cb(e->client, on_session);
    staple_ask(l, e->client, on_staple, e);
    return e;
}

void tls_engine_free(struct tls_engine *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < SESSIONS; i++)
        forget(e->lib, &e->kept[i]);
    if (e->server)
        e->lib->SSL_CTX_free(e->server);
    if (e->client)
        e->lib->SSL_CTX_free(e->client);
    tls_authority_free(e->authority);
    free(e);
}

/* ---- connections ---- */

static struct tls *new_tls(const struct tls_engine *e, SSL_CTX *context)
{
    const struct tls_library *l = e->lib;
    struct tls *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->lib = l;
    t->ssl = l->SSL_new(context);
    t->in = l->BIO_new(l->BIO_s_mem());
    t->out = l->BIO_new(l->BIO_s_mem());
    if (!t->ssl || !t->in || !t->out || !l->SSL_set_ex_data(t->ssl, 0, t)) {
        if (t->in)
            l->BIO_free(t->in);
        if (t->out)
            l->BIO_free(t->out);
        if (t->ssl)
            l->SSL_free(t->ssl);
        free(t);
        return NULL;
    }
    l->SSL_set_bio(t->ssl, t->in, t->out);
    return t;
}

struct tls *tls_accept(struct tls_engine *e, const struct peer *host)
{
    X509 *leaf = tls_authority_leaf(e->authority, host);
    struct tls *t = leaf ? new_tls(e, e->server) : NULL;
    if (!t)
        return NULL;
    e->lib->SSL_set_accept_state(t->ssl);
    if (e->lib->SSL_use_certificate(t->ssl, leaf) &&
        e->lib->SSL_use_PrivateKey(t->ssl, tls_authority_leaf_key(e->authority)))
        return t;
    tls_free(t);
    return NULL;
}

struct tls *tls_connect(struct tls_engine *e, const struct peer *host, unsigned offer)
{
    unsigned char names[16];
    unsigned n = 0;
    struct tls *t = new_tls(e, e->client);
    if (!t)
        return NULL;
    for (size_t i = 0; i < PROTOCOLS; i++)
        if (offer & protocols[i].bit) {
            names[n++] = protocols[i].n;
            memcpy(names + n, protocols[i].name, protocols[i].n);
            n += protocols[i].n;
        }
    e->lib->SSL_set_connect_state(t->ssl);
    bool ok = e->lib->SSL_set1_host(t->ssl, host->name) &&
              (!n || e->lib->SSL_set_alpn_protos(t->ssl, names, n) == 0);
    if (ok && !host->address)
        ok = e->lib->SSL_ctrl(t->ssl, TLS_CTRL_HOST_NAME, 0, (void *)(uintptr_t)host->name);
    if (!ok) {
        tls_free(t);
        return NULL;
    }
    t->kept = kept_of(e, host);
    t->host = *host;
    if (peer_equal(&t->kept->host, host))
        resume(e->lib, t->ssl, t->kept->session);
    return t;
}

void tls_free(struct tls *t)
{
    if (!t)
        return;
    t->lib->SSL_free(t->ssl); /* and the buffers */
    free(t);
}

bool tls_feed(struct tls *t, const void *data, size_t n)
{
    return t->lib->BIO_write(t->in, data, (int)n) == (int)n;
}

static enum tls_result fail(struct tls *t)
{
    long verified = t->lib->SSL_get_verify_result(t->ssl);
    const char *reason = t->lib->ERR_reason_error_string(t->lib->ERR_peek_last_error());
    if (!t->failed && t->wants_certificate)
        snprintf(t->wrong, sizeof(t->wrong), "the server asks for a client certificate");
    else if (!t->failed && verified)
        snprintf(t->wrong, sizeof(t->wrong), "the server's certificate: %s",
                 t->lib->X509_verify_cert_error_string(verified));
    else if (!t->failed && t->staple)
        snprintf(t->wrong, sizeof(t->wrong), "the server's certificate: %s",
                 staple_text(t->staple));
    else if (!t->failed)
        snprintf(t->wrong, sizeof(t->wrong), "TLS: %s", reason ? reason : "it ended too early");
    if (t->kept && !t->failed)
        forget(t->lib, t->kept); /* it may be the reason */
    t->failed = true;
    t->lib->ERR_clear_error();
    return TLS_FAILED;
}

static enum tls_result result_of(struct tls *t, int done)
{
    int error = t->lib->SSL_get_error(t->ssl, done);
    if (t->wants_certificate)
        return fail(t);
    if (error == TLS_ERROR_WANT_READ || error == TLS_ERROR_HELLO)
        return TLS_MORE;
    return error == TLS_ERROR_CLOSED ? TLS_CLOSED : fail(t);
}

enum tls_result tls_handshake(struct tls *t)
{
    if (t->failed)
        return TLS_FAILED;
    t->lib->ERR_clear_error();
    int done = t->lib->SSL_do_handshake(t->ssl);
    if (done != 1 || t->wants_certificate)
        return result_of(t, done);
    return TLS_DONE;
}

bool tls_is_asking(const struct tls *t)
{
    return t->asking && !t->answered;
}

unsigned tls_offered(const struct tls *t)
{
    return t->offered;
}

bool tls_offers_others(const struct tls *t)
{
    return t->others && !t->offered;
}

void tls_answer(struct tls *t, unsigned protocol)
{
    t->answered = true;
    t->protocol = (uint8_t)protocol;
}

unsigned tls_chosen(const struct tls *t)
{
    const unsigned char *name;
    unsigned n;
    t->lib->SSL_get0_alpn_selected(t->ssl, &name, &n);
    for (size_t i = 0; i < PROTOCOLS && name; i++)
        if (n == protocols[i].n && memcmp(name, protocols[i].name, n) == 0)
            return protocols[i].bit;
    return 0;
}

enum tls_result tls_read(struct tls *t, char *out, size_t n, size_t *got)
{
    *got = 0;
    if (t->failed)
        return TLS_FAILED;
    t->lib->ERR_clear_error();
    int done = t->lib->SSL_read(t->ssl, out, (int)n);
    if (done <= 0)
        return result_of(t, done);
    *got = (size_t)done;
    return TLS_DONE;
}

bool tls_write(struct tls *t, const void *data, size_t n)
{
    if (t->failed || n == 0)
        return n == 0;
    t->lib->ERR_clear_error();
    if (t->lib->SSL_write(t->ssl, data, (int)n) == (int)n)
        return true;
    fail(t);
    return false;
}

void tls_close(struct tls *t)
{
    if (!t->failed)
        t->lib->SSL_shutdown(t->ssl);
    t->lib->ERR_clear_error();
}

bool tls_has_bytes(const struct tls *t)
{
    return t->lib->BIO_ctrl(t->in, TLS_BIO_BYTES, 0, NULL) > 0;
}

const char *tls_output(struct tls *t, size_t *n)
{
    char *data = NULL;
    long size = t->lib->BIO_ctrl(t->out, TLS_BIO_BYTES, 0, &data);
    *n = size > 0 ? (size_t)size : 0;
    return data;
}

void tls_sent(struct tls *t)
{
    t->lib->BIO_ctrl(t->out, TLS_BIO_RESET, 0, NULL);
}

const char *tls_wrong(const struct tls *t)
{
    return t->wrong;
}

/* ---- errors ---- */

uint8_t tls_alert(const struct tls *server)
{
    enum { EXPIRED = 45, UNKNOWN_CA = 48, BAD = 42, FAILURE = 40 };
    enum {
        X509_EXPIRED = 10,
        X509_NOT_YET = 9,
        X509_NO_ISSUER = 20,
        X509_SELF = 18,
        X509_SELF_IN = 19,
        X509_LEAF = 21
    };
    long why = server->lib->SSL_get_verify_result(server->ssl);
    if (server->staple)
        return staple_alert(server->staple);
    if (why == X509_EXPIRED || why == X509_NOT_YET)
        return EXPIRED;
    if (why == X509_NO_ISSUER || why == X509_SELF || why == X509_SELF_IN || why == X509_LEAF)
        return UNKNOWN_CA;
    return why ? BAD : FAILURE;
}
