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
 * An operation that the policy denied, or allowed "with report". Events have a fixed size: the
 * judge fills one without allocating and writes it to a socket in one call.
 */
enum { EVENT_PATH = 4096, EVENT_EXE = 256, EVENT_DETAIL = 256 };
/* The rule of an event that a sandbox around this one denied. */
enum { EVENT_OUTER_RULE = 0xfffffffeu };
/* The path of an event about creating a user namespace. */
#define EVENT_USER_NAMESPACE "user namespace"
#define EVENT_MOUNT_NAMESPACE "mount namespace"
/* The detail of an event about a host that the command connected to. */
#define EVENT_REACHED "reached"

struct event {
    uint64_t time_ns; /* CLOCK_REALTIME */
    int32_t pid, tid; /* as seen from outside */
    uint32_t policy;  /* index of the policy in this run: 0, or 1 after the first update, … */
    uint32_t rule;    /* in that policy's graph, or GRAPH_NO_RULE */
    uint16_t op;      /* enum vocab_op */
    uint16_t nr;      /* system call */
    bool allow;       /* (allow … (with report)) */
    uint32_t flags;   /* of the decision */
    int32_t err;      /* the call's result */
    uint32_t count;   /* identical events merged into this one; 1 at first */
    uint32_t path_len;
    char exe[EVENT_EXE];       /* the program's path; a long one loses its start */
    char detail[EVENT_DETAIL]; /* the part of the object that decided, a git settings key or "POST
                                  /path"; or "" */
    char path[EVENT_PATH];     /* path or other argument; path_len bytes, then NUL */
};

/* Size on the wire: the struct up to and including the path's NUL. */
size_t event_wire_size(const struct event *e);
/* Checks n received bytes and fills *e. Returns -1 if they are not a valid event. */
int event_from_wire(const void *bytes, size_t n, struct event *e);

/* Appends macOS's wording: `name(pid) deny(1) operation path`. */
void event_line(const struct event *e, struct buf *out);
/* Appends one JSON object without a newline: time, pid, exe, operation, path, verdict, rule file
 * and line, message, tag, line. */
void event_json(const struct event *e, const struct graph *g, const char *tag, struct buf *out);

/* What many events of the same graphs share; zero at first. */
struct event_cache {
    const struct graph *graph;
    uint32_t rule;
    const char *message;
};
/* Appends its members, without braces, tag and line; with a cache also without the rule's text. The
 * cache must not outlive the graphs. */
void event_members(const struct event *e, const struct graph *g, struct event_cache *cache,
                   struct buf *out);
/* Whether it only says that the command connected to a host. */
bool event_is_reached(const struct event *e);

/* ---- the summary at the end ---- */

/* The graphs of all policies of a run, in order; entries may be NULL. */
struct policies {
    const struct graph *const *at;
    size_t n;
};
const struct graph *policies_graph(const struct policies *p, uint32_t policy); /* or NULL */

/* Groups events by operation, path and rule in a table of fixed size. The newest groups stay; the
 * total is exact. */
struct report;
struct report *report_new(size_t groups); /* 0: the default, 256 */
void report_free(struct report *r);
void report_add(struct report *r, const struct event *e);
/* A preset that is not in use, and what it would open. */
struct preset_hint {
    const char *name;
    const char *const *paths; /* that could be written */
    size_t npaths;
    const char *const *hosts; /* "name:port" */
    size_t nhosts;
    bool called; /* the command is one that calls for it */
};
/* Presets to suggest where they fit; they have to outlive the report. */
void report_set_hints(struct report *r, const struct preset_hint *hints, size_t n);
/* All denials so far, including dropped groups; allowed operations don't count. */
uint64_t report_total(const struct report *r);
/* The summary on stderr at the end of a run; nothing if nothing was denied. Otherwise one line per
 * group with operation, path, count and rule, and the shortest flag that would allow it. Denied
 * caches, which programs do without, share a line. */
struct report_end {
    bool failed;   /* the command did: what probably made it fail comes first */
    bool no_flags; /* no flag would make it work */
};
void report_summary(const struct report *r, const struct policies *policies,
                    const struct report_end *end, struct buf *out);
/* Calls `each` with every protected path that git was denied making or changing, NUL-terminated. */
typedef void report_path_fn(void *arg, const char *path, size_t len);
void report_denied_to_git(const struct report *r, const struct policies *policies,
                          report_path_fn *each, void *arg);
/* Quotes a path for a shell, and wildcards in brackets. */
void report_quote(struct buf *out, const char *path, size_t n);

#endif
