/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SHARED_PROCESSOR_H
#define BK_KERNEL_SHARED_PROCESSOR_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * A new process starts on its parent's processor. Either it waits for its parent, unless the
 * scheduler wakes another processor, which some do reluctantly; or it preempts its parent. Where
 * both have much to do in parallel, these functions move a child that has not run yet to another
 * processor, if there is one. Afterwards nothing binds the child to it.
 *
 *     bool kept = processor_keep();
 *     pid_t child = clone(…);
 *     processor_send_off(child, kept);
 */

/* From now on new children do not preempt us. Returns whether processor_send_off() must undo that.
 */
bool processor_keep(void);
/* Moves the child, if there is one (above 0), and undoes processor_keep(). */
void processor_send_off(pid_t child, bool kept);
/* Undoes it for this process alone. Children that were made meanwhile have to do so themselves. */
void processor_keep_end(void);

/*
 * A child that borrows our memory while we sleep starts soonest right here. Another processor would
 * have to be woken first.
 *
 *     bool stays = processor_stay(&all);
 *     clone(CLONE_VM | CLONE_VFORK …);  // the child begins with processor_roam(&all)
 *     if (stays)
 *         processor_roam(&all);
 */
bool processor_stay(cpu_set_t *all);
void processor_roam(const cpu_set_t *all);

#endif
