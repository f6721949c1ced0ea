/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_PROXY_VARS_H
#define BK_NET_PROXY_VARS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* What the environment says about proxies on this machine (proxy-vars.def). */
struct netenv {
    uint16_t http, socks;  /* their ports; 0: none */
    const char *token;     /* what they ask for, or NULL */
    const char *connector; /* our own program, which can connect through them, or NULL */
};

enum {
#define VARIABLE(name, value) NETENV_##name,
#include "net/proxy-vars.def"
#undef VARIABLE
    NETENV_COUNT,
};

const char *proxy_vars_name(size_t variable);
/* Appends a variable's value; nothing when it has no meaning here. */
void proxy_vars_value(const struct netenv *e, size_t variable, struct buf *out);

/* Whether a program's path means itself everywhere it is read: by git, by the shell it starts, by
 * ssh and by the shell that that starts. */
bool proxy_vars_is_plain(const char *path);

#endif
