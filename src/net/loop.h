/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_LOOP_H
#define BK_NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Waiting for many descriptors at once, on Linux with epoll. Each is announced once and then told
 * about changes only, so that whoever reads has to read until there is nothing left.
 */
enum { LOOP_IN = 1, LOOP_OUT = 2, LOOP_GONE = 4 };

struct watch {
    int fd; /* -1: not watched */
    void (*ready)(struct watch *w, unsigned what);
};

struct loop {
    int fd;
    struct watch *current[64]; /* being told; closing one takes it out */
    int ncurrent;
    uint64_t now_ms;
};

int loop_init(struct loop *l); /* 0 or a negated errno */
/* level: told again and again while it holds, for listeners and descriptors of libraries */
int loop_add(struct loop *l, struct watch *w, bool level);
int loop_change(struct loop *l, struct watch *w, unsigned what); /* level-triggered ones */
void loop_remove(struct loop *l, struct watch *w);               /* and closes it */
void loop_forget(struct loop *l, struct watch *w);               /* and leaves it open */
/* Waits for at most so long and tells. */
int loop_turn(struct loop *l, int timeout_ms);

#endif
