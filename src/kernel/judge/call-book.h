/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_CALL_BOOK_H
#define BK_KERNEL_JUDGE_CALL_BOOK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Calls that were received and not answered, in memory that outlives the judge's process. The
 * kernel delivers no call twice: if the judge dies, its successor answers those that are here.
 * Counters are here as well, for the process that reports them.
 */

enum { BOOK_CALLS = 1024, BOOK_BUCKETS = 24 };

struct call_book {
    _Atomic uint64_t calls[BOOK_CALLS]; /* ids; 0: free */
    _Atomic uint64_t last;              /* the id of the last call that was received; 0: none */
    _Atomic uint64_t judge;             /* the judge's process (call-book.c); 0: none yet */
    _Atomic uint32_t ready;             /* a judge has judged */
    _Atomic uint32_t open;              /* slots in use */
    _Atomic uint32_t started;           /* the container's own program runs */
    _Atomic uint64_t stack;             /* where the runtime's was when it executed that; or 0 */
    _Atomic uint64_t judged;
    _Atomic uint64_t spent_ns;
    _Atomic uint64_t took[BOOK_BUCKETS]; /* by the power of two of microseconds */
};

/* Notes this process as the judge, unless another one is. */
bool book_claim(struct call_book *b, int proc);
/* A pidfd of the judge's process; -1: it has ended, or there was none. */
int book_judge(const struct call_book *b, int proc, pid_t *pid);

/* From now on, this process notes its calls there. */
void book_keep(struct call_book *b);
void book_received(uint64_t id);
void book_answered(uint64_t id);
void book_took(uint64_t ns);

#endif
