/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_RECORD_H
#define BK_NODE_RECORD_H

#include "kernel/judge/call-book.h"
#include "node/keep.h"
#include "node/state.h"

/* What a successor of the agent needs to know about a container: memory that is kept with its
 * descriptors. The judge never sees it; the book is what both share. */
struct record {
    uint32_t magic, size, book_size;
    uint32_t told;    /* "started" was printed */
    uint64_t profile; /* number of its version */
    uint64_t cookie;  /* of the agent's end of the events */
    uint64_t denied;
    uint64_t network; /* the namespace that leads to its gate; 0: none */
    uint32_t audit;
    struct state state;
};

/* The descriptors of a container, and its memory. */
struct container_fds {
    int listener;
    int events, judge_end; /* both ends of the socket for events */
    int book_fd, record_fd;
    struct call_book *book;
    struct record *record;
};

/* Makes memory and socket. On failure nothing is left. */
int container_fds_make(struct container_fds *f, const struct state *s);
/* Finds out what is what, and checks it. Takes the descriptors from the set in any case. */
int container_fds_take(struct container_fds *f, struct kept *set);
void container_fds_close(struct container_fds *f);
void container_fds_store(const struct container_fds *f, const struct keep *k, const char *name);

#endif
