/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_POLICY_CACHE_H
#define BK_RUN_POLICY_CACHE_H

#include <stdbool.h>

struct buf;
struct host;
struct run;

/*
 * Policies and plans of earlier runs, so that a launch need not compile again what has not changed.
 * Each is one file in the user's state folder, which no sandboxed command can write: the graph and
 * the plan, together with all they were made from (texts, parameters, links, mounts, options, what
 * the host can do, and which program made them). A file that differs in one byte of that, is not
 * the user's own private one, or is damaged, is ignored.
 */

/* Takes graph and plan of this run from there. Returns false if they have to be made. */
bool policy_cache_load(struct run *r);

/* Appends all that they depend on, for other things that do. Returns false if a later run cannot
 * have the same. */
struct buf;
bool policy_cache_inputs(const struct run *r, struct buf *out);

/* Keeps them for the next run. Compiles the policy once more, so it is called while the command
 * runs. Failing has no effect. */
void policy_cache_save(struct run *r);

/* Appends all that they are made from. */
bool policy_put_inputs(const struct run *r, const struct host *host, struct buf *out);

#endif
