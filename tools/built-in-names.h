/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TOOLS_BUILT_IN_NAMES_H
#define BK_TOOLS_BUILT_IN_NAMES_H

#include "sbpl/machine.h"

/* The names that rules of a shipped text deny, as src/sbpl/precompiled.h describes them. */

/* Collects the names of the rules; home represents the parameter HOME. Calls give_up for what
 * cannot be listed. */
void precompiled_names_add(const struct sbpl_rule *rules, const char *home, bool ordinary,
                           void (*give_up)(const char *pattern));
/* Prints them as C. */
void precompiled_names_print(void);

#endif
