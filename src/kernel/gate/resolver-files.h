/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_GATE_RESOLVER_FILES_H
#define BK_KERNEL_GATE_RESOLVER_FILES_H

#include <stdbool.h>

/* Files by which programs find hosts, for a network that is filtered by name: mounted over the
 * host's in the sandbox's mount namespace. What is missing there is left missing. connects: names
 * are asked for by TCP. 0 or a negated errno. */
int resolver_files_mount(bool connects);

#endif
