/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SHARED_FORGET_ENVIRON_H
#define BK_KERNEL_SHARED_FORGET_ENVIRON_H

/* Overwrites the caller's variables in this process's memory, where secrets may be among them.
 * keep: names of those that stay, NULL at the end; NULL: none. Text that points into the
 * environment must not be used afterwards. */
void forget_environ(const char *const *keep);

#endif
