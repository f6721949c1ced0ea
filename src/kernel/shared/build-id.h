/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SHARED_BUILD_ID_H
#define BK_KERNEL_SHARED_BUILD_ID_H

#include <stddef.h>

/* The linker's number for this program or library: no two that differ have the same. Returns NULL
 * if it was linked without one. */
const void *build_id(size_t *n);

#endif
