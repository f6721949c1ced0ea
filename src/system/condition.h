/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SYSTEM_CONDITION_H
#define BK_SYSTEM_CONDITION_H

#include <pthread.h>

/* A condition of threads with time limits by the monotonic clock. */
void condition_init(pthread_cond_t *c);
/* Waits at most so long; -1: without a limit. May return early. */
void condition_wait(pthread_cond_t *c, pthread_mutex_t *lock, int milliseconds);

#endif
