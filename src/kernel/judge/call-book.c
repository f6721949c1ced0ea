/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Ids are consecutive, so a slot by the id is nearly always free. Nothing here can fail: if the
 * table is full, a call is only missing from it.
 *
 * Process numbers are used again. So the judge's comes with the time at which it started, in clock
 * ticks: 22 bits and 42. */

#include "kernel/judge/call-book.h"

#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "base/proc-text.h"

static struct call_book *book; /* one for the process */

enum { PID_BITS = 22 };

/* The number and the start of a process in one; 0: it is gone. */
static uint64_t identity(int proc, pid_t pid)
{
    char text[1024], *end;
    const char *at =
        proc_read(proc, text, sizeof(text), "%d/stat", (int)pid) < 0 ? NULL : proc_after_name(text);
    enum { TO_START = 19 }; /* fields between the name and starttime (proc(5)) */
    for (int i = 0; at && i < TO_START; i++)
        at = strchr(at + 1, ' ');
    unsigned long long start = at ? strtoull(at + 1, &end, 10) : 0;
    return at ? (uint64_t)start << PID_BITS | (uint64_t)pid : 0;
}

bool book_claim(struct call_book *b, int proc)
{
    uint64_t none = 0, own = identity(proc, getpid());
    return own && atomic_compare_exchange_strong(&b->judge, &none, own);
}

int book_judge(const struct call_book *b, int proc, pid_t *pid)
{
    uint64_t its = atomic_load(&b->judge);
    *pid = (pid_t)(its & ((1u << PID_BITS) - 1));
    OWN(fd) int fd = its ? (int)syscall(SYS_pidfd_open, *pid, 0) : -1;
    struct pollfd p = {fd, POLLIN, 0};
    /* it is the one if it was there after the descriptor was opened */
    return fd >= 0 && identity(proc, *pid) == its && poll(&p, 1, 0) == 0 ? steal_fd(&fd) : -1;
}

void book_keep(struct call_book *b)
{
    book = b;
}

void book_received(uint64_t id)
{
    uint64_t none = 0;
    if (!book)
        return;
    atomic_store(&book->last, id);
    for (size_t i = 0; i < BOOK_CALLS; i++, none = 0)
        if (atomic_compare_exchange_strong(&book->calls[(id + i) % BOOK_CALLS], &none, id)) {
            atomic_fetch_add(&book->open, 1);
            return;
        }
}

void book_answered(uint64_t id)
{
    uint64_t its = id;
    if (!book || !atomic_load(&book->open))
        return;
    for (size_t i = 0; i < BOOK_CALLS; i++, its = id)
        if (atomic_compare_exchange_strong(&book->calls[(id + i) % BOOK_CALLS], &its, 0)) {
            atomic_fetch_sub(&book->open, 1);
            return;
        }
}

void book_took(uint64_t ns)
{
    unsigned bucket = 0;
    if (!book)
        return;
    while (bucket < BOOK_BUCKETS - 1 && ns / 1000 >> bucket)
        bucket++;
    atomic_fetch_add(&book->judged, 1);
    atomic_fetch_add(&book->spent_ns, ns);
    atomic_fetch_add(&book->took[bucket], 1);
}
