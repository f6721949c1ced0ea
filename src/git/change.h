/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GIT_CHANGE_H
#define BK_GIT_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "git/config.h"

/* Which settings are looked at. */
struct git_place {
    const char *gitdir;   /* canonical path of the folder that holds the file */
    const char *worktree; /* canonical folder within which this repository's working tree must be
                             (the superproject's top for a submodule), or NULL */
    bool submodule;       /* gitdir is below another repository's modules/ */
    /* What git reads together with this file, as it was before the command touched it: config for
     * config.worktree and the other way round, files that either includes. A remote that one of
     * them has is one from before. */
    const struct git_config *const *beside;
    size_t nbeside;
};

struct git_finding {
    const char *key; /* of one of the settings given, or a constant */
    const char *why; /* a short constant phrase: "git runs this program" */
};

/*
 * Whether settings may become `now` where they were `was`; `first` is what they were before the
 * command touched them. Each may be NULL: there were none. A key changed if its list of values, in
 * order, did; one that is again what it was first is harmless.
 *
 * True: every changed key is harmless. False: *found names the first one that is not. Allocates
 * from a only.
 */
bool git_change_is_harmless(struct arena *a, const struct git_place *place,
                            const struct git_config *first, const struct git_config *was,
                            const struct git_config *now, struct git_finding *found);

/* The working tree that core.worktree names: its normalised path, strictly inside place->worktree
 * and without a ".git" in what follows that. Links on the way are for the caller to look at. */
bool git_worktree_of(const struct git_place *place, const char *value, char *out, size_t n);

#endif
