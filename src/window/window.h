/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WINDOW_WINDOW_H
#define BK_WINDOW_WINDOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/json.h"
#include "system/fd-watch.h"

/*
 * What runs now, for the page and for `buckle top` (docs/window.md): every run and session of the
 * user, by their control sockets, with their events, totals and questions as they happen.
 *
 * Runs that belong to a session are reached through it: the session has their events even if they
 * last a millisecond. Everything that arrives is JSON of a process that was checked when we
 * connected, about text that commands chose.
 */
enum { WINDOW_SOURCES = 128 };

struct window;

struct window_source {
    bool session;
    pid_t pid;
    int sock;
    char *command, *cwd; /* owned; "" at first */
    json_t *runs;        /* of a session: those that are active, or NULL */
    uint64_t total, denied;
    uint64_t told; /* denials when the source was last reported as changed */
    uint64_t last; /* the newest event that arrived */
    bool known;    /* it has said what it is */
    bool member;   /* a run of a session, which is left to that */
    struct window *window;
};

/* Each may be NULL. */
struct window_calls {
    /* A source came, changed, or (gone) ended. */
    void (*source)(void *arg, const struct window_source *s, bool gone);
    /* command: of the event's run; event: as event_json() writes it. */
    void (*event)(void *arg, const struct window_source *s, const char *command,
                  const json_t *event);
    /* question: NULL if it was withdrawn. */
    void (*question)(void *arg, const struct window_source *s, uint32_t number, const char *command,
                     const json_t *question);
    void *arg;
};

struct window {
    struct fd_watch fds; /* poll its fd, then call fd_watch_all() */
    struct window_calls calls;
    struct window_source *sources[WINDOW_SOURCES];
    size_t n;
    int timer;
    bool asks; /* it answers questions */
    uint64_t looked_ms;
    uint64_t ended_denied; /* denials of sources that have ended */
};

/* Looks for sources at once, and again while it is open. */
int window_open(struct window *w, const struct window_calls *calls, bool asks, struct bk_err *err);
void window_close(struct window *w);
/* All denials that it has seen or been told of. */
uint64_t window_denied(const struct window *w);
const struct window_source *window_find(const struct window *w, pid_t pid);
/* consent: "once", "run", "always", "deny" or "deny-all". Returns false if there is no such source.
 */
bool window_answer(const struct window *w, pid_t pid, uint32_t number, const char *consent);

#endif
