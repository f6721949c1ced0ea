/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TLS_SSH_VERIFY_H
#define BK_TLS_SSH_VERIFY_H

#include "tls/ssh-judge.h"

/* Loads libcrypto. Returns false if it is not there. */
bool ssh_verify_load(void);
/* Whether a host's key has signed these bytes: Ed25519, ECDSA, or RSA with SHA-2. */
bool ssh_verify(struct ssh_bytes host, struct ssh_bytes signature, struct ssh_bytes text);

#endif
