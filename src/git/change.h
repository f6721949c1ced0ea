/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GIT_CHANGE_H
#define BK_GIT_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "git/config.h"

/* Where the settings are. */
struct git_place {
    const char *gitdir;   /* canonical path of the folder that holds the file */
    const char *worktree; /* canonical folder that must contain the working tree (for a submodule,
                             the superproject's top), or NULL */
    bool submodule;       /* gitdir is below another repository's modules/ */
    /* Settings that git combines with this file, from before the command changed them: config for
     * config.worktree and vice versa, and included files. Their remotes existed at first. */
    const struct git_config *const *beside;
    size_t nbeside;
};

struct git_finding {
    const char *key; /* from the given settings, or a constant */
    const char *why; /* a short constant phrase: "git runs this program" */
};

/*
 * Returns whether settings may change from `was` to `now`; `first` is their state before the
 * command. Each may be NULL for no settings. A key has changed if its list of values has, in order;
 * a key that is as at first is harmless. If not all changed keys are harmless, *found gets the
 * first that is not. Allocates only from a.
 */
bool git_change_is_harmless(struct arena *a, const struct git_place *place,
                            const struct git_config *first, const struct git_config *was,
                            const struct git_config *now, struct git_finding *found);

/* Writes the normalised path that core.worktree names to out. Returns false unless it is strictly
 * inside place->worktree, with no ".git" below that. The caller must check for symlinks. */
bool git_worktree_of(const struct git_place *place, const char *value, char *out, size_t n);

#endif
