/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_OWN_RULES_H
#define BK_RUN_OWN_RULES_H

#include "base/buf.h"
#include "base/err.h"

/* The name of the rules in reports. */
#define OWN_RULES "<buckle>/own.sb"

/*
 * Rules that end every policy: no sandboxed process can write files that decide about sandboxes,
 * whatever a profile, settings or flags allow. These are Buckle's settings, trust, machine policy
 * and record of own folders, and the settings of the compat names' originals, at their real paths,
 * whether they exist or not.
 */
int own_rules(const char *cwd, struct buf *out, struct bk_err *err);

/* The same for a record of runs (record/record.h), which cannot be read either: it tells about
 * other commands, and a reader could lock it. */
int own_rules_record(const char *path, struct buf *out, struct bk_err *err);

/* A command in a world (world/world.h) writes to its layers only, whatever the policy opens; and to
 * these paths, which stay real, if the policy opens them. */
int own_rules_world(const char *const *real, size_t n, struct buf *out, struct bk_err *err);

/* A socket of ours, which the command may connect to. */
int own_rules_socket(const char *path, struct buf *out, struct bk_err *err);

#endif
