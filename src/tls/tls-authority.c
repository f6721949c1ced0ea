/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * All leaves share one key, so that a new host costs one signature. The certificates end after a
 * month at the latest; the key ends with the run.
 */

#include "tls/tls-authority.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { LEAVES = 256, BEFORE_S = 3600, AFTER_S = 30 * 24 * 3600, CONTEXT_BYTES = 512 };

struct leaf {
    X509 *certificate;
    struct peer host;
};

struct tls_authority {
    const struct tls_library *lib;
    EVP_PKEY *key, *leaf_key;
    X509 *certificate;
    struct leaf leaves[LEAVES]; /* by a hash of the name; another host replaces it */
};

/* ---- certificates ---- */

static bool add_extension(const struct tls_authority *a, X509 *x, X509 *issuer, int nid,
                          const char *value)
{
    char room[CONTEXT_BYTES] = {0}; /* larger than the library's structure */
    X509V3_CTX *ctx = (X509V3_CTX *)(void *)room;
    a->lib->X509V3_set_ctx(ctx, issuer, x, NULL, NULL, 0);
    X509_EXTENSION *e = a->lib->X509V3_EXT_conf_nid(NULL, ctx, nid, value);
    bool ok = e && a->lib->X509_add_ext(x, e, -1);
    if (e)
        a->lib->X509_EXTENSION_free(e);
    return ok;
}

static bool set_name(const struct tls_authority *a, X509 *x, const char *text)
{
    return a->lib->X509_NAME_add_entry_by_txt(a->lib->X509_get_subject_name(x), "CN",
                                              TLS_TEXT_ASCII, (const unsigned char *)text, -1, -1,
                                              0);
}

/* What every certificate has, apart from its name and extensions. */
static X509 *blank(const struct tls_authority *a, EVP_PKEY *key)
{
    const struct tls_library *l = a->lib;
    uint64_t serial;
    X509 *x = l->X509_new();
    if (!x || getentropy(&serial, sizeof(serial)) < 0)
        goto failed;
    if (l->X509_set_version(x, 2) &&
        l->ASN1_INTEGER_set_uint64(l->X509_get_serialNumber(x), serial >> 1 | 1) &&
        l->X509_gmtime_adj(l->X509_getm_notBefore(x), -BEFORE_S) &&
        l->X509_gmtime_adj(l->X509_getm_notAfter(x), AFTER_S) && l->X509_set_pubkey(x, key))
        return x;
failed:
    if (x)
        l->X509_free(x);
    return NULL;
}

static bool make_own(struct tls_authority *a, const char *names)
{
    const struct tls_library *l = a->lib;
    X509 *x = a->certificate = blank(a, a->key);
    char name[64];
    unsigned number;
    if (!x || getentropy(&number, sizeof(number)) < 0)
        return false;
    snprintf(name, sizeof(name), "Buckle, one run (%08x)", number);
    return set_name(a, x, name) && l->X509_set_issuer_name(x, l->X509_get_subject_name(x)) &&
           add_extension(a, x, x, TLS_NID_BASIC_CONSTRAINTS, "critical,CA:TRUE,pathlen:0") &&
           add_extension(a, x, x, TLS_NID_KEY_USAGE, "critical,keyCertSign") &&
           add_extension(a, x, x, TLS_NID_SUBJECT_KEY, "hash") &&
           (!names || add_extension(a, x, x, TLS_NID_NAME_CONSTRAINTS, names)) &&
           l->X509_sign(x, a->key, l->EVP_sha256());
}

static X509 *make_leaf(const struct tls_authority *a, const struct peer *host)
{
    const struct tls_library *l = a->lib;
    char alt[PEER_MAX + 16];
    X509 *x = blank(a, a->leaf_key);
    snprintf(alt, sizeof(alt), "%s:%s", host->address ? "IP" : "DNS", host->name);
    bool ok = x && set_name(a, x, "Buckle") &&
              l->X509_set_issuer_name(x, l->X509_get_subject_name(a->certificate)) &&
              add_extension(a, x, a->certificate, TLS_NID_BASIC_CONSTRAINTS, "critical,CA:FALSE") &&
              add_extension(a, x, a->certificate, TLS_NID_KEY_USAGE, "critical,digitalSignature") &&
              add_extension(a, x, a->certificate, TLS_NID_EXTENDED_KEY_USAGE, "serverAuth") &&
              add_extension(a, x, a->certificate, TLS_NID_SUBJECT_KEY, "hash") &&
              add_extension(a, x, a->certificate, TLS_NID_AUTHORITY_KEY, "keyid") &&
              add_extension(a, x, a->certificate, TLS_NID_ALT_NAME, alt) &&
              l->X509_sign(x, a->key, l->EVP_sha256());
    if (!ok && x)
        l->X509_free(x);
    return ok ? x : NULL;
}

/* ---- the authority ---- */

struct tls_authority *tls_authority_new(const struct tls_library *lib, const char *names)
{
    struct tls_authority *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    a->lib = lib;
    a->key = lib->EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    a->leaf_key = lib->EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    if (a->key && a->leaf_key && make_own(a, names))
        return a;
    tls_authority_free(a);
    return NULL;
}

static bool read_own(struct tls_authority *a, const char *pem, size_t n)
{
    const struct tls_library *l = a->lib;
    BIO *one = l->BIO_new(l->BIO_s_mem()), *two = l->BIO_new(l->BIO_s_mem());
    if (one && two && l->BIO_write(one, pem, (int)n) == (int)n &&
        l->BIO_write(two, pem, (int)n) == (int)n) {
        a->certificate = l->PEM_read_bio_X509(one, NULL, NULL, NULL);
        a->key = l->PEM_read_bio_PrivateKey(two, NULL, NULL, NULL);
    }
    if (one)
        l->BIO_free(one);
    if (two)
        l->BIO_free(two);
    return a->certificate && a->key && l->X509_check_private_key(a->certificate, a->key);
}

struct tls_authority *tls_authority_read(const struct tls_library *lib, const char *pem, size_t n)
{
    struct tls_authority *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    a->lib = lib;
    a->leaf_key = lib->EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    if (a->leaf_key && pem && read_own(a, pem, n))
        return a;
    tls_authority_free(a);
    return NULL;
}

void tls_authority_free(struct tls_authority *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < LEAVES; i++)
        if (a->leaves[i].certificate)
            a->lib->X509_free(a->leaves[i].certificate);
    if (a->certificate)
        a->lib->X509_free(a->certificate);
    if (a->key)
        a->lib->EVP_PKEY_free(a->key);
    if (a->leaf_key)
        a->lib->EVP_PKEY_free(a->leaf_key);
    free(a);
}

bool tls_authority_pem(const struct tls_authority *a, struct buf *out)
{
    char text[4096];
    BIO *b = a->lib->BIO_new(a->lib->BIO_s_mem());
    bool ok = b && a->lib->PEM_write_bio_X509(b, a->certificate);
    for (int n; ok && (n = a->lib->BIO_read(b, text, sizeof(text))) > 0;)
        buf_add(out, text, (size_t)n);
    if (b)
        a->lib->BIO_free(b);
    return ok && buf_ok(out);
}

X509 *tls_authority_leaf(struct tls_authority *a, const struct peer *host)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < host->len; i++)
        hash = (hash ^ (uint8_t)host->name[i]) * 16777619u;
    struct leaf *l = &a->leaves[hash % LEAVES];
    if (l->certificate && peer_equal(&l->host, host))
        return l->certificate;
    X509 *made = make_leaf(a, host);
    if (!made)
        return NULL;
    if (l->certificate)
        a->lib->X509_free(l->certificate);
    *l = (struct leaf){made, *host};
    return made;
}

EVP_PKEY *tls_authority_leaf_key(const struct tls_authority *a)
{
    return a->leaf_key;
}
