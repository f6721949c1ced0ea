/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SHARED_PROCESSOR_H
#define BK_KERNEL_SHARED_PROCESSOR_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * A new process starts where its parent runs: either it waits until that does, unless the scheduler
 * wakes another processor for it, which some do reluctantly; or it takes the processor from its
 * parent, which waits. Where both have much to do side by side, this wakes the other one: it moves
 * a child that has not run yet there, if there is one. Nothing binds the child to it afterwards.
 *
 *     bool kept = processor_keep();
 *     pid_t child = clone(…);
 *     processor_send_off(child, kept);
 */

/* From here on whom we make does not take the processor from us. Whether there is something to be
 * undone. */
bool processor_keep(void);
/* Moves the child, when there is one (above 0), and undoes that. */
void processor_send_off(pid_t child, bool kept);

#endif
