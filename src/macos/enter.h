/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_MACOS_ENTER_H
#define BK_MACOS_ENTER_H

#include <stddef.h>

/* Confines the calling process by a profile, for good. Returns 0, or -1 with the reason in why[].
 * system/seatbelt.h has the one of macOS; elsewhere there is none. */
typedef int seatbelt_enter_fn(const char *profile, char *why, size_t n);

#endif
