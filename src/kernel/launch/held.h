/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_HELD_H
#define BK_KERNEL_LAUNCH_HELD_H

#include <stdbool.h>
#include <sys/types.h>

#include "command/launch.h"

/*
 * A command that is held: its process has everything that confines it, and waits right before its
 * exec for the controller to say what to run. Only the controller has the other end of its socket.
 */
struct setup;

/* In the controller. Returns 0 or a negative errno: -E2BIG if it is too much for a packet. */
int held_send(int sock, const struct launch_order *order);

/* In the controller: whoever removes a folder in another mount namespace takes away what is mounted
 * on it in this one. held_mounts_open() returns a descriptor or a negative errno; from then on
 * held_mounts_changed() says, once, whether that has happened, or anything like it. */
int held_mounts_open(pid_t init);
bool held_mounts_changed(int fd);

/* In the command's process, behind the filter: reports STATUS_HELD, waits, and takes the order.
 * Nothing here allocates or makes a judged call. Returns 0, or a negative errno with
 * *step. */
int held_wait(const struct setup *s, char *const **argv, char *const **env, enum launch_step *step);

#endif
