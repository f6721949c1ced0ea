/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_PROXY_VARS_H
#define BK_NET_PROXY_VARS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The proxies that the environment variables describe (proxy-vars.def). */
struct proxy_vars {
    uint16_t http, socks;  /* their ports; 0: none */
    const char *token;     /* their password, or NULL */
    const char *connector; /* path of our program, which connects through them, or NULL */
};

enum {
#define VARIABLE(name, value) NETENV_##name,
#include "net/proxy-vars.def"
#undef VARIABLE
    NETENV_COUNT,
};

const char *proxy_vars_name(size_t variable);
/* Appends a variable's value, or nothing if it doesn't apply. */
void proxy_vars_value(const struct proxy_vars *e, size_t variable, struct buf *out);

/* Whether a path needs no quoting for git, ssh and the shells that they start. */
bool proxy_vars_is_plain(const char *path);

#endif
