/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WINDOW_PEER_H
#define BK_WINDOW_PEER_H

#include <stdbool.h>

/*
 * Whether the other end of a TCP connection over loopback is a process of this user, outside of
 * every sandbox: all processes that hold the socket must be outside, and one must be found.
 */
bool peer_is_user(int sock);

#endif
