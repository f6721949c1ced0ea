/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * TLS by the system's OpenSSL, loaded when it is first needed, as in buckle-tls. Certificates are
 * read for every connection: whoever renews them only has to replace the files.
 */

#include "kube/stream.h"

#include <errno.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static void bound(int fd)
{
    struct timeval t = {.tv_sec = STREAM_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

static int wrong(struct stream *s, const char *what, struct bk_err *err)
{
    const char *why =
        s->lib ? s->lib->ERR_reason_error_string(s->lib->ERR_peek_last_error()) : NULL;
    long verified = s->ssl ? s->lib->SSL_get_verify_result(s->ssl) : 0;
    if (verified)
        why = s->lib->X509_verify_cert_error_string(verified);
    err_set(err, BK_E_INPUT, "%s: %s", what, why ? why : "it ended");
    stream_close(s);
    return -1;
}

static int load(struct stream *s, bool server, struct bk_err *err)
{
    s->lib = tls_library_load();
    if (!s->lib) {
        err_set(err, BK_E_INPUT, "this program cannot load libssl.so.3, which TLS needs");
        stream_close(s);
        return -1;
    }
    s->lib->ERR_clear_error();
    s->context =
        s->lib->SSL_CTX_new(server ? s->lib->TLS_server_method() : s->lib->TLS_client_method());
    if (!s->context)
        return wrong(s, "TLS", err);
    s->lib->SSL_CTX_ctrl(s->context, TLS_CTRL_MIN_VERSION, TLS_VERSION_1_2, NULL);
    s->lib->SSL_CTX_set_options(s->context, TLS_OP_NO_RENEGOTIATION);
    return 0;
}

static bool start(struct stream *s)
{
    s->ssl = s->lib->SSL_new(s->context);
    return s->ssl && s->lib->SSL_set_fd(s->ssl, s->fd) == 1;
}

int stream_accept(struct stream *s, int fd, const char *cert, const char *key, struct bk_err *err)
{
    *s = (struct stream){.fd = fd};
    bound(fd);
    if (!cert[0])
        return 0;
    if (load(s, true, err) < 0)
        return -1;
    if (s->lib->SSL_CTX_use_certificate_chain_file(s->context, cert) != 1)
        return wrong(s, cert, err);
    if (s->lib->SSL_CTX_use_PrivateKey_file(s->context, key, TLS_FILE_PEM) != 1)
        return wrong(s, key, err);
    if (!start(s))
        return wrong(s, "TLS", err);
    s->lib->SSL_set_accept_state(s->ssl);
    return s->lib->SSL_do_handshake(s->ssl) == 1 ? 0 : wrong(s, "TLS", err);
}

int stream_connect(struct stream *s, int fd, const char *ca, const char *host, struct bk_err *err)
{
    *s = (struct stream){.fd = fd};
    bound(fd);
    if (!ca[0])
        return 0;
    if (load(s, false, err) < 0)
        return -1;
    if (s->lib->SSL_CTX_load_verify_locations(s->context, ca, NULL) != 1)
        return wrong(s, ca, err);
    s->lib->SSL_CTX_set_verify(s->context, TLS_VERIFY_PEER, NULL);
    if (!start(s) || s->lib->SSL_set1_host(s->ssl, host) != 1)
        return wrong(s, "TLS", err);
    s->lib->SSL_set_connect_state(s->ssl);
    return s->lib->SSL_do_handshake(s->ssl) == 1 ? 0 : wrong(s, host, err);
}

ssize_t stream_read(struct stream *s, void *to, size_t n)
{
    if (!s->ssl)
        return recv(s->fd, to, n, 0);
    int got = s->lib->SSL_read(s->ssl, to, n > INT_MAX ? INT_MAX : (int)n);
    if (got > 0)
        return got;
    return s->lib->SSL_get_error(s->ssl, got) == TLS_ERROR_CLOSED ? 0 : -1;
}

bool stream_write(struct stream *s, const void *from, size_t n)
{
    for (size_t done = 0; done < n;) {
        const char *at = (const char *)from + done;
        size_t part = n - done > INT_MAX ? INT_MAX : n - done;
        ssize_t took =
            s->ssl ? s->lib->SSL_write(s->ssl, at, (int)part) : send(s->fd, at, part, MSG_NOSIGNAL);
        if (took <= 0)
            return false;
        done += (size_t)took;
    }
    return true;
}

void stream_close(struct stream *s)
{
    if (s->ssl) {
        s->lib->SSL_shutdown(s->ssl);
        s->lib->SSL_free(s->ssl);
    }
    if (s->context)
        s->lib->SSL_CTX_free(s->context);
    if (s->fd >= 0)
        close(s->fd);
    *s = (struct stream){.fd = -1};
}
