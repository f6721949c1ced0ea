/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_DOCTOR_H
#define BK_RUN_DOCTOR_H

#include "kernel/plan/plan.h"

/*
 * What this host can enforce. Abilities are probed, not looked up; what they amount to is found by
 * planning the default profile for the host, with the planner that a run uses. $BUCKLE_PRETEND
 * replaces what was found, to see what another host would be told.
 */
struct doctor {
    struct host host;
    bool full;         /* the default profile needs no --accept-weaker */
    char missing[320]; /* otherwise: what stands in the way first */
    struct plan plan;  /* the plan; the weaker one when it is not full */
    bool planned;
};

/* d is zeroed. Free with doctor_free() whatever happened. */
int doctor_look(struct doctor *d, struct bk_err *err);
void doctor_free(struct doctor *d);
#define OWN_doctor doctor_free

void doctor_sentence(const struct doctor *d, struct buf *out); /* what it comes to */
void doctor_json(const struct doctor *d, struct buf *out);

#endif
