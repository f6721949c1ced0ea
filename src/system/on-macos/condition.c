/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The time that is left does not depend on a clock that somebody sets. */

#include "system/condition.h"

#include <stddef.h>

void condition_init(pthread_cond_t *c)
{
    pthread_cond_init(c, NULL);
}

void condition_wait(pthread_cond_t *c, pthread_mutex_t *lock, int milliseconds)
{
    struct timespec left = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    if (milliseconds < 0)
        pthread_cond_wait(c, lock);
    else
        pthread_cond_timedwait_relative_np(c, lock, &left);
}
