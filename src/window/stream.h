/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WINDOW_STREAM_H
#define BK_WINDOW_STREAM_H

#include "base/buf.h"
#include "window/window.h"

struct event_base;
struct evhttp_request;

/*
 * What happens, to every open page as server-sent events. Each is a JSON array of
 *
 *   {"source": PID, "session": BOOL, "command": …, "cwd": …, "runs": […], "denied": N}
 *   {"gone": PID}
 *   {"event": {…}, "source": PID, "command": …}
 *   {"question": {…}, "source": PID, "number": N, "command": …}, {"withdrawn": N, "source": PID}
 *   {"denied": N}       of everything since the page was opened
 *
 * What came within a fortieth of a second goes together. A page that does not read loses events,
 * and never totals.
 */
enum { STREAM_PAGES = 16, STREAM_KEPT = 1000, STREAM_QUESTIONS = 64 };

struct stream {
    struct window *window;
    struct evhttp_request *pages[STREAM_PAGES];
    size_t n;
    struct buf batch;        /* what the next message has */
    bool stale;              /* totals have changed */
    char *kept[STREAM_KEPT]; /* the newest events, for pages that come */
    uint64_t nkept;
    struct stream_question {
        pid_t pid;
        uint32_t number; /* 0: unused */
        char *text;
    } questions[STREAM_QUESTIONS];
};

/* Opens the window. */
int stream_init(struct stream *t, struct event_base *base, struct window *w, struct bk_err *err);
/* Takes over the request. */
void stream_add(struct stream *t, struct evhttp_request *r);

#endif
