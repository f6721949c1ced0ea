/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_THREAD_CACHE_H
#define BK_KERNEL_JUDGE_THREAD_CACHE_H

#include "kernel/judge/judge.h"

/* What the judge remembers of the threads that call. */

/* Opens something in the caller's folder in /proc; or a negated errno. */
int thread_cache_open(struct judge *w, const struct request *r, const char *name, int flags);
/* The request was found valid after everything that was opened for it so far. */
void thread_cache_confirm(struct judge *w, const struct request *r);
/* Looks at every call before it is answered. */
void thread_cache_observe(struct judge *w, const struct request *r);
/* 0 or a negated errno. Checks by itself that the request is valid. */
int thread_cache_umask(struct judge *w, const struct request *r, mode_t *mask);

#endif
