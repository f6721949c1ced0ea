/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_PROCESSOR_H
#define BK_KERNEL_PROCESSOR_H

#include <sys/types.h>

/*
 * A new process starts where its parent runs, and so not before that waits, unless the scheduler
 * wakes another processor for it, which some do reluctantly. Where both have much to do side by
 * side, this wakes the other one: it moves a child that has not run yet there, if there is one.
 * Nothing binds the child to it afterwards.
 */
void processor_send_off(pid_t child);

#endif
