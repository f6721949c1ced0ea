/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_KEPT_LAYERS_H
#define BK_RUN_KEPT_LAYERS_H

#include <limits.h>
#include <stddef.h>

#include "settings/access.h"

/*
 * What commands write to caches that presets name is kept for the next run in the same working
 * folder: STATE/buckle/layers/PROJECT/CACHE, where STATE is $XDG_STATE_HOME or ~/.local/state. No
 * command can write there (own-rules.h). Only sandboxes read it, so what one plants there reaches
 * no other project and no unsandboxed program.
 *
 * All of it together has a quota. Once a day a process in the background removes the projects that
 * were not used for the longest time.
 */
struct kept_layers {
    char path[PATH_MAX]; /* this project's folder; empty if there is none */
    int lock;            /* shared by all runs that have such layers */
    char **made;         /* mount points that were missing */
    size_t nmade;
};

/* Makes the folder, and what caches need to be mounted on. cwd: the project. Leaves the path empty
 * if that is not possible: then nothing can be written to the caches. */
void kept_layers_open(struct kept_layers *k, const char *cwd, const struct places *caches);
/* Removes mount points again that no other run may use. */
void kept_layers_close(struct kept_layers *k);

/* Removes the oldest layers in a folder until the others have at most `quota` bytes, and those that
 * have not been used for `days`. Leaves alone what a run uses. */
void kept_layers_prune(const char *layers, unsigned long long quota, unsigned days);

#endif
