/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_STATE_H
#define BK_NODE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "node/state-pod.h"

/* What a runtime says about a container whose listener it sends: OCI's container process state. */

enum {
    STATE_BYTES = 1 << 20,
    STATE_FDS = 8,
    STATE_ID = 256,
    STATE_PROFILE = 128,
    STATE_SECTION = 17
};

/* The annotation that names a profile, where the metadata of the listener does not. */
#define STATE_ANNOTATION "org.buckle.profile"

struct state {
    pid_t pid;                   /* as the runtime numbers it */
    size_t nfds;                 /* how many descriptors came along */
    size_t seccomp;              /* which of them is the listener */
    char id[STATE_ID];           /* of the container */
    char profile[STATE_PROFILE]; /* its name */
    struct state_pod pod;
    char section[STATE_SECTION]; /* what spec_digest() wrote for the filter; "": not known */
};

/* Whether a text names a profile: letters, digits and . _ - after a letter or digit. */
bool state_is_profile(const char *name);

/* Returns 0, 1 if the text is not complete, or -1. */
int state_parse(const char *text, size_t n, struct state *out, struct bk_err *err);

#endif
