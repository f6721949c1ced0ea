/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Who runs where, while a sandbox is being started. */

#include "kernel/processor.h"

#include <sched.h>

void processor_send_off(pid_t child)
{
    cpu_set_t all, others;
    int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof(all), &all) < 0)
        return;
    others = all;
    CPU_CLR(here, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(child, sizeof(others), &others) == 0)
        sched_setaffinity(child, sizeof(all), &all);
}
