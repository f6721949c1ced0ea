/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_PROXY_PROXY_LISTEN_H
#define BK_PROXY_PROXY_LISTEN_H

#include "proxy/proxy-serve.h"

struct proxy_listener {
    int fd;
    bool local;      /* a Unix socket */
    char where[160]; /* "127.0.0.1:3128", or the socket's path */
};

/* Opens all listeners. Returns how many, or -1. */
int proxy_listen(const struct proxy_options *o, struct proxy_listener *out, struct bk_err *err);
/* Removes the sockets' files. Safe in a signal handler. */
void proxy_listen_remove(const struct proxy_listener *all, size_t n);

#endif
