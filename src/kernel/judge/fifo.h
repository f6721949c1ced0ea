/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_FIFO_H
#define BK_KERNEL_JUDGE_FIFO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * One end of a FIFO that waits for the other end, without a thread that blocks in open(). To other
 * processes it looks as if one did: writers find the reader that waits, and vice versa.
 *
 * The working directory must be a procfs, for paths like "self/fd/N".
 */

enum { FIFO_NONE = -1 };

struct fifo_end {
    int fd;        /* reader: its end, not given away yet. Writer: the FIFO (O_PATH) */
    int held;      /* writer: an end that lets readers find a writer, and is never given away; or
                      FIFO_NONE */
    int watch;     /* the inotify watch that reports opens, or FIFO_NONE: retry it now and then */
    int flags;     /* of open() */
    bool may_read; /* the caller may also read from it */
    dev_t dev;
    ino_t ino;
};

/* Opens an end of the FIFO that pin names. Returns a descriptor or a negative errno. On -EAGAIN it
 * has to wait: it has taken over pin and filled in *e except `held` and `watch`. */
int fifo_begin(struct fifo_end *e, int pin, int flags, bool may_read);
bool fifo_reads(const struct fifo_end *e);
/* Sets `held`; for the first that waits at a FIFO. */
void fifo_hold(struct fifo_end *e);
/* Sets `watch`. events: an inotify descriptor. */
void fifo_watch(struct fifo_end *e, int events);

/* Returns what open() returns once the other end has come, even if it left again: a descriptor or a
 * negative errno. The descriptor may be e->fd, which becomes FIFO_NONE. Returns -EAGAIN if the
 * other end has not come yet. opened: some process has opened the FIFO since. */
int fifo_try(struct fifo_end *e, bool opened);
/* Closes its descriptors. */
void fifo_end(struct fifo_end *e);

#endif
