/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_OCI_ARGS_H
#define BK_NODE_OCI_ARGS_H

#include <stdbool.h>

#include "base/err.h"

/* The command line of an OCI runtime, as engines write it: does it make a container, and from what
 * bundle? */
struct oci_call {
    bool makes;         /* create or run */
    const char *bundle; /* its folder */
    const char *config; /* its file in there */
    const char *log;    /* where the engine looks for messages, or NULL: standard error */
    bool log_json;
};

/* argv is NULL-terminated and begins after the program's name. What it does not know, it refuses:
 * an option that was misread could hide a container. Then only log and log_json are set. */
int oci_args_read(char *const *argv, struct oci_call *out, struct bk_err *err);

#endif
