/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_MASKED_H
#define BK_RUN_MASKED_H

#include "base/buf.h"
#include "settings/masks.h"

struct run;

/* Hides what srt's setting `credentials` names: writes NAME=placeholder… to set, which has room for
 * all masks, and adds covers for files and names of variables that are left out to the run. Returns
 * how many it wrote, or -1. */
int masked_apply(struct run *r, const struct masks *m, const char **set, struct bk_err *err);
/* The caller's variables without those that are left out; NULL without memory. */
char *const *masked_environ(struct run *r, const struct masks *m, char *const *caller);

#endif
