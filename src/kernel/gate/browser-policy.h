/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_GATE_BROWSER_POLICY_H
#define BK_KERNEL_GATE_BROWSER_POLICY_H

#include <stddef.h>

/*
 * Chromium and its relatives have a trust store of their own, which no variable and no bundle
 * changes. They also take certificates from the machine's policies. In the sandbox's mount
 * namespace these have one file more, with the run's authority.
 */

/* top: a file system for covers. A browser that has no folder for settings in /etc stays as it is,
 * and so does one whose policies list authorities already. Returns 0 or a negative errno. */
int browser_policy_mount(int top, const char *pem, size_t n);

#endif
