/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_SOCKETS_H
#define BK_RUN_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* Unix sockets known by name (sockets.def). */
struct known_socket {
    const char *name, *paths, *keeps, *sets, *words;
};

extern const struct known_socket known_sockets[];
extern const size_t known_socket_count;

const struct known_socket *known_socket_find(const char *name);

/* The next of its paths for this user and environment: absolute, a glob, or "@name". *at is where
 * to continue; it starts as the socket's `paths`. Returns 1, 0 at the end, or -1. */
int known_socket_next(const struct known_socket *s, const char **at, struct buf *path,
                      struct bk_err *err);

/* The variable that leads programs to it, "NAME=value"; empty if none is needed. */
void known_socket_setting(const struct known_socket *s, const char *path, struct buf *out);

#endif
