/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_COMMANDS_H
#define BK_SETTINGS_COMMANDS_H

#include "settings/settings.h"

/* Reads one element of `commands`, which settings_check() has checked. */
int command_rule_read(struct settings *s, const struct setting_value *v, struct command_rule *out,
                      struct bk_err *err);

/* Whether the user has agreed to what this pattern of a rule asks about. */
bool command_is_agreed(const struct access *p, const struct command_rule *r, const char *pattern);

bool command_pattern_fits(const char *pattern, const char *command, size_t n);

/* What the rules say about one simple command: a program and its arguments, joined by spaces. If
 * several fit, all count. */
struct command_match {
    const struct command_rule *deny, *ask, *narrows; /* the first of each kind; NULL: none */
};
void command_rules_match(const struct access *p, const char *command, size_t n,
                         struct command_match *out);

#endif
