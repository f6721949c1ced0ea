/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SHARED_POLICY_UPDATE_H
#define BK_KERNEL_SHARED_POLICY_UPDATE_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/launch/launch.h"

/*
 * A new policy for a running sandbox. It travels as bytes in sealed memory (memfd) from the
 * controller to the judge, and from there to the sentry and the gate. Each compiles its own graph
 * from it between two checks, or keeps the old one. The plan stays: walls do not move, and calls
 * that were not judged are not judged now (plan_waits()).
 */
struct policy_update {
    uint32_t magic;
    uint32_t number; /* of the policy: 1 for the first update */
};

/* Puts bytes into memory that nobody can change. Returns a file descriptor or a negative errno. */
int policy_update_make(const void *bytes, size_t n);
/* Returns 0 or a negative errno. */
int policy_update_send(int sock, uint32_t number, int sealed);
/* The same without waiting. */
int policy_update_try(int sock, uint32_t number, int sealed);

enum { UPDATE_NOTHING = 0, UPDATE_POLICY = 1 };

/* Receives one message. Returns UPDATE_POLICY with *out, which the caller owns; UPDATE_NOTHING for
 * another or a useless message; or a negative errno (-EPIPE) when no other will come. If `sealed`
 * is not NULL, *sealed is the memory, which the caller passes on and closes. */
int policy_update_receive(int sock, const struct launch *l, struct graph **out,
                          struct policy_update *what, int *sealed);

#endif
