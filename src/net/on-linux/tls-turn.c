/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Futexes: half the cost of a packet in each direction, when both processes share a processor. */

#include "net/tls-turn.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void tls_turn_wait(_Atomic uint32_t *turn, uint32_t value, unsigned ms)
{
    struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    syscall(SYS_futex, turn, FUTEX_WAIT, value, &limit, NULL, 0);
}

void tls_turn_wake(_Atomic uint32_t *turn)
{
    syscall(SYS_futex, turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}
