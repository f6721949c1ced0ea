/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_HELPER_PROGRAM_H
#define BK_KERNEL_LAUNCH_HELPER_PROGRAM_H

/* Opens buckle-tls, which is beside this program (../libexec/buckle), or where Buckle was
 * installed, for programs that link the library. A file that another user could have put there
 * doesn't count. Returns a descriptor for execution, or -1. */
int helper_program_open(void);

#endif
