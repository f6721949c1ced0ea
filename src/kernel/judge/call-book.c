/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Ids are consecutive, so a slot by the id is nearly always free. Nothing here can fail: if the
 * table is full, a call is only missing from it. */

#include "kernel/judge/call-book.h"

#include <stddef.h>

static struct call_book *book; /* one for the process */

void book_keep(struct call_book *b)
{
    book = b;
}

void book_received(uint64_t id)
{
    uint64_t none = 0;
    if (!book)
        return;
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
