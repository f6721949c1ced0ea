/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef PROBE_H
#define PROBE_H

/* An attempt returns a negative number and sets errno, like a call. */
struct operation {
    const char *name;
    int nargs;
    long (*attempt)(char **args);
};

/* Those of process.c, up to one without a name. */
extern const struct operation process_operations[];

#endif
