/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_API_API_H
#define BK_API_API_H

#include "base/buf.h"
#include "base/err.h"
#include "buckle/buckle.h"
#include "sbpl/sbpl.h"

struct buckle_error {
    struct bk_err err;
    struct buf report;
};

struct buckle_options {
    struct arena arena;
    struct sbpl_param *params;
    const char **dirs;
    size_t nparams, ndirs;
    const char *entitlements;
    bool fold_case;
};

/* Stores a copy of err in *out, with the unit's findings as its report when there are any. Takes a
 * NULL out and a NULL unit. */
void api_error(struct buckle_error **out, const struct bk_err *err, const struct sbpl_unit *unit);

#endif
