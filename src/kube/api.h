/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KUBE_API_H
#define BK_KUBE_API_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "graph/peer.h"

/* The API server. Without TLS only on this machine's own addresses, and without a token. */
struct api {
    bool tls;
    struct peer host;
    uint16_t port;
    const char *token_file, *ca_file;
};

/* url: http://ADDRESS:PORT or https://ADDRESS:PORT; "": as in a pod, from the environment. */
int api_open(struct api *a, const char *url, const char *token_file, const char *ca_file,
             struct bk_err *err);
/* One request. Returns the status, or -1. */
int api_send(const struct api *a, const char *method, const char *path, const char *type,
             const struct buf *body, struct bk_err *err);

#endif
