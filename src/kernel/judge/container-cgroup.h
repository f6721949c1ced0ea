/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_CONTAINER_CGROUP_H
#define BK_KERNEL_JUDGE_CONTAINER_CGROUP_H

#include <sys/types.h>

/* Moves this process to the cgroup of another that decides which devices can be opened: the one of
 * version 2, or the devices' of version 1. Does nothing if it is there already. Returns 0 or a
 * negative errno, which errno has, too. */
int container_cgroup_join(int proc, pid_t pid);

/* In a pod the agent has a namespace of cgroups, from which the paths of others begin with "..".
 * Joins that of the host: the first process's or, where that is out of reach, that of whoever
 * started the container. If neither works, container_cgroup_join() fails. */
void container_cgroup_from_host(int proc);

#endif
