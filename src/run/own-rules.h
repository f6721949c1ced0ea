/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_OWN_RULES_H
#define BK_RUN_OWN_RULES_H

#include "base/buf.h"
#include "base/err.h"

/* What reports call the rules. */
#define OWN_RULES "<buckle>/own.sb"

/*
 * Rules that end every policy: nobody in a sandbox writes what decides about sandboxes, whatever a
 * profile, settings or flags say. These are Buckle's settings, trust and policy, and the settings
 * of the tools whose place it takes, existing or not, where they really are at this moment.
 */
int own_rules(const char *cwd, struct buf *out, struct bk_err *err);

#endif
