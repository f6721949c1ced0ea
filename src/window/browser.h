/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WINDOW_BROWSER_H
#define BK_WINDOW_BROWSER_H

#include <stdbool.h>

/* Whether this user has a screen here. */
bool browser_is_likely(void);
/* Executes what opens a file in the user's browser. Returns only if that fails. */
void browser_open(const char *file);

#endif
