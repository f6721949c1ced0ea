/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_REPORT_IGNORE_H
#define BK_REPORT_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

/* Denials that are not reported: those with certain words in their line, for commands that contain
 * a text or, with "*", for all. It doesn't allow anything. */
struct ignore_rule {
    const char *command; /* part of the command, or "*" */
    const char *const *words;
    size_t nwords;
};

struct ignore_rules {
    const struct ignore_rule *at;
    size_t n;
};

/* line: `name(pid) deny(1) operation path`. command: NULL if unknown. */
bool ignore_line(const struct ignore_rules *rules, const char *line, const char *command);

#endif
