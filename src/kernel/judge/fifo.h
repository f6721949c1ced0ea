/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_FIFO_H
#define BK_KERNEL_JUDGE_FIFO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * One end of a FIFO that waits for the other, without a thread that sleeps in open(). To everybody
 * else it is as if one did: writers find the reader that waits, and the reverse.
 *
 * Names of descriptors ("self/fd/N") are looked up in the working directory, which is a procfs.
 */

enum { FIFO_NONE = -1 };

struct fifo_end {
    int fd;    /* of a reader: its end, not yet given away. Of a writer: the FIFO's name (O_PATH) */
    int held;  /* of a writer: an end that nobody gets, so that readers find a writer; or FIFO_NONE
                */
    int watch; /* number of the watch that tells of those who open it, or FIFO_NONE: then it has to
                  be looked at now and then */
    int flags; /* of open() */
    bool may_read; /* who asks may read from it as well */
    dev_t dev;
    ino_t ino;
};

/* Opens an end of the FIFO that pin names, which is taken over when the answer is -EAGAIN: it waits
 * then, and *e is filled but for `held` and `watch`. Otherwise a descriptor, or another negated
 * errno. */
int fifo_begin(struct fifo_end *e, int pin, int flags, bool may_read);
bool fifo_reads(const struct fifo_end *e);
/* For one that is to wait: `held`, when nobody else waits at this FIFO who has it. */
void fifo_hold(struct fifo_end *e);
/* And `watch`. events: an inotify descriptor. */
void fifo_watch(struct fifo_end *e, int events);

/* What open() returns when the other end has come, for good or to leave again: a descriptor, which
 * may be e->fd (it is FIFO_NONE then), or a negated errno. -EAGAIN: it has not, as far as we see.
 * opened: somebody has opened the FIFO since we waited. */
int fifo_try(struct fifo_end *e, bool opened);
/* Closes what is open. */
void fifo_end(struct fifo_end *e);

#endif
