/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_LOOP_H
#define BK_NET_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Waits for many descriptors: epoll on Linux, kqueue on macOS; tests also use poll. Watches are
 * edge-triggered by default. The owner reads or writes until the call would block and then calls
 * loop_again().
 */
enum {
    LOOP_IN = 1,
    LOOP_OUT = 2,
    LOOP_GONE = 4,
    LOOP_LAST = 8, /* the end of file follows the readable bytes, and is not reported again */
};

struct watch {
    int fd; /* -1: not watched */
    void (*ready)(struct watch *w, unsigned what);
};

struct loop_ops;

struct loop {
    const struct loop_ops *ops;
    int fd;                /* epoll's or kqueue's descriptor, */
    struct watched *by_fd; /* and the watches by descriptor */
    size_t nby_fd;
    struct polled *set;        /* or the list for poll */
    struct watch *current[64]; /* events of this turn; closing a watch removes it */
    int ncurrent;
    uint64_t turns, now_ms;
};

/* The best implementation on this system, and the one that every system has. */
extern const struct loop_ops loop_native, loop_portable;

int loop_init(struct loop *l, const struct loop_ops *ops); /* 0 or a negative errno */
void loop_free(struct loop *l);
/* level: report while the condition holds, for listeners and descriptors of libraries */
int loop_add(struct loop *l, struct watch *w, bool level);
int loop_change(struct loop *l, struct watch *w, unsigned what); /* level-triggered watches only */
/* Edge-triggered watches: a read or write would have blocked; report when that changes. */
void loop_again(struct loop *l, struct watch *w, unsigned what);
/* Closes the descriptor too. No other process may have it open, unless it is level-triggered. */
void loop_remove(struct loop *l, struct watch *w);
void loop_forget(struct loop *l, struct watch *w); /* the same, but keeps it open */
/* Hands from's descriptor and its events over to another watch. */
void loop_move(struct loop *l, struct watch *from, struct watch *to);
/* Waits at most timeout_ms and calls the handlers. */
int loop_turn(struct loop *l, int timeout_ms);

/* ---- implementation ---- */

/* What the native loops keep of a descriptor. The kernel stores only the number, so moving a socket
 * to another owner needs no system call. */
struct watched {
    struct watch *watch; /* NULL: ignore its events */
    bool level;
};

bool loop_table_has_room(struct loop *l, int fd); /* grows the table; false without memory */
void loop_table_free(struct loop *l);
void loop_table_move(struct loop *l, struct watch *from, struct watch *to);

struct loop_ops {
    int (*init)(struct loop *l);
    void (*free)(struct loop *l);
    int (*add)(struct loop *l, struct watch *w, bool level);
    int (*change)(struct loop *l, struct watch *w, unsigned what);
    void (*again)(struct loop *l, struct watch *w, unsigned what); /* NULL: nothing to do */
    void (*drop)(struct loop *l, struct watch *w);
    void (*closing)(struct loop *l,
                    struct watch *w); /* the same, if the descriptor is about to be closed */
    void (*move)(struct loop *l, struct watch *from, struct watch *to);
    /* Fills current and what[], at most 64. Returns how many, or a negative errno. */
    int (*wait)(struct loop *l, int timeout_ms, unsigned *what);
};

#endif
