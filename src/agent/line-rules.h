/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_LINE_RULES_H
#define BK_AGENT_LINE_RULES_H

#include "settings/commands.h"

/*
 * What the rules about commands say about a line, before it runs: for asking and explaining. Inside
 * the sandbox they are enforced when programs start, whatever the line looks like. Outside there is
 * only the line, so there what looks like a command anywhere in it counts, and a line that is not
 * understood is asked about.
 */
struct line_rules {
    struct command_match match;
    bool unclear; /* outside: a command that a rule is about may hide in it, in quotes for instance
                   */
};
void line_rules_find(const struct access *p, const char *line, bool outside,
                     struct line_rules *out);

/* Calls `each` with every pattern of a rule that asks about a command of the line. */
typedef void line_pattern_fn(void *arg, const char *pattern);
void line_rules_asked(const struct access *p, const char *line, line_pattern_fn *each, void *arg);

#endif
