/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_TLS_TURN_H
#define BK_NET_TLS_TURN_H

#include <stdatomic.h>
#include <stdint.h>

/* A word in memory that two processes share. */

/* Waits until it has another value, or is woken, or that time is over. */
void tls_turn_wait(_Atomic uint32_t *turn, uint32_t value, unsigned ms);
void tls_turn_wake(_Atomic uint32_t *turn);

#endif
