/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_LINUX_DOCTOR_LOOK_H
#define BK_RUN_LINUX_DOCTOR_LOOK_H

#include "kernel/plan/plan.h"

/*
 * What this host can enforce. Abilities are probed, and the planner of real runs plans the default
 * profile with them. $BUCKLE_PRETEND replaces what was found, to see the report of another host.
 */
struct doctor {
    struct host host;
    bool nested;       /* inside a sandbox of ours; the host as that one knows it */
    bool full;         /* the default profile needs no --accept-weaker */
    char missing[320]; /* otherwise: the first reason */
    struct plan plan;  /* the plan; the weaker one when it is not full */
    bool planned;
};

/* d is zeroed. Free with doctor_free() whatever happened. */
int doctor_look(struct doctor *d, struct bk_err *err);
void doctor_free(struct doctor *d);
#define OWN_doctor doctor_free

void doctor_sentence(const struct doctor *d, struct buf *out); /* the overall result */
void doctor_json(const struct doctor *d, struct buf *out);
void doctor_text(const struct doctor *d, struct buf *out);

#endif
