/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_CREDS_H
#define BK_KERNEL_JUDGE_CREDS_H

#include "kernel/judge/judge.h"

/* The credentials that the judge acts with. */

/* Takes over the caller's user, groups and capabilities, where they could differ from ours. 0 or a
 * negated errno; then nothing may be done in its stead. */
int creds_take(struct judge *w, const struct request *r);
/* Then: who the caller really is, as access() wants to know it. */
int creds_take_real(struct judge *w);

#endif
