/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_QUEUE_H
#define BK_NET_QUEUE_H

#include <stddef.h>

/* Bytes that wait to be sent or parsed. */
struct queue {
    char *data;
    size_t from, to, cap;
};

static inline size_t queue_size(const struct queue *q)
{
    return q->to - q->from;
}

/* Never NULL, even if the queue is empty. */
static inline const char *queue_data(const struct queue *q)
{
    return q->data ? q->data + q->from : "";
}

int queue_add(struct queue *q, const void *data, size_t n); /* returns -1 without memory */
void queue_take(struct queue *q, size_t n);                 /* removes the first n bytes */
void queue_free(struct queue *q);

#endif
