/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_LINE_PARTS_H
#define BK_AGENT_LINE_PARTS_H

#include <stdbool.h>
#include <stddef.h>

enum { LINE_PARTS = 64 };

/* The commands of a line for a shell. */
struct line_part {
    const char *at;
    size_t n;
};

struct line_parts {
    struct line_part at[LINE_PARTS];
    size_t n;
    bool exact; /* a shell would split it in the same way */
};

void line_split(const char *line, struct line_parts *p);
/* At everything that could begin a command, inside quotes as well. */
void line_split_anywhere(const char *line, struct line_parts *p);
/* The second where the first is not exact: no command of the line is missed. */
void line_split_all(const char *line, struct line_parts *p);
/* What follows words that don't change which command it is: variables, env, sudo, then. */
struct line_part line_skip_prefix(struct line_part p);
/* A command as the program gets it: without quotes, one space between words. Returns the length,
 * less than cap. */
size_t line_words(struct line_part p, char *out, size_t cap);

#endif
