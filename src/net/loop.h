/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_LOOP_H
#define BK_NET_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Waiting for many descriptors at once: on Linux with epoll, anywhere with poll. Each is announced
 * once and then told about changes only, so that whoever reads has to read until there is nothing
 * left, and then says so.
 */
enum {
    LOOP_IN = 1,
    LOOP_OUT = 2,
    LOOP_GONE = 4,
    LOOP_LAST = 8, /* behind what is to be read there is the end, which is not told again */
};

struct watch {
    int fd; /* -1: not watched */
    void (*ready)(struct watch *w, unsigned what);
};

struct loop_way;

struct loop {
    const struct loop_way *way;
    int fd;                /* epoll's, */
    struct watched *by_fd; /* and whom it tells */
    size_t nby_fd;
    struct polled *set;        /* or poll's list */
    struct watch *current[64]; /* being told; closing one takes it out */
    int ncurrent;
    uint64_t turns, now_ms;
};

/* The best way of this system; the one that every system has. */
extern const struct loop_way loop_native, loop_portable;

int loop_init(struct loop *l, const struct loop_way *way); /* 0 or a negated errno */
void loop_free(struct loop *l);
/* level: told again and again while it holds, for listeners and descriptors of libraries */
int loop_add(struct loop *l, struct watch *w, bool level);
int loop_change(struct loop *l, struct watch *w, unsigned what); /* level-triggered ones */
/* Nothing was left to read or no room to write (others): tell when that changes. */
void loop_again(struct loop *l, struct watch *w, unsigned what);
/* Closes it, too; nobody else has the same one open but for level-triggered ones. */
void loop_remove(struct loop *l, struct watch *w);
void loop_forget(struct loop *l, struct watch *w); /* and leaves it open */
/* What is told of from's descriptor is told to another from now on, whose it is then. */
void loop_move(struct loop *l, struct watch *from, struct watch *to);
/* Waits for at most so long and tells. */
int loop_turn(struct loop *l, int timeout_ms);

/* ---- between its files ---- */

struct loop_way {
    int (*init)(struct loop *l);
    void (*free)(struct loop *l);
    int (*add)(struct loop *l, struct watch *w, bool level);
    int (*change)(struct loop *l, struct watch *w, unsigned what);
    void (*again)(struct loop *l, struct watch *w, unsigned what); /* NULL: it knows by itself */
    void (*drop)(struct loop *l, struct watch *w);
    void (*closing)(struct loop *l, struct watch *w); /* the same, before it is closed */
    void (*move)(struct loop *l, struct watch *from, struct watch *to);
    /* Fills current and what[], at most 64 of them; how many, or a negated errno. */
    int (*wait)(struct loop *l, int timeout_ms, unsigned *what);
};

#endif
