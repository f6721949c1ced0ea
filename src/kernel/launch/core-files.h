/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_CORE_FILES_H
#define BK_KERNEL_LAUNCH_CORE_FILES_H

/*
 * Redirects core files from a folder of the host to the command's TMPDIR, in this mount namespace:
 * the kernel looks up the folder by name, as the crashed process would. Returns 0 or a negative
 * errno. Where the kernel puts them elsewhere (the working directory, or a program of the host), it
 * does nothing.
 */
int core_files_redirect(const char *tmpdir, const char *cwd);

#endif
