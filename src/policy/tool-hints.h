/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_POLICY_TOOL_HINTS_H
#define BK_POLICY_TOOL_HINTS_H

#include "policy/assemble.h"

/* A tool's preset that is not in use, and what it would open, to be suggested. */
struct tool_hint {
    const char *name;
    struct words paths, hosts;
    bool called; /* by the command */
};

/* For a policy that presets can be added to. Lives in the arena. */
int tool_hints_find(struct arena *a, const struct policy_request *q, const struct assembly *now,
                    struct tool_hint **out, size_t *n, struct bk_err *err);

#endif
