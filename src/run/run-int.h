/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_RUN_INT_H
#define BK_RUN_RUN_INT_H

#include "macos/enter.h"
#include "run/run.h"

/* ---- what each system has: on-linux/run-kernel.c, macos/run-seatbelt.c; run_go() too ---- */

/* Looks at the host, and starts what takes long. `probe` as in run_open(). */
int run_system_open(struct run *r, bool probe, struct bk_err *err);
/* Whether this process already runs in a sandbox of ours, which protects Buckle's own files. */
bool run_system_is_inside(const struct run *r);
void run_system_stop(struct run *r);  /* ends every process that is left */
void run_system_clean(struct run *r); /* removes what the run left on disk, except its TMPDIR */
void run_system_close(struct run *r); /* all of it; also after a failed run_system_open() */

/* ---- run-record.c ---- */

/* Opens the spec's record, if it has one, and notes what is about to run. */
int run_record_begin(struct run *r, struct bk_err *err);
/* Has the launch report to the record as well. */
void run_record_join(struct run *r, struct launch *l);
/* Notes how the run ended. result: of the launch. */
void run_record_end(struct run *r, const struct launch_end *end, int result);
void run_record_free(struct run *r);
/* A new policy of the running command. */
struct run_source;
void run_record_policy(struct run *r, const struct run_policy *p);
/* Hands an event to the record and to the front end. */
void run_event(struct run *r, const struct event *e);

/* ---- steps of run_go() ---- */

int run_make_tmpdir(struct run *r, struct bk_err *err);
int run_prepare_env(struct run *r, struct bk_err *err);
/* Reports what is wrong with the policy. Returns -1. */
int run_refused(const struct run *r, const struct bk_err *err);

/* All steps, with Seatbelt. enter: how a process confines itself; NULL: sandbox-exec does it. */
int run_go_seatbelt(struct run *r, seatbelt_enter_fn *enter, struct launch_end *end,
                    struct bk_err *err);
/* seatbelt.c: the last of them. The policy is compiled and the environment made. */
int run_macos(struct run *r, seatbelt_enter_fn *enter, struct launch_end *end, struct bk_err *err);
/* Prints the profile with which the command would run; how: what will apply it. */
int run_print_seatbelt(struct run *r, const char *how, bool json, struct buf *out,
                       struct bk_err *err);

#endif
