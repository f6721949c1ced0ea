/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SHARED_POLICY_UPDATE_H
#define BK_KERNEL_SHARED_POLICY_UPDATE_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/launch/launch.h"

/*
 * Another policy for a sandbox that runs. It travels as bytes in sealed memory, from the controller
 * to the judge and from there to the sentry and the gate; each makes its own graph of it, between
 * two questions, or goes on with the one it has. What was planned stays: walls do not move, and
 * what is not asked about is not asked about now either (plan_waits()).
 */
struct policy_update {
    uint32_t magic;
    uint32_t number; /* of the policy: 1 for the first that replaces the one it began with */
};

/* Puts bytes into memory that nobody can change any more: a descriptor, or a negated errno. */
int policy_update_make(const void *bytes, size_t n);
/* 0 or a negated errno. */
int policy_update_send(int sock, uint32_t number, int sealed);

enum { RENEW_NOTHING = 0, RENEW_POLICY = 1 };

/* Hears one message. RENEW_POLICY with *out, which the caller owns; RENEW_NOTHING when it was of
 * another kind or of no use; or a negated errno when there will be no other (-EPIPE). *sealed, when
 * not NULL, is what came, to be passed on and closed. */
int policy_update_receive(int sock, const struct launch *l, struct graph **out,
                          struct policy_update *what, int *sealed);

#endif
