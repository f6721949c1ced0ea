/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_COMMAND_H
#define BK_GRAPH_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "graph/graph.h"

/*
 * Patterns of commands, as (process-command …) and the setting `commands` have them. A command is a
 * program and its arguments, joined by one space each: "git push origin main".
 *
 *   git push       exactly that
 *   git push *     git push, alone or with more arguments; `git push:*` is the same
 *   * --force *    elsewhere, a star is any characters, spaces included
 *   /usr/bin/git   a program with a slash is its whole path; any other is the last part of it
 */
enum { COMMAND_PATTERN = 256 };

/* Whether it is a pattern; err says why not. */
int graph_command_check(const char *pattern, size_t n, struct bk_err *err);

bool graph_command_fits(const char *pattern, size_t n, const char *command, size_t len);
/* Whether the pattern could fit this program with arguments that nobody knows. */
bool graph_command_fits_program(const char *pattern, size_t n, const char *program, size_t len);

/*
 * When a program starts, a test of a command is about that program. With this number it is also
 * about the process that starts it, and its ancestors: a profile for a command stays with all that
 * the command starts. A fact with this number is such an ancestor.
 */
enum { GRAPH_COMMAND_LINE = 1 };

/* The patterns of a policy. */
enum { GRAPH_COMMANDS = 32 };

struct graph_commands {
    uint32_t n; /* may be more than fit in here: such a policy cannot be enforced */
    const struct graph_test *tests[GRAPH_COMMANDS];
    uint32_t narrowing; /* bit N: pattern N takes something away from what runs, not only from what
                           may be started */
};
void graph_commands_find(const struct graph *g, struct graph_commands *out);

#endif
