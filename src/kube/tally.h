/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KUBE_TALLY_H
#define BK_KUBE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * What happened, in a table of fixed size: a row for each container and reason, which becomes one
 * Event object of Kubernetes, with a count. No I/O, and no clock of its own.
 */

enum tally_reason { TALLY_VIOLATION, TALLY_REFUSED, TALLY_RESTARTED, TALLY_REASONS };
enum { TALLIES = 1024, TALLY_NAME = 254, TALLY_LABEL = 64, TALLY_ID = 256, TALLY_MESSAGE = 1000 };

struct tally {
    bool used, ended;
    uint8_t reason;       /* enum tally_reason */
    char pod[TALLY_NAME]; /* "": the event is about the node */
    char namespace[TALLY_LABEL], uid[TALLY_LABEL], container[TALLY_LABEL];
    char id[TALLY_ID];        /* the container's, of the runtime */
    int64_t pid;              /* of its process: one that joins it has a judge of its own */
    uint64_t count, posted;   /* in all; in the object */
    char first[32], last[32]; /* times */
    char message[TALLY_MESSAGE + 1];
    char event[TALLY_NAME]; /* the object's name; "": there is none yet */
    uint64_t due;           /* ms: not before */
};

struct tallies {
    struct tally rows[TALLIES];
    uint64_t overflow; /* lines that found no row */
};

/* Notes one line of the agent. Does nothing if it is none. */
void tally_note(struct tallies *t, const char *line, size_t n);
/* A row that has something to post, the longest due first, or NULL. *wait is how many milliseconds
 * until one has, or -1. */
struct tally *tally_next(struct tallies *t, uint64_t now_ms, int *wait);
/* The object has `count` now. Frees the row if its container has ended. */
void tally_posted(struct tally *r, uint64_t count, uint64_t next_ms);

/* The object to create, and what to change in it later. node: this node's name. */
void tally_object(const struct tally *r, const char *node, struct buf *out);
void tally_patch(const struct tally *r, struct buf *out);
/* The object's namespace. */
const char *tally_namespace(const struct tally *r);

#endif
