/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_DEBUG_H
#define BK_CLI_RUN_DEBUG_H

#include <stdbool.h>

#include "settings/settings.h"

/*
 * The debug log: what was decided before and around a command, on standard error. Never what could
 * be secret: no arguments, no values of variables, no logins of proxies; paths and hosts only by
 * how many they are.
 */
void debug_start(const char *prefix); /* before each line; NULL: none is said */
bool debug_on(void);
void debug_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A line that somebody else made, for struct run_spec. */
void debug_line(void *arg, const char *line);

/* What a policy restricts, in numbers, and somebody else's proxies that it leads to. */
void debug_policy(const struct access *p);
void debug_settings(struct settings *s, const struct settings_result *r);

#endif
