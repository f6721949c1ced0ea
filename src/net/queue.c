/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A buffer that grows by doubling. Bytes leave at the front; the rest moves there only when room is
 * needed.
 */

#include "net/queue.h"

#include <stdlib.h>
#include <string.h>

/* What an allocator adds; some round the sum up to the next power of two. */
enum { HEADER = 16, SMALLEST = 1024 - HEADER };

int queue_add(struct queue *q, const void *data, size_t n)
{
    if (n == 0)
        return 0;
    if (q->from == q->to)
        q->from = q->to = 0;
    if (n > q->cap - q->to && q->from > 0) {
        memmove(q->data, q->data + q->from, queue_size(q));
        q->to -= q->from;
        q->from = 0;
    }
    if (n > q->cap - q->to) {
        size_t cap = q->cap ? q->cap : SMALLEST;
        while (cap - q->to < n)
            cap = 2 * (cap + HEADER) - HEADER;
        char *data_new = realloc(q->data, cap);
        if (!data_new)
            return -1;
        q->data = data_new;
        q->cap = cap;
    }
    memcpy(q->data + q->to, data, n);
    q->to += n;
    return 0;
}

void queue_free(struct queue *q)
{
    free(q->data);
    *q = (struct queue){0};
}

/* Empty queues free their memory: most connections are idle most of the time. */
void queue_take(struct queue *q, size_t n)
{
    q->from += n;
    if (q->from >= q->to)
        queue_free(q);
}
