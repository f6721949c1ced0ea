/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_REGISTRY_FILES_H
#define BK_RUN_REGISTRY_FILES_H

#include "policy/assemble.h"
#include "run/spec.h"

/*
 * A tool's settings name the hosts that a preset opens. That is safe only for files that the
 * command cannot write, or it opens hosts for its next run. Adds to *out the files among the
 * assembly's registries that its policy leaves alone: neither the file nor anything on the way to
 * it, links included, can be replaced, and nothing can be created beside it. The spec has its cwd
 * and parameters.
 */
int registry_files_check(const struct run_spec *spec, const char *tmpdir, const struct assembly *a,
                         struct arena *arena, struct words *out, struct bk_err *err);

#endif
