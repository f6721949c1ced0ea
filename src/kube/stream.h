/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KUBE_STREAM_H
#define BK_KUBE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "tls/tls-library.h"

/* A connection that blocks, with or without TLS. Each operation fails after STREAM_S seconds
 * without a byte; whoever uses it bounds the whole with alarm(). */
enum { STREAM_S = 5 };

struct stream {
    int fd;
    const struct tls_library *lib;
    SSL_CTX *context;
    SSL *ssl; /* NULL: plain */
};

/* Both take over fd; on failure it is closed. cert "": plain. */
int stream_accept(struct stream *s, int fd, const char *cert, const char *key, struct bk_err *err);
/* ca "": plain. host: whose certificate it must be. */
int stream_connect(struct stream *s, int fd, const char *ca, const char *host, struct bk_err *err);
ssize_t stream_read(struct stream *s, void *to, size_t n); /* 0: the end; -1 */
bool stream_write(struct stream *s, const void *from, size_t n);
void stream_close(struct stream *s);

#endif
