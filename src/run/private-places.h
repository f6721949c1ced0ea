/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_PRIVATE_PLACES_H
#define BK_RUN_PRIVATE_PLACES_H

#include "run/spec.h"

enum {
    PRIVATE_PLACES = 0
#define PLACE(variable, name, ...) +1
#include "run/private-places.def"
};

/* Fills in NAME=VALUE for programs that need a private folder (private-places.def), in the arena.
 * Returns how many, or -1 without memory. */
int private_places(const struct run_spec *spec, const char *tmpdir, struct arena *arena,
                   const char *out[PRIVATE_PLACES]);

#endif
