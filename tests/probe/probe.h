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

/* Each file's, up to one without a name. */
extern const struct operation name_operations[], attribute_operations[], seeing_operations[],
    socket_operations[], process_operations[];

enum { HERE = AT_FDCWD, MODE = 0640 };
#define PROBE_ATTRIBUTE "user.probe"

/* Closes fd; the errno stays. */
long probe_finish(int fd, long got);
/* The result of opening, without what was opened. */
long probe_leave_open(long fd);
/* Runs work on a descriptor that can only read. */
long probe_with_reader(const char *path, long (*work)(int fd));

#endif
