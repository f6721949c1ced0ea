/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_PROGRAM_HINTS_H
#define BK_CLI_RUN_PROGRAM_HINTS_H

#include "base/buf.h"
#include "report/event.h"

/* For a command that failed: appends one line if it is, or is a shell's command line that starts, a
 * program that cannot work inside. Returns whether it is. */
bool program_hint(char *const *argv, struct buf *out);

/* The same for a program that was refused a mount namespace, no matter what started it: the first
 * one that an event was about. */
struct program_mounts {
    char name[32];
    bool flag_helps; /* another denial was about user namespaces alone */
};

void program_mounts_note(struct program_mounts *m, const struct event *e);
/* `who` begins the line. */
bool program_mounts_hint(const struct program_mounts *m, const char *who, struct buf *out);

#endif
