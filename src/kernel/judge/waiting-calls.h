/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_WAITING_CALLS_H
#define BK_KERNEL_JUDGE_WAITING_CALLS_H

#include "kernel/judge/judge.h"

/*
 * Judged calls that wait, in the kernel's own way for as long as their caller lives and no signal
 * wants it back: opening a FIFO, connecting, sending. Each is an entry in a table of the judge's;
 * none has a thread. What they wait for is told (inotify), or tried again, at first after a
 * millisecond and then more rarely. Few are looked at in one go, so that others do not wait for
 * those who wait.
 *
 * When the table is full, or descriptors are about to run out, the call fails: `full` says how.
 */

/* Opens a FIFO in the way that waits. Takes over the pin when it has to. */
struct answer wait_fifo(struct judge *w, const struct request *r, struct pinned *p, int flags);

/* The call is made again later, from its beginning: it is copied and judged anew each time. late:
 * the errno with which it ends when the time is over that the socket has for it (SO_SNDTIMEO). */
struct answer wait_again(struct judge *w, const struct request *r, int sock, int late, int full);

/* For the loop that answers calls: what to poll besides (or -1), what to do when it can be read
 * (false: there was nothing), and what to do now and then. other: how long to sleep otherwise;
 * NULL: for ever. */
int wait_events(void);
bool wait_hear(struct judge *w);
void wait_look(struct judge *w);
const struct timespec *wait_pause(const struct timespec *other);

#endif
