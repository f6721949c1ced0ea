/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Keys and signatures of ssh become those of X.509, which OpenSSL reads: a SubjectPublicKeyInfo,
 * and for ECDSA a sequence of two numbers.
 */

#include "tls/ssh-verify.h"

#include <dlfcn.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"

typedef struct evp_pkey_st EVP_PKEY;
typedef struct evp_md_ctx_st EVP_MD_CTX;
typedef struct evp_md_st EVP_MD;

#define FUNCTIONS(X)                                                                               \
    X(EVP_PKEY *, d2i_PUBKEY, (EVP_PKEY **, const unsigned char **, long))                         \
    X(void, EVP_PKEY_free, (EVP_PKEY *))                                                           \
    X(EVP_MD_CTX *, EVP_MD_CTX_new, (void))                                                        \
    X(void, EVP_MD_CTX_free, (EVP_MD_CTX *))                                                       \
    X(const EVP_MD *, EVP_get_digestbyname, (const char *))                                        \
    X(int, EVP_DigestVerifyInit, (EVP_MD_CTX *, void *, const EVP_MD *, void *, EVP_PKEY *))       \
    X(int, EVP_DigestVerify,                                                                       \
      (EVP_MD_CTX *, const unsigned char *, size_t, const unsigned char *, size_t))

static struct {
#define X(result, name, parameters) result(*name) parameters;
    FUNCTIONS(X)
#undef X
} lib;

bool ssh_verify_load(void)
{
    void *handle = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    const struct {
        const char *name;
        void **to;
    } wanted[] = {
#define X(result, name, parameters) {#name, (void **)&lib.name},
        FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (!handle || !(*wanted[i].to = dlsym(handle, wanted[i].name)))
            return false;
    return true;
}

/* ---- DER ---- */

enum { INTEGER = 0x02, BITS = 0x03, SEQUENCE = 0x30 };

static void add_der(struct buf *out, unsigned tag, const void *data, size_t n)
{
    buf_chr(out, (char)tag);
    if (n >= 256)
        buf_chr(out, (char)0x82), buf_chr(out, (char)(n >> 8));
    else if (n >= 128)
        buf_chr(out, (char)0x81);
    buf_chr(out, (char)n);
    buf_add(out, data, n);
}

/* algorithm: the DER of an AlgorithmIdentifier. */
static void add_key(struct buf *out, const char *algorithm, size_t n, struct ssh_bytes key)
{
    OWN(buf) struct buf bits = {0}, both = {0};
    buf_chr(&bits, '\0');
    buf_add(&bits, (const char *)key.s, key.n);
    buf_add(&both, algorithm, n);
    add_der(&both, BITS, bits.s, bits.n);
    add_der(out, SEQUENCE, both.s, both.n);
}

static bool is_word(struct ssh_bytes a, const char *word)
{
    return a.n == strlen(word) && memcmp(a.s, word, a.n) == 0;
}

/* ---- kinds of keys ---- */

static const struct kind {
    const char *key, *signature, *digest, *curve;
    const char *algorithm;
    size_t n;
} kinds[] = {
#define OID(text) text, sizeof(text) - 1
    {"ssh-ed25519", "ssh-ed25519", NULL, NULL, OID("\x30\x05\x06\x03\x2b\x65\x70")},
    {"ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256", "SHA256", "nistp256",
     OID("\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07")},
    {"ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384", "SHA384", "nistp384",
     OID("\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22")},
    {"ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521", "SHA512", "nistp521",
     OID("\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x23")},
    {"ssh-rsa", "rsa-sha2-256", "SHA256", NULL,
     OID("\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00")},
    {"ssh-rsa", "rsa-sha2-512", "SHA512", NULL,
     OID("\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00")},
#undef OID
};

static const struct kind *kind_of(struct ssh_bytes key, struct ssh_bytes signature)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (is_word(key, kinds[i].key) && is_word(signature, kinds[i].signature))
            return &kinds[i];
    return NULL;
}

/* The key in DER; rest is behind its name. */
static bool write_key(const struct kind *k, struct ssh_bytes rest, struct buf *out)
{
    struct ssh_bytes one, other;
    if (k->curve && (!ssh_take_string(&rest, &one) || !is_word(one, k->curve)))
        return false;
    if (!ssh_take_string(&rest, &one))
        return false;
    if (strcmp(k->key, "ssh-rsa") != 0) {
        add_key(out, k->algorithm, k->n, one);
        return rest.n == 0;
    }
    OWN(buf) struct buf numbers = {0}, both = {0};
    if (!ssh_take_string(&rest, &other) || rest.n || one.n > 16 || other.n > 2100)
        return false;
    add_der(&numbers, INTEGER, other.s, other.n);
    add_der(&numbers, INTEGER, one.s, one.n);
    add_der(&both, SEQUENCE, numbers.s, numbers.n);
    add_key(out, k->algorithm, k->n, (struct ssh_bytes){(const uint8_t *)both.s, both.n});
    return buf_ok(&both);
}

static bool write_signature(const struct kind *k, struct ssh_bytes blob, struct buf *out)
{
    struct ssh_bytes r, s;
    OWN(buf) struct buf both = {0};
    if (!k->curve) {
        buf_add(out, (const char *)blob.s, blob.n);
        return true;
    }
    if (!ssh_take_string(&blob, &r) || !ssh_take_string(&blob, &s) || blob.n || r.n > 80 ||
        s.n > 80)
        return false;
    add_der(&both, INTEGER, r.s, r.n);
    add_der(&both, INTEGER, s.s, s.n);
    add_der(out, SEQUENCE, both.s, both.n);
    return true;
}

static bool check(const struct kind *k, const struct buf *key, const struct buf *signature,
                  struct ssh_bytes text)
{
    const unsigned char *at = (const unsigned char *)key->s;
    EVP_PKEY *public = lib.d2i_PUBKEY(NULL, &at, (long)key->n);
    EVP_MD_CTX *ctx = lib.EVP_MD_CTX_new();
    const EVP_MD *digest = k->digest ? lib.EVP_get_digestbyname(k->digest) : NULL;
    bool good = public && ctx && (digest || !k->digest) &&
                lib.EVP_DigestVerifyInit(ctx, NULL, digest, NULL, public) == 1 &&
                lib.EVP_DigestVerify(ctx, (const unsigned char *)signature->s, signature->n, text.s,
                                     text.n) == 1;
    lib.EVP_MD_CTX_free(ctx);
    lib.EVP_PKEY_free(public);
    return good;
}

bool ssh_verify(struct ssh_bytes host, struct ssh_bytes signature, struct ssh_bytes text)
{
    struct ssh_bytes name, how, blob;
    OWN(buf) struct buf key = {0}, made = {0};
    if (!ssh_take_string(&host, &name) || !ssh_take_string(&signature, &how) ||
        !ssh_take_string(&signature, &blob) || signature.n || blob.n > 2100)
        return false;
    const struct kind *k = kind_of(name, how);
    return k && write_key(k, host, &key) && write_signature(k, blob, &made) && buf_ok(&key) &&
           buf_ok(&made) && check(k, &key, &made, text);
}
