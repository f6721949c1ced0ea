/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_WAITING_CALLS_H
#define BK_KERNEL_JUDGE_WAITING_CALLS_H

#include <time.h>

#include "kernel/judge/request.h"

/*
 * Judged calls that wait, as long as their caller lives and gets no signal: opening a FIFO,
 * connecting, sending. Each is an entry in a table; none needs a thread. inotify reports some of
 * the events they wait for; the judge retries the others, first after a millisecond and then less
 * often. It retries only a few at a time, so that other calls are not delayed.
 *
 * If the table is full, or descriptors are about to run out, the call fails.
 */

struct pinned;

/* Opens a FIFO the way that blocks. May take over p->fd. */
struct answer wait_fifo(struct judge *j, const struct request *r, struct pinned *p, int flags);

/* Makes the call again later from the start: each time, its arguments are copied and judged again.
 * late: the errno to end with after the socket's timeout (SO_SNDTIMEO); full: if the table is full.
 */
struct answer wait_again(struct judge *j, const struct request *r, int sock, int late, int full);

/* Makes the call again once its question is answered (questions.h). */
struct answer wait_question(struct judge *j, const struct request *r);
/* Calls that wait for an answer may be allowed by now. */
void wait_policy_changed(void);

/* For the loop that answers calls. */

/* A descriptor to poll, or -1. */
int wait_event_fd(void);
/* Reads it once it is readable. Returns false if there was nothing. */
bool wait_read_events(struct judge *j);
/* Retries the calls that are due. */
void wait_retry(struct judge *j);
/* How long to sleep. other: how long to sleep otherwise; NULL: for ever. */
const struct timespec *wait_timeout(const struct timespec *other);

#endif
