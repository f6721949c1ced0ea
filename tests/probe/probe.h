/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef PROBE_H
#define PROBE_H

#include <fcntl.h>

/* An attempt returns a negative number and sets errno, like a call. */
struct operation {
    const char *name;
    int nargs;
    long (*attempt)(char **args);
};

/* Each file's table, terminated by an entry without a name. */
extern const struct operation name_operations[], attribute_operations[], seeing_operations[],
    socket_operations[], process_operations[];

enum { HERE = AT_FDCWD, MODE = 0640 };
#define PROBE_ATTRIBUTE "user.probe"

/* Closes fd; keeps errno. */
long probe_finish(int fd, long got);
/* Returns the result of opening, and closes the descriptor. */
long probe_leave_open(long fd);
/* Runs work on a read-only descriptor. */
long probe_with_reader(const char *path, long (*work)(int fd));

#endif
