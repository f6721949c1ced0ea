/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_MACOS_SYSTEM_VERSION_H
#define BK_MACOS_SYSTEM_VERSION_H

#include <stdbool.h>
#include <stddef.h>

/* What sw_vers(1) says about the system: "macOS", "14.5", "23F79". Empty where it says nothing. */
struct system_version {
    char name[32], number[32], build[32];
};

/* Reads lines of `sw_vers`. Returns false if there is no number among them. */
bool system_version_parse(struct system_version *v, const char *text, size_t n);
/* Runs sw_vers. */
bool system_version_find(struct system_version *v);

#endif
