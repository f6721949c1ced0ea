/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KUBE_WEBHOOK_H
#define BK_KUBE_WEBHOOK_H

/* Serves POST /validate, GET /healthz and GET /readyz until SIGTERM or SIGINT. cert and key "":
 * plain HTTP. Returns the exit status. */
struct webhook_options {
    const char *listen, *cert, *key;
};
int webhook_serve(const struct webhook_options *o);

#endif
