/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_GATE_TRUST_FILES_H
#define BK_KERNEL_GATE_TRUST_FILES_H

#include <stddef.h>

/*
 * Makes programs in the sandbox trust the run's certificate authority, and nothing outside it. The
 * system's bundles, and those that the caller's variables name, are covered by copies that have one
 * certificate more. Variables lead programs with bundles of their own to one of these.
 */

/* *bundle: the first of the system's bundles that exists, or NULL. Returns 0 or a negative errno.
 */
int trust_files_mount(const char *pem, size_t n, char *const *env, const char **bundle);
/* The environment with these variables; those that are set stay. NULL without memory. */
char **trust_files_environ(char *const *env, const char *bundle);

#endif
