/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_DEBUG_H
#define BK_CLI_RUN_DEBUG_H

#include <stdbool.h>

#include "settings/settings.h"

/*
 * The debug log: decisions before and around a command, on standard error. It has no secrets: no
 * arguments, values of variables or logins of proxies; only counts of paths and hosts.
 */
void debug_start(const char *prefix); /* before each line; NULL: no log */
bool debug_on(void);
void debug_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* For run_spec.debug. */
void debug_line(void *arg, const char *line);

/* What a policy restricts, in numbers, and its external proxies. */
void debug_policy(const struct access *p);
void debug_settings(struct settings *s, const struct settings_result *r);

#endif
