/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TLS_TLS_LIBRARY_H
#define BK_TLS_TLS_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

/*
 * OpenSSL 3, loaded when a policy first needs it. Its types are opaque and its binary interface is
 * fixed for libssl.so.3, so that neither its headers nor the library are needed to build Buckle,
 * and a run that needs no TLS pays nothing. tests/unit/test-tls.c compares these declarations
 * with the headers.
 */

typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_method_st SSL_METHOD;
typedef struct ssl_session_st SSL_SESSION;
typedef struct bio_st BIO;
typedef struct bio_method_st BIO_METHOD;
typedef struct x509_st X509;
typedef struct X509_name_st X509_NAME;
typedef struct X509_extension_st X509_EXTENSION;
typedef struct evp_pkey_st EVP_PKEY;
typedef struct evp_md_st EVP_MD;
typedef struct asn1_string_st ASN1_TIME;
typedef struct asn1_string_st ASN1_INTEGER;
typedef struct v3_ext_ctx X509V3_CTX;
typedef struct x509_store_st X509_STORE;
typedef struct stack_st OPENSSL_STACK;
typedef struct ocsp_response_st OCSP_RESPONSE;
typedef struct ocsp_basic_response_st OCSP_BASICRESP;
typedef struct ocsp_cert_id_st OCSP_CERTID;
struct stack_st_X509;

/* result, name, parameters */
#define TLS_FUNCTIONS(X)                                                                           \
    X(const SSL_METHOD *, TLS_server_method, (void))                                               \
    X(const SSL_METHOD *, TLS_client_method, (void))                                               \
    X(SSL_CTX *, SSL_CTX_new, (const SSL_METHOD *))                                                \
    X(void, SSL_CTX_free, (SSL_CTX *))                                                             \
    X(long, SSL_CTX_ctrl, (SSL_CTX *, int, long, void *))                                          \
    X(uint64_t, SSL_CTX_set_options, (SSL_CTX *, uint64_t))                                        \
    X(int, SSL_CTX_set_default_verify_paths, (SSL_CTX *))                                          \
    X(int, SSL_CTX_load_verify_locations, (SSL_CTX *, const char *, const char *))                 \
    X(int, SSL_CTX_use_certificate_chain_file, (SSL_CTX *, const char *))                          \
    X(int, SSL_CTX_use_PrivateKey_file, (SSL_CTX *, const char *, int))                            \
    X(void, SSL_CTX_set_verify, (SSL_CTX *, int, void *))                                          \
    X(void, SSL_CTX_set_client_hello_cb, (SSL_CTX *, int (*)(SSL *, int *, void *), void *))       \
    X(void, SSL_CTX_set_alpn_select_cb,                                                            \
      (SSL_CTX *,                                                                                  \
       int (*)(SSL *, const unsigned char **, unsigned char *, const unsigned char *, unsigned,    \
               void *),                                                                            \
       void *))                                                                                    \
    X(void, SSL_CTX_set_client_cert_cb, (SSL_CTX *, int (*)(SSL *, X509 **, EVP_PKEY **)))         \
    X(void, SSL_CTX_sess_set_new_cb, (SSL_CTX *, int (*)(SSL *, SSL_SESSION *)))                   \
    X(int, SSL_set_session, (SSL *, SSL_SESSION *))                                                \
    X(SSL_SESSION *, SSL_SESSION_dup, (const SSL_SESSION *))                                       \
    X(void, SSL_SESSION_free, (SSL_SESSION *))                                                     \
    X(int, SSL_client_hello_get0_ext, (SSL *, unsigned int, const unsigned char **, size_t *))     \
    X(SSL *, SSL_new, (SSL_CTX *))                                                                 \
    X(void, SSL_free, (SSL *))                                                                     \
    X(long, SSL_ctrl, (SSL *, int, long, void *))                                                  \
    X(void, SSL_set_bio, (SSL *, BIO *, BIO *))                                                    \
    X(int, SSL_set_fd, (SSL *, int))                                                               \
    X(void, SSL_set_accept_state, (SSL *))                                                         \
    X(void, SSL_set_connect_state, (SSL *))                                                        \
    X(int, SSL_set_ex_data, (SSL *, int, void *))                                                  \
    X(void *, SSL_get_ex_data, (const SSL *, int))                                                 \
    X(int, SSL_set_alpn_protos, (SSL *, const unsigned char *, unsigned int))                      \
    X(void, SSL_get0_alpn_selected, (const SSL *, const unsigned char **, unsigned int *))         \
    X(int, SSL_set1_host, (SSL *, const char *))                                                   \
    X(long, SSL_get_verify_result, (const SSL *))                                                  \
    X(int, SSL_use_certificate, (SSL *, X509 *))                                                   \
    X(int, SSL_use_PrivateKey, (SSL *, EVP_PKEY *))                                                \
    X(int, SSL_do_handshake, (SSL *))                                                              \
    X(int, SSL_read, (SSL *, void *, int))                                                         \
    X(int, SSL_write, (SSL *, const void *, int))                                                  \
    X(int, SSL_shutdown, (SSL *))                                                                  \
    X(int, SSL_get_error, (const SSL *, int))                                                      \
    X(BIO *, BIO_new, (const BIO_METHOD *))                                                        \
    X(const BIO_METHOD *, BIO_s_mem, (void))                                                       \
    X(int, BIO_free, (BIO *))                                                                      \
    X(int, BIO_read, (BIO *, void *, int))                                                         \
    X(int, BIO_write, (BIO *, const void *, int))                                                  \
    X(long, BIO_ctrl, (BIO *, int, long, void *))                                                  \
    X(unsigned long, ERR_peek_last_error, (void))                                                  \
    X(void, ERR_clear_error, (void))                                                               \
    X(const char *, ERR_reason_error_string, (unsigned long))                                      \
    X(const char *, X509_verify_cert_error_string, (long))                                         \
    X(EVP_PKEY *, EVP_PKEY_Q_keygen, (void *, const char *, const char *, ...))                    \
    X(void, EVP_PKEY_free, (EVP_PKEY *))                                                           \
    X(const EVP_MD *, EVP_sha256, (void))                                                          \
    X(X509 *, X509_new, (void))                                                                    \
    X(void, X509_free, (X509 *))                                                                   \
    X(int, X509_set_version, (X509 *, long))                                                       \
    X(ASN1_INTEGER *, X509_get_serialNumber, (X509 *))                                             \
    X(int, ASN1_INTEGER_set_uint64, (ASN1_INTEGER *, uint64_t))                                    \
    X(ASN1_TIME *, X509_getm_notBefore, (const X509 *))                                            \
    X(ASN1_TIME *, X509_getm_notAfter, (const X509 *))                                             \
    X(ASN1_TIME *, X509_gmtime_adj, (ASN1_TIME *, long))                                           \
    X(X509_NAME *, X509_get_subject_name, (const X509 *))                                          \
    X(int, X509_set_issuer_name, (X509 *, const X509_NAME *))                                      \
    X(int, X509_NAME_add_entry_by_txt,                                                             \
      (X509_NAME *, const char *, int, const unsigned char *, int, int, int))                      \
    X(int, X509_set_pubkey, (X509 *, EVP_PKEY *))                                                  \
    X(int, X509_sign, (X509 *, EVP_PKEY *, const EVP_MD *))                                        \
    X(void, X509V3_set_ctx, (X509V3_CTX *, X509 *, X509 *, void *, void *, int))                   \
    X(X509_EXTENSION *, X509V3_EXT_conf_nid, (void *, X509V3_CTX *, int, const char *))            \
    X(int, X509_add_ext, (X509 *, X509_EXTENSION *, int))                                          \
    X(void, X509_EXTENSION_free, (X509_EXTENSION *))                                               \
    X(int, X509_check_private_key, (const X509 *, const EVP_PKEY *))                               \
    X(X509 *, PEM_read_bio_X509, (BIO *, X509 **, void *, void *))                                 \
    X(EVP_PKEY *, PEM_read_bio_PrivateKey, (BIO *, EVP_PKEY **, void *, void *))                   \
    X(int, PEM_write_bio_X509, (BIO *, const X509 *))                                              \
    X(long, SSL_CTX_callback_ctrl, (SSL_CTX *, int, void (*)(void)))                               \
    X(X509_STORE *, SSL_CTX_get_cert_store, (const SSL_CTX *))                                     \
    X(int, SSL_session_reused, (const SSL *))                                                      \
    X(struct stack_st_X509 *, SSL_get0_verified_chain, (const SSL *))                              \
    X(int, OPENSSL_sk_num, (const OPENSSL_STACK *))                                                \
    X(void *, OPENSSL_sk_value, (const OPENSSL_STACK *, int))                                      \
    X(void, OPENSSL_sk_pop_free, (OPENSSL_STACK *, void (*)(void *)))                              \
    X(void *, X509_get_ext_d2i, (const X509 *, int, int *, int *))                                 \
    X(long, ASN1_INTEGER_get, (const ASN1_INTEGER *))                                              \
    X(void, ASN1_INTEGER_free, (ASN1_INTEGER *))                                                   \
    X(const EVP_MD *, EVP_sha1, (void))                                                            \
    X(OCSP_RESPONSE *, d2i_OCSP_RESPONSE, (OCSP_RESPONSE **, const unsigned char **, long))        \
    X(void, OCSP_RESPONSE_free, (OCSP_RESPONSE *))                                                 \
    X(int, OCSP_response_status, (OCSP_RESPONSE *))                                                \
    X(OCSP_BASICRESP *, OCSP_response_get1_basic, (OCSP_RESPONSE *))                               \
    X(void, OCSP_BASICRESP_free, (OCSP_BASICRESP *))                                               \
    X(int, OCSP_basic_verify,                                                                      \
      (OCSP_BASICRESP *, struct stack_st_X509 *, X509_STORE *, unsigned long))                     \
    X(OCSP_CERTID *, OCSP_cert_to_id, (const EVP_MD *, const X509 *, const X509 *))                \
    X(void, OCSP_CERTID_free, (OCSP_CERTID *))                                                     \
    X(int, OCSP_resp_find_status,                                                                  \
      (OCSP_BASICRESP *, OCSP_CERTID *, int *, int *, ASN1_TIME **, ASN1_TIME **, ASN1_TIME **))   \
    X(int, OCSP_check_validity, (ASN1_TIME *, ASN1_TIME *, long, long))

struct tls_library {
#define X(result, name, parameters) result(*name) parameters;
    TLS_FUNCTIONS(X)
#undef X
};

/* Constants of its headers. */
enum {
    TLS_CTRL_MODE = 33,
    TLS_CTRL_SESSION_CACHE = 44,
    TLS_CTRL_HOST_NAME = 55,
    TLS_CTRL_STATUS_CALL = 63,
    TLS_CTRL_STATUS_ARG = 64,
    TLS_CTRL_STATUS_TYPE = 65,
    TLS_CTRL_STATUS_ANSWER = 70,
    TLS_CTRL_MIN_VERSION = 123,
    TLS_MODE_RELEASE_BUFFERS = 0x10,
    TLS_SESSIONS_OFF = 0,
    TLS_SESSIONS_OURS = 0x301, /* of clients, kept by us */
    TLS_VERSION_1_2 = 0x0303,
    TLS_VERIFY_PEER = 1,
    TLS_FILE_PEM = 1,
    TLS_OP_NO_RENEGOTIATION = 1 << 30,
    TLS_ERROR_WANT_READ = 2,
    TLS_ERROR_CLOSED = 6,
    TLS_ERROR_HELLO = 11,
    TLS_HELLO_GO_ON = 1,
    TLS_HELLO_LATER = -1,
    TLS_ALPN_CHOSEN = 0,
    TLS_ALPN_NONE = 3,
    TLS_EXTENSION_ALPN = 16,
    TLS_BIO_RESET = 1,
    TLS_BIO_BYTES = 3,
    TLS_TEXT_ASCII = 0x1001,
    TLS_NID_BASIC_CONSTRAINTS = 87,
    TLS_NID_KEY_USAGE = 83,
    TLS_NID_EXTENDED_KEY_USAGE = 126,
    TLS_NID_ALT_NAME = 85,
    TLS_NID_NAME_CONSTRAINTS = 666,
    TLS_NID_SUBJECT_KEY = 82,
    TLS_NID_AUTHORITY_KEY = 90,
    TLS_NID_FEATURE = 1020,
    TLS_STATUS_OCSP = 1,
    TLS_OCSP_ANSWERED = 0,
    TLS_OCSP_GOOD = 0,
    TLS_OCSP_REVOKED = 1,
};

/* Returns NULL if it is not installed, or lacks a function. */
const struct tls_library *tls_library_load(void);

#endif
