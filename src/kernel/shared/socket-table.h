/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SHARED_SOCKET_TABLE_H
#define BK_KERNEL_SHARED_SOCKET_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The kernel's lists of TCP sockets, /proc/PID/net/tcp and tcp6. An open one stays that of the
 * network in which it was opened. */

/* Whether an address as these lists write it, in this machine's words, is this one or any. */
bool socket_table_is_address(const char *text, const uint8_t addr[16]);

/* Whether a socket listens where a connection to this port arrives: at this address or at any. The
 * addresses 127.0.0.1 and ::1 stand for each other, as "localhost" does. table may be NULL. */
bool socket_table_listens(FILE *table, const uint8_t addr[16], uint16_t port);

#endif
