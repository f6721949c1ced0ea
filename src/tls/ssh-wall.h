/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TLS_SSH_WALL_H
#define BK_TLS_SSH_WALL_H

#include "tls/ssh-serve.h"

/* What `buckle-tls ssh` may do once it serves, and where it reports refusals. */
extern const struct ssh_hooks ssh_hooks;

#endif
