/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_GATE_RESOLVER_FILES_H
#define BK_KERNEL_GATE_RESOLVER_FILES_H

#include <stdbool.h>

/* Mounts the files by which programs find hosts over the host's, in the sandbox's mount namespace,
 * for a network that is filtered by name. Missing files stay missing. connects: names are looked up
 * by TCP. Returns 0 or a negative errno. */
int resolver_files_mount(bool connects);

#endif
