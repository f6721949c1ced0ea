/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Chooses processors for new processes while a sandbox starts. */

#include "kernel/shared/processor.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not every C library has these calls. */
static void schedule(pid_t pid, int policy)
{
    syscall(SYS_sched_setscheduler, pid, policy, &(struct sched_param){0});
}

bool processor_keep(void)
{
    if (syscall(SYS_sched_getscheduler, 0) != SCHED_OTHER)
        return false;
    schedule(0, SCHED_BATCH);
    return true;
}

static void move(pid_t child)
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

void processor_send_off(pid_t child, bool kept)
{
    if (child > 0)
        move(child);
    if (kept && child > 0)
        schedule(child, SCHED_OTHER);
    if (kept)
        processor_keep_end();
}

void processor_keep_end(void)
{
    schedule(0, SCHED_OTHER);
}

bool processor_stay(cpu_set_t *all)
{
    cpu_set_t one;
    int here = sched_getcpu();
    CPU_ZERO(&one);
    if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof(*all), all) < 0 ||
        CPU_COUNT(all) < 2)
        return false;
    CPU_SET(here, &one);
    return sched_setaffinity(0, sizeof(one), &one) == 0;
}

void processor_roam(const cpu_set_t *all)
{
    sched_setaffinity(0, sizeof(*all), all);
}
