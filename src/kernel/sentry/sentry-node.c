/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Two tables: what the kernel knows about (nodes) and what is open (handles). Their sizes are
 * fixed, so that a request never allocates. A full table is an error for the next request. The
 * kernel remembers nodes until memory is short, so we ask it to forget long before that
 * (sentry-serve.c): a table is full only while a sandbox has that many files open at once.
 *
 * A number is a position and a serial, so a freed number is never mistaken for its successor.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/sentry/sentry-int.h"

enum { FIRST_NODE = FUSE_ROOT_ID + 1, FIRST_HANDLE = 1 };

/* ---- nodes ---- */

int nodes_init(struct node_table *t, uint32_t max)
{
    t->max = max;
    t->list = calloc(max, sizeof(*t->list)); /* pages are allocated when they are touched */
    t->buckets = calloc(SENTRY_TABLE, sizeof(*t->buckets));
    return t->list && t->buckets ? 0 : -ENOMEM;
}

void nodes_free(struct node_table *t)
{
    for (uint32_t i = 0; t->list && i < t->used; i++)
        if (t->list[i].fd >= 0)
            close(t->list[i].fd);
    free(t->list);
    free(t->buckets);
}

uint64_t node_id(const struct node_table *t, const struct node *n)
{
    return (uint64_t)n->serial << 32 | ((uint32_t)(n - t->list) + FIRST_NODE);
}

struct node *node_of(struct node_table *t, uint64_t id)
{
    uint32_t i = (uint32_t)id - FIRST_NODE;
    if (i >= t->used || t->list[i].fd < 0 || t->list[i].serial != id >> 32)
        return NULL;
    return &t->list[i];
}

static uint32_t *bucket_of(const struct node_table *t, uint64_t parent, const char *name,
                           size_t len)
{
    uint64_t h = 14695981039346656037u ^ parent;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)name[i]) * 1099511628211u;
    return &t->buckets[(h ^ h >> 32) % SENTRY_TABLE];
}

static bool is_named(const struct node *n, uint64_t parent, const char *name, size_t len)
{
    return n->parent == parent && n->len == len && memcmp(n->name, name, len) == 0;
}

bool node_is_known(const struct node_table *t, uint64_t parent, const char *name, size_t len)
{
    for (uint32_t i = *bucket_of(t, parent, name, len); i; i = t->list[i - 1].next)
        if (is_named(&t->list[i - 1], parent, name, len))
            return true;
    return false;
}

struct node *node_find(struct node_table *t, uint64_t parent, const char *name, size_t len,
                       const struct stat *st)
{
    for (uint32_t i = *bucket_of(t, parent, name, len); i; i = t->list[i - 1].next) {
        struct node *n = &t->list[i - 1];
        if (n->ino == st->st_ino && n->dev == st->st_dev && is_named(n, parent, name, len))
            return n;
    }
    return NULL;
}

struct node *node_add(struct node_table *t, uint64_t parent, const char *name, size_t len,
                      const struct stat *st, int fd)
{
    struct node *n = NULL;
    if (t->free) {
        n = &t->list[t->free - 1];
        t->free = n->next;
    } else if (t->used < t->max) {
        n = &t->list[t->used++];
    } else {
        return NULL;
    }
    uint32_t *bucket = bucket_of(t, parent, name, len);
    n->fd = fd;
    n->serial++;
    n->next = *bucket;
    n->mode = st->st_mode;
    n->parent = parent;
    n->lookups = 0;
    n->opens = 0;
    n->answered = false;
    n->dev = st->st_dev;
    n->ino = st->st_ino;
    n->len = (uint8_t)len;
    memcpy(n->name, name, len);
    *bucket = (uint32_t)(n - t->list) + 1;
    t->live++;
    return n;
}

static void node_remove(struct node_table *t, struct node *n)
{
    uint32_t me = (uint32_t)(n - t->list) + 1;
    uint32_t *at = bucket_of(t, n->parent, n->name, n->len);
    while (*at != me)
        at = &t->list[*at - 1].next;
    *at = n->next;
    close(n->fd);
    n->fd = -1;
    n->next = t->free;
    t->free = me;
    t->live--;
}

void node_forget(struct node_table *t, uint64_t id, uint64_t lookups)
{
    struct node *n = node_of(t, id);
    if (!n)
        return;
    n->lookups -= lookups < n->lookups ? lookups : n->lookups;
    if (n->lookups == 0)
        node_remove(t, n);
}

/* ---- handles ---- */

int handles_init(struct handle_table *t, uint32_t max)
{
    t->max = max;
    t->list = calloc(max, sizeof(*t->list));
    return t->list ? 0 : -ENOMEM;
}

void handles_free(struct handle_table *t)
{
    for (uint32_t i = 0; t->list && i < t->used; i++)
        if (t->list[i].fd >= 0)
            close(t->list[i].fd);
    free(t->list);
}

uint64_t handle_add(struct handle_table *t, int fd, bool folder, uint64_t node)
{
    struct handle *h = NULL;
    if (t->free) {
        h = &t->list[t->free - 1];
        t->free = h->next;
    } else if (t->used < t->max) {
        h = &t->list[t->used++];
    } else {
        return 0;
    }
    *h = (struct handle){.fd = fd, .serial = h->serial + 1, .folder = folder, .node = node};
    return (uint64_t)h->serial << 32 | ((uint32_t)(h - t->list) + FIRST_HANDLE);
}

static struct handle *handle_any(struct handle_table *t, uint64_t id)
{
    uint32_t i = (uint32_t)id - FIRST_HANDLE;
    if (i >= t->used || t->list[i].fd < 0 || t->list[i].serial != id >> 32)
        return NULL;
    return &t->list[i];
}

struct handle *handle_of(struct handle_table *t, uint64_t id, bool folder)
{
    struct handle *h = handle_any(t, id);
    return h && h->folder == folder ? h : NULL;
}

uint64_t handle_remove(struct handle_table *t, uint64_t id)
{
    struct handle *h = handle_any(t, id);
    if (!h)
        return 0;
    close(h->fd);
    h->fd = -1;
    h->next = t->free;
    t->free = (uint32_t)(h - t->list) + 1;
    return h->node;
}
