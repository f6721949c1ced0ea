/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_CORE_FILES_H
#define BK_KERNEL_LAUNCH_CORE_FILES_H

/*
 * Has core files that go to a folder of the host's go to the command's TMPDIR instead, in this
 * mount namespace: the kernel finds their folder by its name, as the process that crashed would. 0
 * or a negated errno. Where the kernel wants them elsewhere (in the working directory, or in a
 * program of the host's) nothing can be done.
 */
int core_files_redirect(const char *tmpdir, const char *cwd);

#endif
