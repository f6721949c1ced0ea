/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_WATCHERS_H
#define BK_AGENT_WATCHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Clients of a control server that get events as they happen (docs/window.md). Runs and sessions
 * have the same messages:
 *
 *   {"events": true, "after": N}   → {"ok": true, "total": N, "denied": N}, and from then on
 *                                  {"event": {…}, "number": N, "denied": N}, first those that are
 *                                  kept with a number above `after`
 *
 * Nobody waits for a watcher: it loses events that it does not read in time. The numbers say how
 * many there were, and {"events": true} asks for them again.
 */
enum { WATCHERS_MOST = 8 };

struct watchers {
    int at[WATCHERS_MOST]; /* sockets */
    size_t n;
};

/* Returns false if there are too many. */
bool watchers_add(struct watchers *w, int client);
bool watchers_have(const struct watchers *w, int client);
void watchers_drop(struct watchers *w, int client);
/* To one of them, or with -1 to all. */
void watchers_send(const struct watchers *w, int client, const struct buf *message);
/* One event as JSON, with its number and the denials up to it. command: or NULL. */
void watchers_event(struct buf *out, const char *json, uint64_t number, uint64_t denied,
                    const char *command);
/* The answer to {"events": true}. */
void watchers_totals(struct buf *out, uint64_t total, uint64_t denied);

#endif
