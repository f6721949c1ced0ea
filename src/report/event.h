/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_REPORT_EVENT_H
#define BK_REPORT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "graph/eval.h"

/*
 * One operation that a policy denied (or allowed "with report"), as it happened. Events are plain
 * records of fixed size: the judge fills one without allocating and writes it to a socket whole.
 */
enum { EVENT_PATH = 4096, EVENT_EXE = 256, EVENT_DETAIL = 96 };
/* What stands for a path when somebody wanted one. */
#define EVENT_USER_NAMESPACE "user namespace"

struct event {
    uint64_t time_ns; /* CLOCK_REALTIME */
    int32_t pid, tid; /* as seen outside */
    uint32_t policy;  /* which of the run's: 0, or 1 after it was changed once… */
    uint32_t rule;    /* of that policy's graph, or GRAPH_NO_RULE */
    uint16_t op;      /* enum vocab_op */
    uint16_t nr;      /* system call */
    bool allow;       /* (allow … (with report)) */
    uint32_t flags;   /* of the decision */
    int32_t err;      /* what the call was answered */
    uint32_t count;   /* identical events folded into this one; 1 as they happen */
    uint32_t path_len;
    char exe[EVENT_EXE]; /* the program's path, shortened from the front */
    char
        detail[EVENT_DETAIL]; /* which part of the object decided: a key of git's settings; or "" */
    char path[EVENT_PATH];    /* path or other argument; path_len bytes, then NUL */
};

/* Bytes of an event on the wire: the record up to and including the path's NUL. */
size_t event_wire_size(const struct event *e);
/* Checks lengths and terminators of n received bytes and fills *e. -1 when they are no event. */
int event_from_wire(const void *bytes, size_t n, struct event *e);

/* macOS's wording: `name(pid) deny(1) operation path`. */
void event_line(const struct event *e, struct buf *out);
/* One JSON object without a line's end: time, pid, exe, operation, path, verdict, rule file and
 * line, message, command tag, line. */
void event_json(const struct event *e, const struct graph *g, const char *tag, struct buf *out);

/* ---- the summary at the end ---- */

/* The graphs of a run's policies, in the order they came; some may be NULL. */
struct policies {
    const struct graph *const *at;
    size_t n;
};
const struct graph *policies_graph(const struct policies *p, uint32_t policy); /* or NULL */

/* Groups events by (operation family, path or folder, rule) in a table of fixed size, newest kept,
 * counts exact. */
struct report;
struct report *report_new(size_t groups); /* 0: the default, 256 */
void report_free(struct report *r);
void report_add(struct report *r, const struct event *e);
/* Denials so far, also those whose group had to make room; what was allowed is not counted. */
uint64_t report_total(const struct report *r);
/* What a person sees once at the end on stderr: nothing when nothing was denied; otherwise one line
 * a group with operation, path, times, rule file:line, and the shortest flag that would allow it.
 */
void report_summary(const struct report *r, const struct policies *policies, struct buf *out);

#endif
