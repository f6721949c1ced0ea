/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_SOCKETS_H
#define BK_RUN_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* Unix sockets that have a name of their own (sockets.def). */
struct known_socket {
    const char *name, *paths, *keeps, *sets, *words;
};

extern const struct known_socket known_sockets[];
extern const size_t known_socket_count;

const struct known_socket *known_socket_find(const char *name);

/* The next of its paths for this user, as the environment has it: absolute, a glob, or "@name".
 * *at is where to go on, first the socket's own `paths`. 1, 0 when there is no more, or -1. */
int known_socket_next(const struct known_socket *s, const char **at, struct buf *path,
                      struct bk_err *err);

/* What tells programs where it is, "NAME=value"; empty when nothing needs to. */
void known_socket_setting(const struct known_socket *s, const char *path, struct buf *out);

#endif
