/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SHARED_SIGNAL_NAME_H
#define BK_KERNEL_SHARED_SIGNAL_NAME_H

/* "SIGKILL" for SIGKILL. NULL for real-time signals and numbers that no signal has. */
const char *signal_name(int number);

#endif
