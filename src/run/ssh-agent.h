/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_SSH_AGENT_H
#define BK_RUN_SSH_AGENT_H

#include <stddef.h>

#include "base/err.h"

struct run;
struct run_spec;

/* How many rules about keys of ssh the spec has. */
size_t run_ssh_count(const struct run_spec *s);
/* Lets the command connect to its agent; adds to the run's own rules. */
int run_ssh_rules(struct run *r, struct bk_err *err);
/* Finds the keys of the hosts named, and sets *set to SSH_AUTH_SOCK=…; call it if there are rules.
 */
int run_ssh_prepare(struct run *r, const char **set, struct bk_err *err);
/* Starts the agent that the command sees, in its TMPDIR. */
int run_ssh_start(struct run *r, struct bk_err *err);
void run_ssh_stop(struct run *r);

#endif
