/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SYSTEM_TCP_HOLDERS_H
#define BK_SYSTEM_TCP_HOLDERS_H

#include <stdint.h>
#include <sys/types.h>

/*
 * This user's processes that hold a TCP socket with these ports; `remote` 0: one that listens.
 * Calls each() for every one until it returns other than 0. Returns that, or 0. Only macOS has it.
 */
int tcp_holders(uint16_t local, uint16_t remote, int (*each)(void *arg, pid_t pid), void *arg);

#endif
